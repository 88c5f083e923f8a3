"""The audit log on every database: in order, without gaps, without secrets, and tamper-evident."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import URL, Connection, delete, insert, make_url, select, update

from dataagent_core.audit import AuditFilter, AuditLog
from dataagent_core.storage import Database, open_database
from dataagent_core.storage.tables import audit_head, audit_log
from dataagent_core.telemetry import (
    Scrubber,
    bind_request_id,
    bind_run,
    bind_user,
    unbind_request_id,
)
from tests.end_to_end.fault_proxy import FaultProxy
from tests.waiting import WAIT_SECONDS


async def filled(log: AuditLog, count: int = 6) -> None:
    for number in range(count):
        await log.record("create_user", "success", user_id="root", target=f"user-{number}")


async def test_a_record_says_who_what_when_from_where_and_how_it_ended(log: AuditLog) -> None:
    before = datetime.now(UTC)
    token = bind_request_id("req-1", address="192.0.2.7")
    bind_user("alice", via="cookie")
    bind_run("run-1", "alice")
    try:
        await log.record(
            "tool.call", "denied", target="shell", session_id="s-1", details={"n": 1, "答": "案"}
        )
    finally:
        unbind_request_id(token)
    [row], total = await log.list()
    assert total == 1
    assert row.position == 1
    record = row.record
    assert before - timedelta(seconds=1) <= record.at <= datetime.now(UTC)
    assert (record.user_id, record.via, record.address) == ("alice", "cookie", "192.0.2.7")
    assert (record.action, record.target, record.outcome) == ("tool.call", "shell", "denied")
    assert (record.request_id, record.session_id, record.run_id) == ("req-1", "s-1", "run-1")
    assert json.loads(record.details) == {"n": 1, "答": "案"}
    assert (await log.verify()).is_whole


async def test_notes_are_written_soon_and_at_the_end_in_order(database: Database) -> None:
    log = AuditLog(database, flush_seconds=60)
    log.start()
    for number in range(1_203):
        log.note("tool.call", "success", target=str(number))
    assert (await log.list())[1] == 0
    await log.aclose()
    rows, total = await log.list(limit=1_000)
    assert total == 1_203
    assert [row.position for row in rows[:3]] == [1203, 1202, 1201]
    assert rows[0].record.target == "1202"
    found = await log.verify()
    assert found.is_whole
    assert found.checked == 1_203


async def test_all_rows_that_fit_are_read_in_order_up_to_those_there_at_the_start(
    database: Database,
) -> None:
    log = AuditLog(database, flush_seconds=60)
    for number in range(2_600):
        log.note("tool.call" if number % 2 else "login", "success", target=str(number))
    assert await log.flush()
    pages = log.pages(AuditFilter(action="tool.call"))
    first = await anext(pages)
    await log.record("tool.call", "success", target="later")
    rows = [*first, *[row for page in [page async for page in pages] for row in page]]
    assert len(first) < len(rows)
    assert [row.record.target for row in rows] == [str(number) for number in range(1, 2_600, 2)]
    assert [page async for page in log.pages(AuditFilter(action="nothing"))] == []


async def test_a_note_shows_up_by_itself(log: AuditLog) -> None:
    log.note("sql.query", "success")
    async with asyncio.timeout(WAIT_SECONDS):
        while (await log.list())[1] == 0:
            await asyncio.sleep(0.01)


async def test_rows_are_found_by_what_they_are_about(log: AuditLog) -> None:
    await log.record("login", "failed", user_id="bob")
    await log.record("login", "success", user_id="bob", run_id="r")
    await log.record("logout", "success", user_id="eve")

    async def targets(**wanted: Any) -> list[int]:
        rows, total = await log.list(AuditFilter(**wanted), limit=10)
        assert total == len(rows)
        return [row.position for row in rows]

    middle = (await log.list())[0][1].record.at
    assert await targets() == [3, 2, 1]
    assert await targets(user_id="bob") == [2, 1]
    assert await targets(action="login", outcome="failed") == [1]
    assert await targets(run_id="r") == [2]
    assert 2 in await targets(since=middle, until=middle)
    assert await targets(until=middle - timedelta(hours=1)) == []
    assert [row.position for row in (await log.list(limit=1, offset=1))[0]] == [2]


Tamper = Callable[[Connection], object]


def _row(connection: Connection, position: int) -> dict[str, Any]:
    found = connection.execute(select(audit_log).where(audit_log.c.position == position)).one()
    return dict(found._mapping)  # pyright: ignore[reportPrivateUsage] SQLAlchemy's name for it


def change(column: str, value: object) -> Tamper:
    statement = update(audit_log).where(audit_log.c.position == 3).values({column: value})
    return lambda connection: connection.execute(statement)


def remove(position: int) -> Tamper:
    statement = delete(audit_log).where(audit_log.c.position == position)
    return lambda connection: connection.execute(statement)


def emptied(connection: Connection) -> None:
    connection.execute(delete(audit_log))
    connection.execute(delete(audit_head))


def insert_after_the_end(connection: Connection) -> None:
    copy = {**_row(connection, 6), "position": 7}
    connection.execute(insert(audit_log), [copy])


def insert_between(connection: Connection) -> None:
    """Make room by moving the rows behind, as one would."""
    for position in (6, 5, 4, 3):
        moved = update(audit_log).where(audit_log.c.position == position)
        connection.execute(moved.values(position=position + 1))
    connection.execute(insert(audit_log), [{**_row(connection, 2), "position": 3}])


def swap(connection: Connection) -> None:
    third, fourth = _row(connection, 3), _row(connection, 4)
    connection.execute(delete(audit_log).where(audit_log.c.position.in_([3, 4])))
    swapped = [{**third, "position": 4}, {**fourth, "position": 3}]
    connection.execute(insert(audit_log), swapped)


def remove_and_close_up(connection: Connection) -> None:
    connection.execute(delete(audit_log).where(audit_log.c.position == 3))
    for position in (4, 5, 6):
        moved = update(audit_log).where(audit_log.c.position == position)
        connection.execute(moved.values(position=position - 1))


TAMPERS: dict[str, tuple[Tamper, int]] = {
    "user changed": (change("user_id", "mallory"), 3),
    "user erased": (change("user_id", None), 3),
    "time changed": (change("at", datetime(2020, 1, 1, tzinfo=UTC)), 3),
    "outcome changed": (change("outcome", "denied"), 3),
    "details changed": (change("details", "{} "), 3),
    "target changed": (change("target", "user-2 "), 3),
    "hash changed": (change("hash", "0" * 64), 3),
    "first removed": (remove(1), 1),
    "one removed": (remove(4), 4),
    "last removed": (remove(6), 6),
    "removed and closed up": (remove_and_close_up, 3),
    "inserted at the end": (insert_after_the_end, 7),
    "inserted between": (insert_between, 3),
    "swapped": (swap, 3),
}


async def test_every_kind_of_tampering_is_found_at_its_first_row(
    database: Database, log: AuditLog
) -> None:
    for name, (tamper, first_bad) in TAMPERS.items():
        await database.write(emptied)
        await filled(log)
        assert (await log.verify()).is_whole
        await database.write(tamper)
        found = await log.verify()
        assert (name, found.first_bad, found.is_whole) == (name, first_bad, False)
        assert str(first_bad) in (found.problem or "")


async def test_a_tampered_log_is_still_written_and_still_found_out(
    database: Database, log: AuditLog
) -> None:
    await filled(log)
    await database.write(insert_after_the_end)
    await log.record("login", "success")
    rows, _ = await log.list()
    assert rows[0].position == 8
    assert (await log.verify()).first_bad == 7


async def test_many_writers_leave_no_gap_and_one_chain(sql_place: str, database: Database) -> None:
    """Each has its own connections, as processes have."""
    databases = [database, *(open_database(sql_place) for _ in range(3))]
    try:
        logs = [AuditLog(each, flush_seconds=0.01) for each in databases]
        for each in logs:
            each.start()

        async def write(number: int) -> None:
            for turn in range(10):
                await logs[number].record("login", "success", target=f"{number}.{turn}")
                logs[number].note("tool.call", "success", target=f"{number}.{turn}")

        await asyncio.gather(*(write(number) for number in range(4)))
        for each in logs:
            await each.aclose()
        rows, total = await logs[0].list(limit=200)
        assert total == 80
        assert [row.position for row in reversed(rows)] == list(range(1, 81))
        assert (await logs[0].verify()).checked == 80
        for action in ("login", "tool.call"):
            kept = {row.record.target for row in rows if row.record.action == action}
            assert len(kept) == 40
    finally:
        for each in databases[1:]:
            await each.close()


async def test_a_log_that_grows_while_it_is_checked_is_whole(log: AuditLog) -> None:
    await filled(log, 3)
    is_done = asyncio.Event()

    async def write() -> None:
        while not is_done.is_set():
            await log.record("login", "success")

    writing = asyncio.create_task(write())
    try:
        for _ in range(10):
            assert (await log.verify()).is_whole
    finally:
        is_done.set()
        await writing


async def test_secrets_are_not_kept_and_long_values_are_cut(database: Database) -> None:
    log = AuditLog(database, Scrubber(["hunter22-known"]))
    await log.record(
        "tool.call",
        "success",
        target="postgresql://u:abcdefgh12345@host/db",
        details={
            "arguments": {
                "password": "abcdefgh12345",
                "headers": {"Authorization": "Bearer abcdefgh12345"},
                "text": "the key is hunter22-known " + "x" * 100_000,
                "at the cut": "y" * 295 + "hunter22-known",
                "nul": "a\x00b\ud800",
                "deep": {"a": {"b": {"c": {"d": {"e": 1}}}}},
                "many": list(range(1_000)),
                "odd": float("nan"),
            }
        },
    )
    [row], _ = await log.list()
    text = f"{row.record.target}{row.record.details}"
    for secret in ("abcdefgh12345", "hunter22"):
        assert secret not in text
    assert len(text) < 5_000
    assert (await log.verify()).is_whole


async def test_text_wider_than_its_column_is_cut_before_it_is_hashed(log: AuditLog) -> None:
    wide = "宽" * 400
    await log.record(wide, "success", user_id=wide, via=wide, address=wide, target=wide)
    [row], _ = await log.list()
    assert len(row.record.target or "") == 255
    assert (await log.verify()).is_whole


@pytest.fixture
def postgres(place_of: Callable[[str], str]) -> URL:
    return make_url(place_of("postgres"))


async def test_what_cannot_be_written_waits_and_what_is_lost_is_counted(
    postgres: URL, caplog: pytest.LogCaptureFixture
) -> None:
    proxy = FaultProxy(postgres.port or 0)
    await proxy.mend()
    database = open_database(postgres.set(port=proxy.port).render_as_string(hide_password=False))
    await database.write(emptied)
    lost: list[int] = []
    log = AuditLog(database, flush_seconds=0.01, most_waiting=5, on_lost=lost.append)
    await proxy.cut()
    await log.record("login", "success", target="waits")
    for number in range(7):
        log.note("tool.call", "success", target=str(number))
    assert sum(lost) == 3
    assert any(each.levelno == logging.ERROR for each in caplog.records)
    assert not await log.flush()
    await proxy.mend()
    assert await log.flush()
    rows, total = await log.list()
    assert total == 5
    assert rows[-1].record.target == "waits"
    await proxy.cut()
    log.note("tool.call", "success")
    await log.aclose()
    assert sum(lost) == 4
    await database.close()
