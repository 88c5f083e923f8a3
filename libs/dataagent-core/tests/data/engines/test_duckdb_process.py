"""A statement of DuckDB's that goes too far ends its own process, and nothing else."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from dataagent_core.data.engines.base import StatementInterrupted
from dataagent_core.data.engines.duckdb_process import DuckdbProcesses
from dataagent_core.data.engines.open import open_engine
from dataagent_core.errors import QueryFailed, QueryTimedOut, SourceUnavailable
from tests.waiting import WAIT_SECONDS, until

DEAF = "SELECT levenshtein(repeat('a', 3000000), repeat('b', 3000000 + x)) FROM numbers"
"""It looks for no interrupt, and takes hours."""


def workers() -> list[psutil.Process]:
    return [one for one in psutil.Process().children() if "duckdb_worker" in str(one.cmdline())]


@pytest.fixture
def numbers(make_database: Callable[[str], Any]) -> Any:
    database = make_database("duckdb")
    database.run("CREATE TABLE numbers AS SELECT x::INTEGER AS x FROM range(3) AS r(x)")
    return database


@pytest.mark.parametrize(
    "expression",
    [
        "repeat('x', 150000000 + x)",
        "length(repeat('x', 2000000000 + x))",
        "range(400000000 + x)",
        "list_sum(generate_series(1, 400000000 + x))",
        "string_split(repeat('a,', 100000000 + x), ',')",
    ],
)
def test_a_statement_that_takes_too_much_memory_is_told_so_and_the_next_one_runs(
    numbers: Any, expression: str
) -> None:
    numbers.limit(memory_limit="100MB")
    with pytest.raises(QueryFailed, match=r"more memory than it may have|more bytes than may be"):
        numbers.read(f"SELECT {expression} AS v FROM numbers, range(1000)")
    assert numbers.read("SELECT COUNT(*) FROM numbers") == [(3,)]


def test_memory_is_bounded_in_the_process_that_runs_the_statement(numbers: Any) -> None:
    engine = numbers.limit(memory_limit="100MB")
    with engine.statement("SELECT x FROM numbers", timeout_seconds=60) as statement:
        next(iter(statement.batches()))
        [child] = [
            one for one in psutil.Process().children() if "duckdb_worker" in str(one.cmdline())
        ]
        soft, hard = child.rlimit(psutil.RLIMIT_AS)
        assert 0 < soft == hard < child.memory_info().vms + 1024**3


def test_a_statement_that_hears_no_interrupt_ends_with_its_time(numbers: Any) -> None:
    with pytest.raises(QueryTimedOut):
        numbers.read(DEAF, timeout_seconds=0.5)
    assert numbers.read("SELECT 42") == [(42,)]


async def test_a_statement_that_hears_no_interrupt_ends_when_it_is_cancelled(numbers: Any) -> None:
    ended: list[BaseException] = []
    with numbers.engine.statement(DEAF, timeout_seconds=600) as statement:

        def run() -> None:
            try:
                list(statement.batches())
            except BaseException as error:
                ended.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        await until(lambda: numbers.engine._processes.in_use == 1)
        statement.interrupt()
        await asyncio.to_thread(thread.join, WAIT_SECONDS)
    assert [type(error) for error in ended] == [StatementInterrupted]
    assert numbers.read("SELECT 42") == [(42,)]


def test_a_process_that_was_killed_while_idle_is_replaced_unseen(numbers: Any) -> None:
    numbers.read("SELECT 1")
    for child in workers():
        child.kill()
        child.wait(WAIT_SECONDS)
    assert numbers.read("SELECT 42") == [(42,)]


def test_databases_share_processes_and_see_only_their_own_tables(
    numbers: Any, tmp_path: Path
) -> None:
    import duckdb

    other = tmp_path / "other.duckdb"
    with duckdb.connect(str(other)) as connection:
        connection.execute("CREATE TABLE secrets AS SELECT 7 AS n")
    processes = DuckdbProcesses()
    first = open_engine(numbers.url, processes=processes)
    second = open_engine(f"duckdb:///{other}", processes=processes)
    for _ in range(3):
        assert first.rows("SELECT COUNT(*) FROM numbers", timeout_seconds=60) == [(3,)]
        assert second.rows("SELECT n FROM secrets", timeout_seconds=60) == [(7,)]
        with pytest.raises(QueryFailed, match="secrets"):
            first.rows("SELECT n FROM secrets", timeout_seconds=60)
    assert len(processes._idle) == 1  # pyright: ignore[reportPrivateUsage] how many were started
    second.close()
    with duckdb.connect(str(other)) as connection:  # nobody holds its lock any more
        connection.execute("INSERT INTO secrets VALUES (8)")
    first.close()
    processes.close()
    with pytest.raises(SourceUnavailable):
        first.rows("SELECT 1", timeout_seconds=60)


async def test_a_killed_program_leaves_no_process_behind(numbers: Any) -> None:
    code = (
        "import sys\n"
        "from dataagent_core.data.engines.open import open_engine\n"
        "engine = open_engine(sys.argv[1])\n"
        "print('open', flush=True)\n"
        "engine.rows(sys.argv[2], timeout_seconds=600)\n"
    )
    command = [sys.executable, "-c", code, numbers.url, DEAF]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "open\n"
        children = psutil.Process(program.pid).children()
        program.kill()
    assert children
    await until(lambda: not any(child.is_running() for child in children))
