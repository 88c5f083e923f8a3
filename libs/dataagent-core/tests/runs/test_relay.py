"""Readers in one process, the writer in another: everything once, in order, also after losses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from dataagent_core.errors import SessionDeleted
from dataagent_core.events import DoneEvent, ThinkingEvent
from dataagent_core.runs.cluster.bus import Bus, Handler, LocalBus, Subscription
from dataagent_core.runs.cluster.peers import Relay, decode, encode
from dataagent_core.runs.ledger import Ledger, RunWriter
from dataagent_core.runs.stores.memory import MemoryRunStore
from dataagent_core.runs.types import Batch, Entry
from dataagent_core.session import now
from dataagent_core.session.stores.memory import MemoryData, MemorySessionStore
from tests.requirements import requirement
from tests.stores import LEASE, ending, new_run
from tests.waiting import WAIT_SECONDS


class SharedBus(Bus):
    """A bus between two ledgers of a test, which can lose messages and say that it did."""

    is_shared = True

    def __init__(self) -> None:
        self._inner = LocalBus()
        self.loses = False
        self.topics: set[str] = set()

    def publish(self, topic: str, payload: bytes) -> None:
        self.topics.add(topic)
        if not self.loses:
            self._inner.publish(topic, payload)

    def subscribe(self, topic: str, handler: Handler) -> Subscription:
        self.handler = handler
        return self._inner.subscribe(topic, handler)


@dataclass(slots=True)
class Two:
    """Two processes on one store."""

    bus: SharedBus
    store: MemoryRunStore
    sessions: MemorySessionStore
    session_id: str
    writer: RunWriter
    elsewhere: Ledger

    async def write(self, *contents: str) -> None:
        for content in contents:
            self.writer.write(ThinkingEvent(content=content))
            await self.writer.flush()


@asynccontextmanager
async def two(check_seconds: float = 60.0) -> AsyncGenerator[Two]:
    data, bus = MemoryData(), SharedBus()
    store = MemoryRunStore(data)
    relays = [Relay(bus, store, check_seconds=check_seconds) for _ in range(2)]
    here, elsewhere = (Ledger(store, pace_seconds=0, relay=relay) for relay in relays)
    here.start()
    relays[1].start()
    sessions = MemorySessionStore(data)
    session = await sessions.create("anna", "agent")
    run = await store.open(new_run(session.session_id), worker="w1", lease_until=now() + LEASE)
    try:
        yield Two(bus, store, sessions, session.session_id, here.writer(run.run, 0), elsewhere)
    finally:
        await here.aclose()
        for relay in relays:
            await relay.aclose()


async def next_burst(bursts: Any) -> list[Entry]:
    async with asyncio.timeout(WAIT_SECONDS):
        return await anext(bursts)


@requirement("G4", "G10")
async def test_a_reader_elsewhere_gets_what_was_and_what_comes() -> None:
    async with two() as both:
        await both.write("one", "two")
        bursts: Any = both.elsewhere.follow(both.session_id, after=0)
        found = await next_burst(bursts)
        await both.write("three")
        found += await next_burst(bursts)
        await both.writer.close(DoneEvent(), ending())
        found += await next_burst(bursts)
        await bursts.aclose()
        assert [entry.seq for entry in found] == [1, 2, 3, 4]
        assert found == await both.store.read(both.session_id, after=0)


@requirement("G4", "G17")
@pytest.mark.parametrize("is_told", [True, False])
async def test_lost_messages_are_found_in_the_store(is_told: bool) -> None:
    async with two(check_seconds=60.0 if is_told else 0.02) as both:
        bursts: Any = both.elsewhere.follow(both.session_id, after=0)
        first = asyncio.create_task(next_burst(bursts))
        await asyncio.sleep(0)
        both.bus.loses = True
        await both.write("one", "two")
        if is_told:
            both.bus.handler(None)
        found = await first
        while len(found) < 2:
            found += await next_burst(bursts)
        both.bus.loses = False
        await both.write("three")
        found += await next_burst(bursts)
        await bursts.aclose()
        assert [entry.seq for entry in found] == [1, 2, 3]


@requirement("G4")
async def test_messages_that_come_late_or_twice_are_seen_once() -> None:
    async with two() as both:
        bursts: Any = both.elsewhere.follow(both.session_id, after=0)
        reading = asyncio.create_task(next_burst(bursts))
        await asyncio.sleep(0)
        await both.write("one", "two")
        found = await reading
        while len(found) < 2:
            found += await next_burst(bursts)
        late = Batch(both.session_id, found[0].run_id, 1, 1, 1, (found[0].wire,))
        both.bus.handler(encode(b"another", late))
        await both.write("three")
        found += await next_burst(bursts)
        await bursts.aclose()
        assert [entry.seq for entry in found] == [1, 2, 3]


@requirement("G4", "R32.1")
@pytest.mark.parametrize("is_restorable", [True, False])
async def test_a_reader_elsewhere_ends_when_the_session_is_deleted(is_restorable: bool) -> None:
    async with two(check_seconds=0.02) as both:
        bursts: Any = both.elsewhere.follow(both.session_id, after=0)
        await both.write("one")
        assert len(await next_burst(bursts)) == 1
        reading = asyncio.create_task(next_burst(bursts))
        delete = both.sessions.soft_delete if is_restorable else both.sessions.delete
        await delete(both.session_id)
        with pytest.raises(SessionDeleted):
            await reading


async def test_nothing_is_heard_of_a_session_nobody_reads() -> None:
    async with two() as both:
        bursts: Any = both.elsewhere.follow(both.session_id, after=0)
        await both.write("one")
        await next_burst(bursts)
        await bursts.aclose()
        assert both.bus._inner._handlers == {}
        assert both.bus.topics == {f"session:{both.session_id}"}


def test_a_batch_comes_back_as_its_entries() -> None:
    batch = Batch("s", "r", 1, 7, 8, (b'{"event_type":"text"}', b'{"event_type":"done"}'))
    assert decode(encode(b"me", batch)) == [
        Entry(7, "r", batch.wires[0]),
        Entry(8, "r", batch.wires[1]),
    ]
