"""The reader's side of the ledger: from any cursor, at any moment, everything once and in order."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.errors import SessionDeleted
from dataagent_core.events import DoneEvent, TextEvent, ThinkingEvent
from dataagent_core.runs import ledger as channel_module
from dataagent_core.runs.ledger import CACHE_SECONDS, Ledger, RunWriter, SessionChannel
from dataagent_core.runs.stores.memory import MemoryRunStore
from dataagent_core.runs.types import Entry
from dataagent_core.session import now
from dataagent_core.session.stores.memory import MemoryData, MemorySessionStore
from tests.requirements import requirement
from tests.stores import LEASE, ending, new_run
from tests.waiting import WAIT_SECONDS

KEPT: int = channel_module._MAX_ENTRIES


@asynccontextmanager
async def opened(
    cache_seconds: float = CACHE_SECONDS,
) -> AsyncGenerator[tuple[MemoryRunStore, Ledger, RunWriter]]:
    data = MemoryData()
    store = MemoryRunStore(data)
    ledger = Ledger(store, pace_seconds=0, cache_seconds=cache_seconds)
    ledger.start()
    session = await MemorySessionStore(data).create("anna", "agent")
    run = await store.open(new_run(session.session_id), worker="w1", lease_until=now() + LEASE)
    try:
        yield store, ledger, ledger.writer(run.run, 0)
    finally:
        await ledger.aclose()


async def read(
    ledger: Ledger, session_id: str, *, after: int, up_to: int | None = None
) -> list[Entry]:
    """What a reader gets until a number, or until the run's end."""
    found: list[Entry] = []
    bursts: Any = ledger.follow(session_id, after=after)
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while (up_to is None and not (found and found[-1].event_type == "done")) or (
                up_to is not None and (found[-1].seq if found else after) < up_to
            ):
                found += await anext(bursts)
    finally:
        await bursts.aclose()
    return found


def joined(entries: list[Entry]) -> str:
    return "".join(e.event.content for e in entries if isinstance(e.event, TextEvent))


@requirement("G4")
@given(
    groups=st.lists(st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=6), max_size=6),
    joins_at=st.integers(0, 5),
)
async def test_every_cursor_at_every_moment_gives_the_same_stream(
    groups: list[list[str]], joins_at: int
) -> None:
    async with opened() as (store, ledger, writer):
        session_id = writer.run.session_id
        readers = [asyncio.create_task(read(ledger, session_id, after=0))]
        for number, group in enumerate(groups):
            for piece in group:
                writer.write(TextEvent(content=piece, is_final=piece == group[-1]))
            await writer.flush()
            if number == joins_at:
                readers.append(asyncio.create_task(read(ledger, session_id, after=0)))
        live_seq = await store.last_seq(session_id)
        live = [await read(ledger, session_id, after=n, up_to=live_seq) for n in range(live_seq)]
        assert await writer.close(DoneEvent(), ending())

        told = await store.read(session_id, after=0, limit=10_000)
        assert joined(told) == "".join(piece for group in groups for piece in group)
        assert [entry.seq for entry in told] == list(range(1, len(told) + 1))
        for reader in readers:
            assert await reader == told
        for cursor, seen in enumerate(live):
            assert seen == told[cursor:live_seq]
        for cursor in range(len(told)):
            assert await read(ledger, session_id, after=cursor) == told[cursor:]


async def write_many(writer: RunWriter, count: int) -> None:
    for number in range(count):
        writer.write(ThinkingEvent(content=str(number)))
        if number % 100 == 99:
            await writer.flush()
    await writer.flush()


@requirement("G4", "G12")
async def test_reader_behind_what_is_held_goes_on_from_the_store() -> None:
    async with opened() as (_, ledger, writer):
        count = KEPT * 3
        await write_many(writer, count)
        channel = ledger.channel(writer.run.session_id)
        assert channel.since(0) is None
        for after in (0, 1, count - KEPT - 1, count - KEPT, count - 1):
            found = await read(ledger, writer.run.session_id, after=after, up_to=count)
            assert [entry.seq for entry in found] == list(range(after + 1, count + 1))


@requirement("G12", "G16")
async def test_slow_reader_holds_no_memory_and_misses_nothing() -> None:
    async with opened() as (_, ledger, writer):
        session_id = writer.run.session_id
        writer.write(ThinkingEvent(content="first"))
        await writer.flush()
        slow: Any = ledger.follow(session_id, after=0)
        found = await anext(slow)
        await write_many(writer, KEPT * 4)
        channel = ledger.channel(session_id)
        assert len(channel._entries) <= KEPT
        async with asyncio.timeout(WAIT_SECONDS):
            while found[-1].seq < KEPT * 4 + 1:
                found += await anext(slow)
        await slow.aclose()
        assert [entry.seq for entry in found] == list(range(1, KEPT * 4 + 2))


@requirement("G16")
async def test_channel_lives_as_long_as_someone_uses_it() -> None:
    async with opened(cache_seconds=0.0) as (store, ledger, writer):
        session_id = writer.run.session_id
        reader: Any = ledger.follow(session_id, after=0)
        writer.write(ThinkingEvent(content="x"))
        assert len(await anext(reader)) == 1
        assert await writer.close(DoneEvent(), ending())
        await asyncio.sleep(0.01)
        assert len(ledger._channels) == 1
        assert ledger.channel(session_id)._entries.maxlen == KEPT
        assert len(ledger.channel(session_id)._entries) == 0  # an ended run holds nothing
        await reader.aclose()
        session = await MemorySessionStore(store._data).create("anna", "agent")
        run = await store.open(new_run(session.session_id), worker="w1", lease_until=now() + LEASE)
        del reader, writer
        other = ledger.writer(run.run, 0)
        other.write(ThinkingEvent(content="y"))
        await other.flush()
        gc.collect()
        assert set(ledger._channels) == {session.session_id}


@requirement("G4")
async def test_next_runs_entries_follow_for_a_reader_that_stayed() -> None:
    async with opened() as (store, ledger, writer):
        session_id = writer.run.session_id
        reader = asyncio.create_task(read(ledger, session_id, after=0, up_to=4))
        writer.write(ThinkingEvent(content="a"))
        assert await writer.close(DoneEvent(), ending())
        run = await store.open(new_run(session_id), worker="w1", lease_until=now() + LEASE)
        assert run.last_seq == 2
        second = ledger.writer(run.run, run.last_seq)
        second.write(ThinkingEvent(content="b"))
        assert await second.close(DoneEvent(), ending())
        assert [(e.seq, e.run_id) for e in await reader] == [
            (1, writer.run.run_id),
            (2, writer.run.run_id),
            (3, run.run.run_id),
            (4, run.run.run_id),
        ]


# -- the channel alone ----------------------------------------------------------------------------


def entry(seq: int) -> Entry:
    return Entry(seq, "r", b"{}")


async def test_channel_knows_when_the_store_must_be_asked() -> None:
    channel = SessionChannel()
    assert channel.since(0) is None
    changed = channel.changed
    channel.publish([entry(5), entry(6)])
    assert changed.is_set()
    assert not channel.changed.is_set()
    assert channel.since(3) is None
    assert channel.since(4) == [entry(5), entry(6)]
    assert channel.since(5) == [entry(6)]
    assert channel.since(6) == []
    assert channel.since(9) == []


async def test_gap_in_what_is_published_drops_what_was_before() -> None:
    channel = SessionChannel()
    channel.publish([entry(1), entry(2)])
    channel.publish([entry(4)])
    assert channel.since(1) is None
    assert channel.since(3) == [entry(4)]


async def test_entries_of_an_ended_run_are_dropped_unless_more_came() -> None:
    channel = SessionChannel()
    channel.publish([entry(1)])
    channel.expire_later(0.0)
    channel.publish([entry(2)])
    await asyncio.sleep(0.01)
    assert channel.since(0) == [entry(1), entry(2)]
    channel.expire_later(0.0)
    await asyncio.sleep(0.01)
    assert channel.since(1) is None
    assert channel.since(2) == []


@requirement("G4", "R32.1")
async def test_readers_of_a_deleted_session_get_what_was_committed_and_end() -> None:
    async with opened() as (_store, ledger, writer):
        session_id = writer.run.session_id
        bursts: Any = ledger.follow(session_id, after=0)
        reading = asyncio.create_task(anext(bursts))
        await asyncio.sleep(0)
        writer.write(ThinkingEvent(content="the last word"))
        await writer.flush()
        ledger.end_readers(session_id)
        async with asyncio.timeout(WAIT_SECONDS):
            assert [entry.seq for entry in await reading] == [1]
            with pytest.raises(SessionDeleted):
                await anext(bursts)
        restored = await read(ledger, session_id, after=0, up_to=1)
        assert [entry.seq for entry in restored] == [1]
