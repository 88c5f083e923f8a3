"""Every engine says how it would run a statement, and does not run it."""

from __future__ import annotations

import pytest

from dataagent_core.errors import QueryFailed

from .conftest import Database

EXPECTED = {
    "sqlite": "SCAN t",
    "duckdb": "SEQ_SCAN  t",
    "postgres": "Seq Scan on t",
    "mysql": "table=t",
}


def test_the_plan_names_what_is_read(database: Database) -> None:
    database.run("CREATE TABLE t (n INTEGER)", "INSERT INTO t VALUES (1), (2)")
    plan = database.engine.explain("SELECT n FROM t WHERE n > 1", timeout_seconds=10)
    assert any(EXPECTED[database.kind] in line for line in plan), plan
    with pytest.raises(QueryFailed):
        database.engine.explain("SELECT n FROM nowhere", timeout_seconds=10)
