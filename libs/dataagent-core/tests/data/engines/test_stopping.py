"""Time-outs, interrupts and lost connections: the statement is gone, the engine goes on."""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from dataagent_core.data.engines import EngineOptions, Statement, StatementInterrupted
from dataagent_core.data.engines.mysql_wire import Field, RowStream
from dataagent_core.errors import QueryFailed, QueryTimedOut, SourceUnavailable
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

COUNTING = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT {} FROM n"
CROSSING = "range(1000000000) a(x), range(100000) b(y)"
ENDLESS = {  # no row for ever
    "sqlite": COUNTING.format("count(*)"),
    "duckdb": f"SELECT count(*) FROM {CROSSING} WHERE (a.x * b.y) % 7 = 3",
    "postgres": "SELECT pg_sleep(600), 'marked'",
    "mysql": "SELECT SLEEP(600), 'marked'",
}
BUSY = {  # no row for ever, and the processor at work
    "sqlite": ENDLESS["sqlite"],
    "duckdb": ENDLESS["duckdb"],
    "postgres": "SELECT count(*) FROM generate_series(1, 100000000) a, generate_series(1, 1000) b",
    "mysql": "SELECT SUM(a.seq * b.seq % 7) FROM seq_1_to_100000000 a, seq_1_to_1000 b",
}
FLOWING = {  # rows for ever
    "sqlite": COUNTING.format("x"),
    "duckdb": f"SELECT a.x FROM {CROSSING}",
    "postgres": "SELECT generate_series(1, 1000000000)",
    "mysql": "SELECT a.seq FROM seq_1_to_100000000 a, seq_1_to_1000 b",
}
WHO = {"postgres": "SELECT pg_backend_pid()", "mysql": "SELECT CONNECTION_ID()"}


def running(database: Any) -> int:
    """How many statements of the engine's the server is working on."""
    if database.kind == "postgres":
        sql = (
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dataagent' "
            "AND state = 'active' AND datname = current_database()"
        )
    else:
        sql = (
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND IN "
            "('Query', 'Execute') AND DB = DATABASE() AND ID <> CONNECTION_ID() AND TIME_MS >= 0"
        )
    return database.run(sql)[0][0]


def until(condition: Callable[[], bool]) -> None:
    """Return once it holds; looks often, for a bounded time."""
    deadline = time.monotonic() + WAIT_SECONDS
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline
        pause.wait(0.01)


def reading(
    pool: ThreadPoolExecutor, statement: Statement, begun: threading.Event
) -> Future[list[Any]]:
    def work() -> list[Any]:
        begun.set()
        return list(statement.batches())

    return pool.submit(work)


def until_it_runs(database: Any, statement: Any, begun: threading.Event) -> None:
    assert begun.wait(WAIT_SECONDS)
    if database.kind in WHO:
        until(lambda: running(database) == 1)
    else:
        until(lambda: statement._watch is not None)


@pytest.mark.parametrize("sqls", [ENDLESS, BUSY], ids=["waiting", "busy"])
@requirement("G6")
def test_an_interrupt_ends_the_statement_in_the_engine_and_keeps_the_connection(
    database: Any, sqls: dict[str, str]
) -> None:
    engine = database.limit(max_connections=1)
    who = database.read(WHO[database.kind]) if database.kind in WHO else None
    begun = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        with engine.statement(sqls[database.kind], timeout_seconds=600) as statement:
            future = reading(pool, statement, begun)
            until_it_runs(database, statement, begun)
            statement.interrupt()
            statement.interrupt()
            with pytest.raises(StatementInterrupted):
                future.result(WAIT_SECONDS)
        if database.kind in WHO:
            assert running(database) == 0
            assert database.read(WHO[database.kind]) == who
        assert database.read("SELECT 42") == [(42,)]


@requirement("G6")
def test_postgres_compiles_nothing_that_could_not_be_interrupted(
    make_database: Callable[[str], Any],
) -> None:
    assert make_database("postgres").read("SELECT current_setting('jit')") == [("off",)]


@requirement("G6")
def test_an_interrupt_between_two_batches_ends_the_reading(database: Any) -> None:
    engine = database.limit(max_connections=1)
    with engine.statement(FLOWING[database.kind], timeout_seconds=600) as statement:
        batches = statement.batches()
        assert next(batches).num_rows > 0
        statement.interrupt()
        with pytest.raises(StatementInterrupted):
            for _ in batches:
                pass
    assert database.read("SELECT 42") == [(42,)]
    if database.kind in WHO:
        assert running(database) == 0


def test_an_interrupt_before_the_start_keeps_it_from_starting(database: Any) -> None:
    engine = database.limit(max_connections=1)
    with engine.statement(ENDLESS[database.kind], timeout_seconds=600) as statement:
        statement.interrupt()
        with pytest.raises(StatementInterrupted):
            next(iter(statement.batches()))
        with pytest.raises(StatementInterrupted):
            assert statement.labels
    assert database.read("SELECT 42") == [(42,)]


def test_an_interrupt_after_the_end_stops_no_one_else(database: Any) -> None:
    engine = database.limit(max_connections=1)
    with engine.statement("SELECT 1 AS x", timeout_seconds=60) as finished:
        assert [batch.num_rows for batch in finished.batches()] == [1]
    begun = threading.Event()
    with (
        ThreadPoolExecutor(1) as pool,
        engine.statement(ENDLESS[database.kind], timeout_seconds=600) as statement,
    ):
        future = reading(pool, statement, begun)
        until_it_runs(database, statement, begun)
        finished.interrupt()
        assert statement._watch.reason is None
        statement.interrupt()
        with pytest.raises(StatementInterrupted):
            future.result(WAIT_SECONDS)


@pytest.mark.slow
@requirement("G6")
def test_interrupts_at_any_moment_leave_the_engine_usable(database: Any) -> None:
    engine = database.limit(max_connections=2)
    with ThreadPoolExecutor(2) as pool:
        for number in range(40):
            begun = threading.Event()
            sql = (FLOWING if number % 2 else ENDLESS)[database.kind]
            with engine.statement(sql, timeout_seconds=600) as statement:
                moments: list[Callable[[], object]] = [
                    lambda: None,
                    begun.wait,
                    lambda started=statement: until(lambda: started._connection is not None),
                    lambda started=statement: until(lambda: started._watch is not None),
                ]
                future = reading(pool, statement, begun)
                moments[number % len(moments)]()
                statement.interrupt()
                with pytest.raises(StatementInterrupted):
                    future.result(WAIT_SECONDS)
            assert database.read(f"SELECT {number}") == [(number,)]


def test_one_who_waits_for_a_connection_can_be_interrupted(database: Any) -> None:
    engine = database.limit(max_connections=1)
    with engine.statement(FLOWING[database.kind], timeout_seconds=600) as holding:
        held = holding.batches()
        next(held)
        begun = threading.Event()
        with (
            ThreadPoolExecutor(1) as pool,
            engine.statement("SELECT 1", timeout_seconds=600) as waiting,
        ):
            future = reading(pool, waiting, begun)
            assert begun.wait(WAIT_SECONDS)
            waiting.interrupt()
            with pytest.raises(StatementInterrupted):
                future.result(WAIT_SECONDS)
        assert next(held).num_rows > 0
    assert database.read("SELECT 42") == [(42,)]


def test_one_who_waits_too_long_for_a_connection_is_told(database: Any) -> None:
    engine = database.limit(max_connections=1)
    with engine.statement(FLOWING[database.kind], timeout_seconds=600) as holding:
        next(holding.batches())
        with (
            engine.statement("SELECT 1", timeout_seconds=0.05) as waiting,
            pytest.raises(SourceUnavailable, match=r"All 1 (connections|processes)"),
        ):
            list(waiting.batches())


@pytest.mark.parametrize("sqls", [ENDLESS, BUSY, FLOWING], ids=["waiting", "busy", "flowing"])
@requirement("G13")
def test_a_statement_that_takes_too_long_is_stopped_in_the_engine(
    database: Any, sqls: dict[str, str]
) -> None:
    database.limit(max_connections=1)
    who = database.read(WHO[database.kind]) if database.kind in WHO else None
    with pytest.raises(QueryTimedOut, match=r"longer than 0\.3 seconds"):
        database.read(sqls[database.kind], timeout_seconds=0.3)
    if database.kind in WHO:
        assert running(database) == 0
    if database.kind in WHO and sqls is not FLOWING:  # whose rows may take longer than a new one
        assert database.read(WHO[database.kind]) == who
    assert database.read("SELECT 42") == [(42,)]


def test_leaving_early_stops_the_statement(database: Any) -> None:
    engine = database.limit(max_connections=1)
    for _ in range(3):
        with engine.statement(FLOWING[database.kind], timeout_seconds=600) as statement:
            assert next(iter(statement.batches())).num_rows > 0
        with engine.statement(FLOWING[database.kind], timeout_seconds=600) as statement:
            assert len(statement.labels) == 1
        if database.kind in WHO:
            assert running(database) == 0
    assert database.read("SELECT 42") == [(42,)]


@pytest.mark.parametrize("last", [b"\xfe\x00\x00\x02\x00", b"\xff\x25\x05#70100stopped"])
def test_what_mysql_still_sends_is_read_to_its_end_also_after_a_row_of_two_packets(
    last: bytes,
) -> None:
    """Made by hand: when a server's last words come is not ours to choose."""
    value = b"\xff" * (0xFFFFFF + 100)
    row = b"\xfe" + len(value).to_bytes(8, "little") + value
    parts = (row[:0xFFFFFF], row[0xFFFFFF:], last)
    first, second, end = (len(one).to_bytes(3, "little") + b"\x00" + one for one in parts)
    reads = iter([first + second, end])
    line: Any = SimpleNamespace(_rfile=SimpleNamespace(read1=lambda _size: next(reads)))
    stream = RowStream(line, options=EngineOptions())
    stream.fields, stream.is_over = [Field("v", 252, 63, False, 0, 0)], False
    stream.drain()
    assert stream.is_over
    assert next(reads, None) is None


def test_a_failed_statement_tells_the_engines_words_and_keeps_the_connection(
    database: Any,
) -> None:
    database.limit(max_connections=1)
    who = database.read(WHO[database.kind]) if database.kind in WHO else None
    for _ in range(3):
        with pytest.raises(QueryFailed, match="nowhere"):
            database.read("SELECT * FROM nowhere")
    if who is not None:
        assert database.read(WHO[database.kind]) == who


def test_characters_that_no_database_takes_are_told(database: Any) -> None:
    for sql in ("SELECT '\0'", "SELECT '\ud800'"):
        with pytest.raises(QueryFailed, match="characters that no database takes"):
            database.read(sql)


def test_leaving_while_another_thread_reads_stops_it(database: Any) -> None:
    engine = database.limit(max_connections=1)
    begun = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        with engine.statement(ENDLESS[database.kind], timeout_seconds=600) as statement:
            future = reading(pool, statement, begun)
            until_it_runs(database, statement, begun)
        with pytest.raises(StatementInterrupted):
            future.result(WAIT_SECONDS)
    assert database.read("SELECT 42") == [(42,)]


def test_an_error_in_the_middle_of_the_rows_is_told(make_database: Callable[[str], Any]) -> None:
    cases = {
        "postgres": "SELECT 1 / (90000 - a) FROM generate_series(1, 100000) a",
        "mysql": "SELECT CASE WHEN seq < 90000 THEN 1 ELSE "
        "(SELECT 1 UNION SELECT seq) END FROM seq_1_to_100000",
        "duckdb": "SELECT CASE WHEN x < 90000 THEN 1 ELSE error('bang') END "
        "FROM range(100000) t(x)",
        "sqlite": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000)"
        " SELECT abs(CASE WHEN x < 90000 THEN 1 ELSE -9223372036854775807 - 1 END) FROM n",
    }
    for kind, sql in cases.items():
        database = make_database(kind)
        with pytest.raises(QueryFailed):
            database.read(sql)
        assert database.read("SELECT 42") == [(42,)]


def test_fifty_statements_at_once_share_five_connections(database: Any) -> None:
    database.run("CREATE TABLE n (x INTEGER)", "INSERT INTO n VALUES (1), (2), (3)")
    engine = database.limit(max_connections=5)
    with ThreadPoolExecutor(50) as pool:
        sums = [f"SELECT SUM(x) + {number} AS s FROM n" for number in range(50)]
        results = list(pool.map(database.read, sums))
    assert [int(rows[0][0]) for rows in results] == [6 + number for number in range(50)]
    pool = engine._processes if database.kind == "duckdb" else engine._pool
    assert pool.in_use == 0
    assert 1 <= len(pool._idle) <= 5


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_a_connection_lost_among_the_rows_is_told_and_the_next_statement_works(
    make_database: Callable[[str], Any], kind: str
) -> None:
    database = make_database(kind)
    engine = database.limit(max_connections=1)
    [(number,)] = database.read(WHO[kind])
    with engine.statement(FLOWING[kind], timeout_seconds=600) as statement:
        batches = statement.batches()
        next(batches)
        kill = {"postgres": "SELECT pg_terminate_backend({})", "mysql": "KILL {}"}[kind]
        database.run(kill.format(number))
        with pytest.raises((SourceUnavailable, QueryFailed)):
            for _ in batches:
                pass
    assert database.read("SELECT 42") == [(42,)]


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
@requirement("G17")
def test_a_connection_lost_while_idle_is_replaced_unseen(
    make_database: Callable[[str], Any], kind: str
) -> None:
    database = make_database(kind)
    database.limit(max_connections=1)
    [(number,)] = database.read(WHO[kind])
    kill = {"postgres": "SELECT pg_terminate_backend({})", "mysql": "KILL {}"}[kind]
    database.run(kill.format(number))
    line = database.engine._pool._idle[0]
    until(lambda: not database.engine._pool._is_alive(line))
    assert database.read("SELECT 42") == [(42,)]
    assert database.read(WHO[kind]) != [(number,)]


def test_a_closed_engine_says_so(database: Any) -> None:
    engine = database.engine
    engine.ping()
    engine.close()
    with (
        engine.statement("SELECT 1", timeout_seconds=60) as statement,
        pytest.raises(SourceUnavailable, match="closed"),
    ):
        list(statement.batches())
