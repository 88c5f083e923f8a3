"""What a source warns of is in the receipt, and a value it has cut is not called whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from dataagent_core.data.results import load_stored_result, preview
from dataagent_core.data.service import DataService, QueryContext
from dataagent_core.data.sources import Source

from .conftest import place

Register = Callable[..., Awaitable[Source]]
MEGABYTE = 1_000_000


async def test_a_value_that_mariadb_cuts_is_truncated_and_the_receipt_has_its_warning(
    tmp_path: Path, service: DataService, register: Register, asked: QueryContext
) -> None:
    with place("mysql", tmp_path) as made:
        made.execute("CREATE TABLE parts (n INTEGER, p LONGTEXT)")
        made.execute(f"INSERT INTO parts SELECT seq, REPEAT('x', {MEGABYTE}) FROM seq_1_to_20")
        source = await register(made.url)
        joined = "SELECT GROUP_CONCAT(p SEPARATOR '') AS x FROM parts"
        cut = await service.query(source, joined, asked)
        whole = await service.query(source, f"{joined} WHERE n <= 3", asked)

    assert (whole.receipt.is_truncated, whole.receipt.warnings) == (False, ())
    assert whole.result.preview_rows[0][0].length == 3 * MEGABYTE
    assert (cut.receipt.is_truncated, cut.receipt.truncated_by) == (True, "values")
    assert cut.receipt.warnings == ("MySQL: Row 17 was cut by GROUP_CONCAT() (1260)",)
    shown = preview(cut.result)
    assert shown["truncated"] == "the source has cut a value: see the warnings"
    assert shown["warnings"] == list(cut.receipt.warnings)

    stored = await service.artifacts.get(cut.artifact.artifact_id, owner=asked.owner_id)
    assert stored.receipt == cut.receipt
    assert load_stored_result(service.artifacts.path_of(stored)).warnings == cut.receipt.warnings
    ids = [cut.artifact.artifact_id]
    later = await service.query_results("SELECT LENGTH(x) AS n FROM r1", ids, asked)
    assert (later.receipt.truncated_by, later.receipt.warnings) == ("values", cut.receipt.warnings)


async def test_a_division_by_zero_and_a_value_that_is_no_number_are_warned_of(
    tmp_path: Path, service: DataService, register: Register, asked: QueryContext
) -> None:
    with place("mysql", tmp_path) as made:
        made.execute("CREATE TABLE words (w VARCHAR(10), f FLOAT)")
        made.execute("INSERT INTO words VALUES ('abc', 1), ('12x', 2), ('7', 3)")
        source = await register(made.url)
        divided = await service.query(source, "SELECT 1 / 0 AS x", asked)
        added = await service.query(source, "SELECT w + 0 AS n, f FROM words ORDER BY f", asked)
        plain = await service.query(source, "SELECT COUNT(*) AS n FROM words", asked)

    assert divided.receipt.warnings == ("MySQL: Division by 0 (1365)",)
    assert not divided.receipt.is_truncated
    [warning] = added.receipt.warnings
    assert warning.startswith("MySQL: Truncated incorrect DOUBLE value: 'abc'")
    assert warning.endswith("(1292), and 1 more like it")
    assert plain.receipt.warnings == ()


async def test_a_warning_of_postgresql_is_in_the_receipt_and_a_notice_is_not(
    tmp_path: Path, service: DataService, register: Register, asked: QueryContext
) -> None:
    with place("postgres", tmp_path) as made:
        made.execute(
            "CREATE FUNCTION rate() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN "
            "RAISE NOTICE 'looking'; RAISE WARNING 'rates are of last year'; RETURN 7; END $$"
        )
        made.execute("CREATE VIEW rates AS SELECT rate() AS r FROM generate_series(1, 3)")
        source = await register(made.url)
        warned = await service.query(source, "SELECT r FROM rates", asked)
        plain = await service.query(source, "SELECT 1 AS one", asked)

    assert warned.result.preview_rows == ((7,), (7,), (7,))
    assert warned.receipt.warnings == ("PostgreSQL: rates are of last year",)
    assert plain.receipt.warnings == ()
