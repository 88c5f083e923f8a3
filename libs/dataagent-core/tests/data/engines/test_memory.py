"""A million rows pass through without staying."""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

import psutil
import pyarrow.compute as pc
import pytest

pytestmark = pytest.mark.slow

ROWS = 1_000_000
COLUMNS = "{n} AS id, {n} * 1.37 AS amount, {name} AS name, {n} * 0.1 AS ratio, {n} % 2 AS flag"
MILLION = {
    "sqlite": "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000000) "
    "SELECT " + COLUMNS.format(n="n", name="'name ' || n") + " FROM s",
    "duckdb": "SELECT "
    + COLUMNS.format(n="n", name="'name ' || n")
    + " FROM range(1, 1000001) t(n)",
    "postgres": "SELECT "
    + COLUMNS.format(n="n", name="'name ' || n")
    + " FROM generate_series(1, 1000000) n",
    "mysql": "SELECT "
    + COLUMNS.format(n="seq", name="CONCAT('name ', seq)")
    + " FROM seq_1_to_1000000",
}


def test_a_million_rows_are_read_exactly_in_less_than_100_megabytes(database: Any) -> None:
    sql, process = MILLION[database.kind], psutil.Process()
    database.read(f"SELECT * FROM ({sql}) AS q LIMIT 100000")  # the libraries have their memory now
    before = most = process.memory_info().rss
    rows = total = 0
    with database.engine.statement(sql, timeout_seconds=110) as statement:
        for batch in statement.batches():
            rows += batch.num_rows
            total += pc.sum(batch.column(0)).as_py()
            most = max(most, process.memory_info().rss)
    assert (rows, total) == (ROWS, ROWS * (ROWS + 1) // 2)
    assert most - before < 100 * 1024 * 1024
