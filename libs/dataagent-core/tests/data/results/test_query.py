# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dataagent_core.data.engines.base import StatementInterrupted
from dataagent_core.data.engines.duckdb_process import DuckdbProcesses
from dataagent_core.data.results import StoredResult, catalogue_of, open_artifacts, write_result
from dataagent_core.data.results.query import ArtifactEngine
from dataagent_core.data.types import Artifact, Column, QueryLimits
from dataagent_core.errors import (
    ArtifactNotFound,
    DataAgentError,
    QueryFailed,
    QueryRefused,
    QueryTimedOut,
)
from tests.waiting import WAIT_SECONDS

KeepTable = Callable[[pa.Table], tuple[Path, StoredResult]]
ENDLESS = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range = 5"
SALES = pa.table(
    {
        "country": ["DE", "FR", "DE", None],
        "amount": pa.array(
            [Decimal("1.10"), Decimal("2.20"), None, Decimal("4.00")], pa.decimal128(9, 2)
        ),
        "id": [2**62, 2**62, 1, 0],
        "at": pa.array([0, 1, 2, None], pa.timestamp("us", "UTC")),
    }
)


OpenTables = Callable[[dict[str, Path]], ArtifactEngine]


@pytest.fixture(scope="module")
def processes() -> Generator[DuckdbProcesses]:
    """Processes for all tests of this module: each takes a while to start."""
    made = DuckdbProcesses()
    yield made
    made.close()


@pytest.fixture
def open_tables(processes: DuckdbProcesses) -> OpenTables:
    return lambda paths: open_artifacts(paths, processes)


@pytest.fixture
def sales(kept: KeepTable, open_tables: OpenTables) -> ArtifactEngine:
    path, _result = kept(SALES)
    return open_tables({"sales": path, "Other Sales": path})


def read(
    engine: ArtifactEngine, sql: str, *, timeout_seconds: float = 30.0, time_zone: str = "UTC"
) -> list[dict[str, Any]]:
    with engine.statement(sql, timeout_seconds=timeout_seconds, time_zone=time_zone) as statement:
        return pa.Table.from_batches(list(statement.batches())).to_pylist()


def test_sql_runs_over_earlier_results_by_name(sales: ArtifactEngine) -> None:
    found = read(
        sales,
        "SELECT a.country, sum(a.amount) AS total, count(*) AS n FROM sales a "
        'JOIN "Other Sales" b USING (id) GROUP BY a.country ORDER BY total',
    )
    assert found == [
        {"country": "DE", "total": Decimal("2.20"), "n": 3},
        {"country": None, "total": Decimal("4.00"), "n": 1},
        {"country": "FR", "total": Decimal("4.40"), "n": 2},
    ]


def test_sums_beyond_64_bits_are_exact(sales: ArtifactEngine) -> None:
    assert read(sales, "SELECT sum(id) AS s FROM sales") == [{"s": Decimal(2**63 + 1)}]


def test_a_result_over_results_can_be_kept_again(sales: ArtifactEngine, tmp_path: Path) -> None:
    sql = 'SELECT "at", country AS "at", INTERVAL 1 MONTH AS i FROM sales ORDER BY id LIMIT 2'
    with sales.statement(sql, timeout_seconds=30) as statement:
        labels = statement.labels
        kept = write_result(
            statement.batches(), labels, tmp_path / "again.parquet", limits=QueryLimits()
        )
    assert labels == ("at", "at", "i")
    assert [column.name for column in kept.columns] == ["at", "at_2", "i"]
    assert kept.preview_rows == ((None, None, "P1M"), ("1970-01-01T00:00:00.000002Z", "DE", "P1M"))


def test_no_rows_is_one_empty_batch_with_its_columns(sales: ArtifactEngine) -> None:
    with sales.statement("SELECT id FROM sales WHERE false", timeout_seconds=30) as statement:
        batches = list(statement.batches())
    assert [batch.num_rows for batch in batches] == [0]
    assert batches[0].schema.names == ["id"]


def test_times_are_told_in_the_statement_s_zone(sales: ArtifactEngine) -> None:
    sql = 'SELECT CAST("at" AS VARCHAR) AS t FROM sales WHERE id = 1'
    assert read(sales, sql, time_zone="Asia/Shanghai") == [{"t": "1970-01-01 08:00:00.000002+08"}]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_parquet('{path}')",
        "SELECT * FROM '{path}'",
        "SELECT * FROM glob('/*')",
        "COPY sold TO '{folder}/stolen.csv'",
        "ATTACH '{folder}/new.db'",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "INSTALL httpfs",
        "LOAD httpfs",
        "CREATE TABLE t AS SELECT 1",
        "DROP VIEW sold",
        "SELECT 1; SELECT 2",
        "SELECT 1; COPY sold TO '{folder}/stolen.csv'",
        "EXPORT DATABASE '{folder}/dump'",
        "PRAGMA database_list",
        "SELECT * FROM SALES",  # DuckDB can look into Python's variables; not here
        "",
    ],
)
def test_with_no_guard_before_it_the_engine_still_refuses(
    kept: KeepTable, open_tables: OpenTables, tmp_path: Path, sql: str
) -> None:
    path, _result = kept(SALES)
    engine = open_tables({"sold": path})
    with pytest.raises((QueryFailed, QueryRefused)):
        read(engine, sql.format(path=path, folder=tmp_path))
    assert list(tmp_path.iterdir()) == []
    assert read(engine, "SELECT count(*) AS n FROM sold") == [{"n": 4}]


def test_an_error_of_the_engine_says_what_is_wrong(sales: ArtifactEngine) -> None:
    with pytest.raises(QueryFailed, match="contry"):
        read(sales, "SELECT contry FROM sales")


def test_a_statement_that_takes_too_long_is_stopped(sales: ArtifactEngine) -> None:
    with pytest.raises(QueryTimedOut):
        read(sales, ENDLESS, timeout_seconds=0.05)


@pytest.mark.parametrize("is_early", [True, False])
def test_an_interrupted_statement_stops_and_the_next_one_runs(
    sales: ArtifactEngine, is_early: bool
) -> None:
    ended: list[BaseException] = []
    started = threading.Event()

    with sales.statement(ENDLESS, timeout_seconds=60) as statement:
        if is_early:
            statement.interrupt()

        def run() -> None:
            started.set()
            try:
                list(statement.batches())
            except (StatementInterrupted, DataAgentError) as error:
                ended.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        started.wait(WAIT_SECONDS)
        statement.interrupt()
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()
    assert [type(error) for error in ended] == [StatementInterrupted]
    assert read(sales, "SELECT 1 AS one") == [{"one": 1}]


def test_a_statement_left_early_ends(sales: ArtifactEngine) -> None:
    with sales.statement("SELECT * FROM range(10000000000)", timeout_seconds=60) as statement:
        first = next(statement.batches())
    assert first.num_rows > 0
    assert read(sales, "SELECT 1 AS one") == [{"one": 1}]


def test_decimals_too_wide_for_duckdb_are_text(kept: KeepTable, open_tables: OpenTables) -> None:
    wide = Decimal("9" * 60)
    path, _result = kept(pa.table({"w": pa.array([wide, None], pa.decimal256(70, 0))}))
    assert read(open_tables({"t": path}), "SELECT w FROM t") == [{"w": "9" * 60}, {"w": None}]


def test_a_file_that_is_gone_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(ArtifactNotFound, match="'gone'"):
        open_artifacts({"t": tmp_path / "gone.parquet"})


def test_a_file_that_goes_before_it_is_read_is_a_missing_artefact(
    kept: KeepTable, open_tables: OpenTables
) -> None:
    path, _result = kept(SALES)
    engine = open_tables({"t": path})
    path.unlink()
    with pytest.raises(ArtifactNotFound, match=path.stem) as error:
        read(engine, "SELECT * FROM t")
    assert str(path.parent) not in str(error.value)


def test_a_file_that_goes_between_two_statements_is_a_missing_artefact(
    kept: KeepTable, open_tables: OpenTables
) -> None:
    path, _result = kept(SALES)
    engine = open_tables({"t": path})
    read(engine, "SELECT * FROM t")  # the process has the table open now
    path.unlink()
    with pytest.raises(ArtifactNotFound, match=path.stem) as error:
        read(engine, "SELECT * FROM t")
    assert str(path.parent) not in str(error.value)


def test_the_catalogue_names_tables_columns_and_duckdb_s_types(kept: KeepTable) -> None:
    path, result = kept(SALES)
    artifact = Artifact(
        artifact_id="a1",
        user_id="u1",
        session_id=None,
        run_id=None,
        kind="table",
        title="Sales",
        byte_size=result.byte_size,
        created_at=datetime(2024, 1, 1, tzinfo=UTC),
        expires_at=None,
        columns=result.columns,
        row_count=result.row_count,
    )
    catalogue = catalogue_of({"sales": artifact})
    assert catalogue.dialect == "duckdb"
    assert catalogue.tables[0].columns == (
        Column("country", "VARCHAR"),
        Column("amount", "DECIMAL(9,2)"),
        Column("id", "BIGINT"),
        Column("at", "TIMESTAMP WITH TIME ZONE"),
    )
    assert list(catalogue.tables) == open_artifacts({"sales": path}).introspect()
    assert catalogue.hash == catalogue_of({"sales": artifact}).hash
    assert catalogue.hash != catalogue_of({"sold": artifact}).hash
