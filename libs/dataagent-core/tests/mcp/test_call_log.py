"""Every call is on record, whatever the database does meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dataagent_core.mcp.gateway.call_log import CallFilter, CallLog, CallRow
from dataagent_core.storage import Database
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

from .stored import Cuttable

AT = datetime(2026, 11, 15, 12, 0, 0, 123000, tzinfo=UTC)
CANARY = "sk-canary-0123456789abcdef"
WHOLE = CallRow(
    call_id="c" * 26,
    trace_id="0af7651916cd43dd8448eb211c80319c",
    span_id="b7ad6b7169203331",
    tenant_id="acme",
    user_id="alice",
    session_id="s-1",
    run_id="r-1",
    agent_id="sql",
    api_key_id="k-1",
    server_id="mall4j",
    tool_id=7,
    tool_name="mall4j.order.get_detail",
    schema_version=3,
    definition_hash="d" * 64,
    protocol_version="2025-11-25",
    connection_generation=2,
    started_at=AT,
    ended_at=AT + timedelta(milliseconds=41),
    duration_ms=41.25,
    queue_ms=0.5,
    attempts=1,
    input_valid=True,
    output_valid=False,
    status="invalid",
    error_code="MCP_INVALID_OUTPUT",
    error_message="/total type",
    args_digest="a" * 64,
    args_redacted={"orderId": "…"},
    result_bytes=120,
)


def row(call_id: str, **values: object) -> CallRow:
    # fields of each type
    return replace(CallRow(call_id=call_id, tool_name="x", started_at=AT, status="ok"), **values)


async def _until(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not await is_so():
            await asyncio.sleep(0.02)


@requirement("M5.1", "M5.2")
async def test_a_call_is_on_record_with_every_field(database: Database) -> None:
    """记录工具调用追踪: trace, user, session, agent, server, tool, schema version, times, end."""
    assert all(value is not None for value in asdict(WHOLE).values())
    log = CallLog(database, flush_seconds=0.01)

    log.note(WHOLE)
    log.note(row("bare"))
    await log.aclose()

    found, total = await CallLog(database).list(CallFilter(trace_id=WHOLE.trace_id))
    assert (found, total) == ([WHOLE], 1)
    (bare,), _ = await CallLog(database).list(CallFilter(tool_name="x"))
    assert bare == row("bare", ended_at=AT)


async def test_calls_are_filtered_by_user_tool_and_time(database: Database) -> None:
    log = CallLog(database)
    for number in range(30):
        log.note(
            row(
                f"c{number:02}",
                user_id=f"u{number % 3}",
                server_id=f"s{number % 2}",
                tenant_id="acme" if number % 5 == 0 else None,
                status="timeout" if number % 10 == 9 else "ok",
                started_at=AT + timedelta(minutes=number),
            )
        )
    await log.flush()

    async def ids(wanted: CallFilter, **page: int) -> tuple[list[str], int]:
        found, total = await log.list(wanted, **page)
        return [each.call_id for each in found], total

    assert await ids(CallFilter(status="timeout")) == (["c29", "c19", "c09"], 3)
    assert await ids(CallFilter(user_id="u0", server_id="s1")) == (
        ["c27", "c21", "c15", "c09", "c03"],
        5,
    )
    assert (await ids(CallFilter(tenant_id="acme")))[1] == 6
    window = CallFilter(since=AT + timedelta(minutes=3), until=AT + timedelta(minutes=5))
    assert await ids(window) == (["c04", "c03"], 2)
    assert await ids(CallFilter(), limit=2, offset=28) == (["c01", "c00"], 30)
    await log.aclose()


async def test_old_calls_are_forgotten(database: Database) -> None:
    log = CallLog(database)
    for number in range(10):
        log.note(row(f"c{number}", started_at=AT + timedelta(days=number)))
    await log.flush()

    assert await log.delete_before(AT + timedelta(days=7)) == 7

    assert (await log.list())[1] == 3
    assert await log.delete_before(AT) == 0
    await log.aclose()


async def test_calls_older_than_the_retention_are_deleted(
    database: Database,
) -> None:
    now = datetime.now(UTC)
    before = CallLog(database)
    before.note(row("old", started_at=now - timedelta(days=8)))
    before.note(row("new", started_at=now - timedelta(days=6)))
    await before.aclose()

    log = CallLog(database, keep_days=7)
    log.start()

    async def is_gone() -> bool:
        return [each.call_id for each in (await log.list())[0]] == ["new"]

    await _until(is_gone)
    await log.aclose()


async def test_notes_are_written_together_soon_without_a_flush(database: Database) -> None:
    log = CallLog(database, flush_seconds=0.01)
    for number in range(1200):
        log.note(row(f"c{number}"))

    async def is_there() -> bool:
        return (await log.list())[1] == 1200

    await _until(is_there)
    await log.aclose()


@requirement("M5.4")
async def test_f13_no_secret_and_nothing_too_wide_gets_into_a_row(database: Database) -> None:
    log = CallLog(database)
    log.note(
        row(
            "c",
            error_message=f"Authorization: Bearer {CANARY} at https://u:{CANARY}@h/ " + "x" * 900,
            tool_name="t\x00\ud800" + "宽" * 400,
            agent_id="a" * 300,
            error_code="E" * 100,
        )
    )
    await log.flush()

    (found,), _ = await log.list()
    assert CANARY not in repr(found)
    assert len(found.error_message or "") == 500
    assert len(found.tool_name) == 200
    assert found.tool_name.startswith("t\ufffd")
    await log.aclose()


async def test_rows_beyond_the_queue_limit_are_counted_as_lost(database: Database) -> None:
    lost: list[int] = []
    log = CallLog(database, most_waiting=5, on_lost=lost.append)
    for number in range(8):
        log.note(row(f"c{number}"))

    assert (log.lost, lost) == (3, [1, 1, 1])
    await log.aclose()
    assert (await CallLog(database).list())[1] == 5


# -- while the database is away -------------------------------------------------------------------


@pytest.mark.slow
async def test_calls_made_during_an_outage_are_written_afterwards(
    cuttable: Cuttable, tmp_path: Path
) -> None:
    log = CallLog(
        cuttable.database, spill_dir=tmp_path / "mcp", flush_seconds=0.01, outage_retry_seconds=0.05
    )
    log.note(row("before"))
    await log.flush()
    await cuttable.proxy.cut()
    for number in range(700):
        log.note(row(f"away-{number}", args_redacted={"q": "数"}))
    await log.flush()
    (spilled,) = (tmp_path / "mcp").iterdir()
    assert len(spilled.read_text().splitlines()) == 700
    assert spilled.stat().st_mode & 0o077 == 0

    await cuttable.proxy.mend()

    async def is_there() -> bool:
        return not any((tmp_path / "mcp").iterdir())

    await _until(is_there)
    log.note(row("after"))
    await log.aclose()
    found, total = await CallLog(cuttable.database).list(limit=1000)
    assert total == 702
    away = next(each for each in found if each.call_id == "away-3")
    assert away == row("away-3", args_redacted={"q": "数"}, ended_at=AT)
    assert log.lost == 0


async def test_a_dead_process_file_is_written_by_the_next(
    cuttable: Cuttable, tmp_path: Path
) -> None:
    await cuttable.proxy.cut()
    first = CallLog(cuttable.database, spill_dir=tmp_path)
    still_there = CallLog(cuttable.database, spill_dir=tmp_path, outage_retry_seconds=600)
    first.note(row("left"))
    await first.aclose()
    still_there.note(row("held"))
    await still_there.flush()
    assert len([*tmp_path.iterdir()]) == 2
    left = next(p for p in tmp_path.iterdir() if "left" in p.read_text())
    with left.open("ab") as file:
        file.write(b'{"call_id": "cut off')
    with left.open("ab") as file:
        file.write(b"\n" + json.dumps({"call_id": "odd", "started_at": 1}).encode() + b"\n")
    await cuttable.proxy.mend()

    second = CallLog(cuttable.database, spill_dir=tmp_path, outage_retry_seconds=0.05)
    second.start()

    async def is_there() -> bool:
        return (await second.list())[1] == 1

    await _until(is_there)
    await second.aclose()
    assert len([*tmp_path.iterdir()]) == 1  # the other's, who still works with it
    await still_there.aclose()
    assert {each.call_id for each in (await second.list())[0]} == {"left", "held"}
    assert [*tmp_path.iterdir()] == []


async def test_a_file_that_is_read_twice_adds_nothing_twice(
    cuttable: Cuttable, tmp_path: Path
) -> None:
    await cuttable.proxy.cut()
    log = CallLog(cuttable.database, spill_dir=tmp_path)
    log.note(row("once"))
    await log.aclose()
    (spilled,) = tmp_path.iterdir()
    copy = spilled.read_bytes()
    await cuttable.proxy.mend()
    for _ in range(2):
        spilled.write_bytes(copy)
        again = CallLog(cuttable.database, spill_dir=tmp_path)
        await again.flush()
        await again.aclose()

    assert (await log.list())[1] == 1


async def test_without_a_file_rows_wait_and_are_lost_only_at_the_end(cuttable: Cuttable) -> None:
    log = CallLog(cuttable.database, flush_seconds=0.01)
    await cuttable.proxy.cut()
    log.note(row("a"))
    await log.flush()
    await cuttable.proxy.mend()
    await log.flush()
    assert (await log.list())[1] == 1
    await cuttable.proxy.cut()
    log.note(row("b"))
    await log.aclose()
    assert log.lost == 1


async def test_a_file_that_is_full_or_cannot_be_written_is_counted(
    cuttable: Cuttable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataagent_core.mcp.gateway.call_log.MAX_SPILLED_BYTES", 2_000)
    await cuttable.proxy.cut()
    (tmp_path / "file").write_text("no folder")
    nowhere = CallLog(cuttable.database, spill_dir=tmp_path / "file" / "below")
    nowhere.note(row("a"))
    await nowhere.aclose()
    assert nowhere.lost == 1
    full = CallLog(cuttable.database, spill_dir=tmp_path / "mcp")
    for number in range(10):
        full.note(row(f"c{number}"))
    await full.aclose()
    kept = [*(tmp_path / "mcp").iterdir()]
    assert sum(path.stat().st_size for path in kept) <= 2_000
    assert 0 < full.lost < 10
