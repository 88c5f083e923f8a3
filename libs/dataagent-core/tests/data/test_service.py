"""The one path of a query, on real engines: what it keeps, refuses, hides and stops."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from dataagent_core.data.chart_service import ChartService
from dataagent_core.data.engines.base import Statement
from dataagent_core.data.figure_checks import FigureChecks
from dataagent_core.data.results import ArtifactDraft, export, load_stored_result
from dataagent_core.data.service import DataService, QueryContext, QueryExecution
from dataagent_core.data.sources import Source
from dataagent_core.data.types import QueryLimits, Reader
from dataagent_core.errors import (
    ArtifactNotFound,
    DataAgentError,
    DataDenied,
    QueryFailed,
    QueryRefused,
    SourceNotFound,
    UnknownName,
)
from dataagent_core.processes import shared_pool
from tests.waiting import WAIT_SECONDS

Register = Callable[..., Awaitable[Source]]
CANARY = "canary7f3a"

SETUP = (
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, region VARCHAR(20), amount DECIMAL(10,2))",
    "INSERT INTO orders VALUES (1, 'EU', 10.25), (2, 'EU', 20.50), (3, 'US', 5.25)",
    "CREATE TABLE salaries (id INTEGER PRIMARY KEY, person VARCHAR(20))",
    f"INSERT INTO salaries VALUES (1, '{CANARY}')",
    "CREATE TABLE tall (n INTEGER)",
    f"INSERT INTO tall VALUES {', '.join(f'({n})' for n in range(300))}",
)
LONG = {
    "sqlite": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000000000)"
    " SELECT COUNT(*) AS c FROM n",
    "duckdb": "SELECT COUNT(*) AS c FROM range(20000000000) AS a(x) WHERE hash(x) % 7 = 3",
    "postgres": "SELECT COUNT(*) AS c FROM generate_series(1, 20000000000) AS a(x)",
    "mysql": "SELECT COUNT(*) AS c FROM tall a, tall b, tall c, tall d WHERE a.n + b.n + c.n > d.n",
}


def fill(place: Any) -> None:
    for statement in SETUP:
        place.execute(statement)


async def test_result_is_kept_with_its_receipt(
    source_place: Any, service: DataService, register: Register, asked: QueryContext
) -> None:
    fill(source_place)
    source = await register(source_place.url)
    answered = await service.query(
        source, "SELECT region, SUM(amount) AS total FROM orders GROUP BY region", asked
    )
    rows = {row[0]: Decimal(str(row[1])) for row in answered.result.preview_rows}
    assert rows == {"EU": Decimal("30.75"), "US": Decimal("5.25")}
    receipt = answered.receipt
    assert (receipt.source_name, receipt.row_count, receipt.is_truncated) == ("shop", 2, False)
    assert "orders" in receipt.sql_executed
    kept = await service.artifacts.get(answered.artifact.artifact_id, owner="anna")
    assert kept.receipt == receipt
    with pytest.raises(ArtifactNotFound):
        await service.artifacts.get(answered.artifact.artifact_id, owner="bob")


async def test_refused_statement_never_reaches_the_engine(
    source_place: Any, service: DataService, register: Register, asked: QueryContext
) -> None:
    fill(source_place)
    source = await register(source_place.url)
    for sql in ("DELETE FROM orders", "SELECT 1; DROP TABLE orders", "UPDATE orders SET id = 9"):
        with pytest.raises(QueryRefused):
            await service.query(source, sql, asked)
    with pytest.raises(UnknownName) as caught:
        await service.query(source, "SELECT amont FROM orders", asked)
    assert "amount" in str(caught.value.details)
    answered = await service.query(source, "SELECT COUNT(*) AS n FROM orders", asked)
    assert answered.result.preview_rows == ((3,),)
    await service.artifacts.delete(answered.artifact.artifact_id, owner="anna")
    assert await service.artifacts.list("anna") == []


async def test_recursion_is_never_cut_short(
    source_place: Any, service: DataService, register: Register, asked: QueryContext
) -> None:
    fill(source_place)
    source = await register(source_place.url)
    sql = (
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 3000) "
        "SELECT COUNT(*) AS c FROM n"
    )
    answered = await service.query(source, sql, asked)
    assert [int(row[0]) for row in answered.result.preview_rows] == [3000]


async def test_limits_stop_the_reading_and_leave_the_statement_alone(
    source_place: Any, service: DataService, register: Register, asked: QueryContext
) -> None:
    fill(source_place)
    source = await register(source_place.url)
    tight = QueryContext(asked.reader, limits=QueryLimits(max_rows=2))
    answered = await service.query(source, "SELECT * FROM orders", tight)
    assert (answered.result.row_count, answered.result.truncated_by) == (2, "rows")
    assert "LIMIT" not in answered.receipt.sql_executed.upper()
    total = await service.query(source, "SELECT COUNT(*) AS n FROM orders", tight)
    assert total.result.preview_rows == ((3,),)


async def test_cancelled_statement_is_gone_from_the_engine_and_the_source_goes_on(
    source_place: Any,
    service: DataService,
    register: Register,
    asked: QueryContext,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill(source_place)
    source = await register(source_place.url, limits=QueryLimits(timeout_seconds=600))
    # the moment the engine gets it
    begun, begin = asyncio.Event(), QueryExecution._begin  # pyright: ignore[reportPrivateUsage]
    loop = asyncio.get_running_loop()

    def noted(self: QueryExecution, statement: Statement) -> None:
        begin(self, statement)
        loop.call_soon_threadsafe(begun.set)

    monkeypatch.setattr(QueryExecution, "_begin", noted)
    task = asyncio.create_task(service.query(source, LONG[source_place.kind], asked))
    await asyncio.wait({task, asyncio.create_task(begun.wait())}, return_when="FIRST_COMPLETED")
    await asyncio.sleep(0.1)  # well into it
    assert not task.done(), task.exception()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(WAIT_SECONDS):
            await task
    assert not await asyncio.to_thread(is_running, source_place)
    answered = await service.query(source, "SELECT COUNT(*) AS n FROM orders", asked)
    assert answered.result.preview_rows == ((3,),)


def is_running(place: Any) -> bool:
    """Whether a database server still works on the statement; the others run in our threads."""
    match place.kind:
        case "postgres":
            sql = (
                "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' "
                "AND query LIKE '%generate_series%' AND pid <> pg_backend_pid()"
            )
        case "mysql":
            sql = (
                "SELECT count(*) FROM information_schema.processlist WHERE command = 'Query' "
                "AND info LIKE '%tall%' AND id <> connection_id()"
            )
        case _:
            return False
    return place.execute(sql)[0][0] > 0


POLICY: dict[str, Any] = {
    "name": "regions",
    "subjects": "everyone",
    "tables": {
        "orders": {"row_filter": "region = :user.region"},
        "salaries": {"grant": False},
    },
}


async def test_forbidden_table_does_not_exist_for_the_reader(
    source_place: Any,
    service: DataService,
    register: Register,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    caplog.set_level(logging.DEBUG)
    fill(source_place)
    source = await register(source_place.url)
    await service.sources.policies.put(source.source_id, "regions", POLICY)
    await service.sources.attributes.set("anna", {"region": "EU"})
    reader = await service.reader("anna")
    asked = QueryContext(reader)
    catalogue = await service.catalogue(source, reader)
    assert [table.name for table in catalogue.tables] == ["orders", "tall"]
    said: list[str] = [repr(catalogue)]
    for sql in (
        "SELECT * FROM salaries",
        "SELECT o.id FROM orders o JOIN salaries s ON s.id = o.id",
        "SELECT id FROM orders WHERE id IN (SELECT id FROM salaries)",
        "SELECT person FROM orders",
    ):
        with pytest.raises(DataDenied) as caught:
            await service.query(source, sql, asked)
        said.append(f"{caught.value} {caught.value.details}")
    answered = await service.query(source, "SELECT COUNT(*) AS n FROM orders", asked)
    assert answered.result.preview_rows == ((2,),)
    assert answered.receipt.policy
    other = await service.query(
        source, "SELECT COUNT(*) AS n FROM orders", QueryContext(Reader("bob"))
    )
    assert other.result.preview_rows == ((0,),)  # no attribute, no rows
    assert CANARY not in "".join(said) + caplog.text
    assert not [p for p in tmp_path.rglob("*.parquet") if CANARY.encode() in p.read_bytes()]


async def test_source_that_is_not_granted_is_not_there(
    tmp_path: Path, service: DataService, register: Register
) -> None:
    import sqlite3

    path = tmp_path / "private.db"
    sqlite3.connect(path).close()
    await register(f"sqlite:///{path}", "private")
    source = (await service.sources.list())[0]
    await service.sources.set_grants(source.source_id, ())
    with pytest.raises(SourceNotFound) as caught:
        await service.source(Reader("anna"), "private")
    assert "none" in caught.value.message
    assert (await service.source(Reader("root", role="admin"), "private")).name == "private"


async def test_earlier_results_are_queried_again_without_the_source(
    source_place: Any, service: DataService, register: Register, asked: QueryContext
) -> None:
    fill(source_place)
    source = await register(source_place.url)
    first = await service.query(source, "SELECT * FROM orders", asked)
    ids = [first.artifact.artifact_id]
    again = await service.query_results("SELECT MAX(id) AS m FROM r1", ids, asked)
    assert again.result.preview_rows == ((3,),)
    with pytest.raises(DataAgentError):
        await service.query_results("SELECT * FROM '/etc/passwd'", ids, asked)
    with pytest.raises(ArtifactNotFound):
        await service.query_results("SELECT 1 AS x FROM r1", ids, QueryContext(Reader("bob")))


async def test_a_result_whose_file_went_is_missing_at_every_door(
    source_place: Any, service: DataService, register: Register, asked: QueryContext
) -> None:
    fill(source_place)
    source = await register(source_place.url)
    sql = "SELECT id, amount FROM orders"
    table = (await service.query(source, sql, asked)).artifact
    draft, charts = ArtifactDraft(asked.owner_id, "Orders"), ChartService(service.artifacts)
    spec = {"mark": "bar", "encoding": {"x": {"field": "id"}, "y": {"field": "amount"}}}
    chart = await charts.make(table.artifact_id, draft, spec=spec)
    service.artifacts.path_of(table).unlink()

    for use in (
        service.query_results("SELECT COUNT(*) FROM r1", [table.artifact_id], asked),
        charts.make(table.artifact_id, draft),
        charts.shown(chart),
        charts.picture(chart, "svg"),
    ):
        with pytest.raises(ArtifactNotFound, match=table.artifact_id):
            await use
    checks = FigureChecks(service.artifacts, shared_pool())
    ids = [table.artifact_id]
    report = await checks.report("There are 3 orders.", "How many?", ids, owner=asked.owner_id)
    assert report is not None
    await charts.aclose()


async def test_what_is_computed_from_a_cut_result_says_that_it_is_cut(
    source_place: Any, service: DataService, register: Register, asked: QueryContext
) -> None:
    fill(source_place)
    source = await register(source_place.url)
    tight = replace(asked, limits=QueryLimits(max_rows=2))
    cut = (await service.query(source, "SELECT * FROM orders", tight)).artifact.artifact_id
    whole = (await service.query(source, "SELECT 1 AS one", asked)).artifact.artifact_id

    count = await service.query_results("SELECT COUNT(*) AS n FROM r1", [cut, whole], asked)
    assert count.result.preview_rows == ((2,),)
    assert (count.receipt.is_truncated, count.receipt.truncated_by) == (True, "rows")
    assert load_stored_result(service.artifacts.path_of(count.artifact)).truncated_by == "rows"

    ids = [count.artifact.artifact_id]
    doubled = await service.query_results("WITH c AS (FROM r1) SELECT n * 2 FROM c", ids, asked)
    assert doubled.receipt.truncated_by == "rows"
    other = await service.query_results("SELECT one FROM r2", [cut, whole], asked)
    assert not other.receipt.is_truncated  # it does not read what is cut


async def test_an_engine_that_is_replaced_outlives_its_longest_statement(
    source_place: Any,
    service: DataService,
    register: Register,
    asked: QueryContext,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The loop's clock is looked at: nobody can wait for an hour here."""
    waits: dict[str, float] = {}
    loop = asyncio.get_running_loop()
    call_later = loop.call_later

    def later(delay: float, callback: Callable[..., object], *given: Any) -> asyncio.TimerHandle:
        waits[getattr(callback, "__name__", "")] = delay
        return call_later(delay, callback, *given)

    monkeypatch.setattr(loop, "call_later", later)
    fill(source_place)
    source = await register(source_place.url, limits=QueryLimits(timeout_seconds=3600))
    await service.query(source, "SELECT 1 AS one", asked)
    await service.forget(source.source_id)

    assert waits["_close_retired"] >= 3600


async def test_engine_error_is_told_and_leaves_nothing(
    source_place: Any, service: DataService, register: Register, asked: QueryContext
) -> None:
    source_place.execute("CREATE TABLE words (w VARCHAR(20))")
    source_place.execute("INSERT INTO words VALUES ('one')")
    source = await register(source_place.url)
    sql = {
        "sqlite": "SELECT json_extract(w, '$.a') AS x FROM words",
        "duckdb": "SELECT CAST(w AS INTEGER) AS x FROM words",
        "postgres": "SELECT CAST(w AS INTEGER) AS x FROM words",
        "mysql": "SELECT POW(LENGTH(w), 9999) AS x FROM words",
    }[source_place.kind]
    with pytest.raises(QueryFailed):
        await service.query(source, sql, asked)
    assert await service.artifacts.list("anna") == []
    assert (await service.query(source, "SELECT w FROM words", asked)).result.row_count == 1


async def test_folder_of_files_is_a_source_and_follows_its_files(
    tmp_path: Path, service: DataService, asked: QueryContext
) -> None:
    from dataagent_core.data.sources import EVERYONE, NewSource

    folder = tmp_path / "drop"
    folder.mkdir()
    (folder / "销售.csv").write_text("地区,金额\n华东,100\n华南,250\n", encoding="gbk")
    source = await service.sources.create(
        NewSource("files", folder=str(folder), grants=(EVERYONE,))
    )
    answered = await service.query(source, 'SELECT SUM("金额") AS total FROM "销售"', asked)
    assert [int(row[0]) for row in answered.result.preview_rows] == [350]
    csv = b"".join(
        export(service.artifacts.path_of(answered.artifact), answered.artifact.columns, "csv")
    )
    assert csv.splitlines() == [b"total", b"350"]


async def test_bad_file_of_a_folder_is_named_and_the_rest_is_there(
    tmp_path: Path, service: DataService, asked: QueryContext
) -> None:
    from dataagent_core.data.sources import EVERYONE, NewSource

    folder = tmp_path / "drop"
    folder.mkdir()
    (folder / "good.csv").write_text("a,b\n1,2\n")
    (folder / "torn.parquet").write_bytes(b"PAR1 but no more")
    source = await service.register(NewSource("files", folder=str(folder), grants=(EVERYONE,)))
    answered = await service.query(source, "SELECT a FROM good", asked)
    assert answered.result.preview_rows == ((1,),)
    state = await service.catalogue_state(source, asked.reader)
    assert (len(state.left_out), state.problem) == (1, None)
    assert "'torn.parquet'" in state.left_out[0]
    await service.put_policy(
        source, "p", {"subjects": "everyone", "tables": {"good": {"deny_columns": ["b"]}}}
    )
    assert (await service.catalogue_state(source, asked.reader)).left_out == ()
    await service.forget(source.source_id)
    assert list((tmp_path / "home" / "sources").iterdir()) == []
