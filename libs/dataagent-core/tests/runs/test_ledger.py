"""The writer's side of the ledger: joined, numbered, committed before anyone sees it, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import ANY

import pytest

from dataagent_core.errors import StaleAttempt, StorageUnavailable
from dataagent_core.events import (
    AnyEvent,
    DoneEvent,
    ErrorEvent,
    TextEvent,
    ThinkingEvent,
    ToolCallEvent,
)
from dataagent_core.runs import ledger as ledger_module
from dataagent_core.runs.ledger import Ledger, RunWriter
from dataagent_core.runs.stores.memory import MemoryRunStore
from dataagent_core.runs.types import Batch, Ending, Entry, Run
from dataagent_core.session import now
from dataagent_core.session.stores.memory import MemoryData, MemorySessionStore
from tests.requirements import requirement
from tests.stores import LEASE, ending, new_run
from tests.waiting import WAIT_SECONDS


class SlowStore(MemoryRunStore):
    """Holds each append until it is let through."""

    def __init__(self, data: MemoryData) -> None:
        super().__init__(data)
        self.arrived = asyncio.Event()
        self.may_pass = asyncio.Event()
        self.appended: list[list[AnyEvent]] = []

    async def append(self, batches: Sequence[Batch]) -> set[str]:
        self.arrived.set()
        await self.may_pass.wait()
        for batch in batches:
            self.appended.append([Entry(0, "", wire).event for wire in batch.wires])
        return await super().append(batches)


class AwayStore(MemoryRunStore):
    """Is away for some calls: before it has kept what it was given, or after."""

    def __init__(self, data: MemoryData) -> None:
        super().__init__(data)
        self.failures: list[str] = []
        self.calls = 0

    async def append(self, batches: Sequence[Batch]) -> set[str]:
        self._fail("before")
        refused = await super().append(batches)
        self._fail("after")
        return refused

    async def close(self, run: Run, ending: Ending, last: Batch) -> bool:
        self._fail("before")
        is_kept = await super().close(run, ending, last)
        self._fail("after")
        return is_kept

    def _fail(self, moment: str) -> None:
        if self.failures and self.failures[0] == moment:
            self.calls += 1
            self.failures.pop(0)
            raise StorageUnavailable("away")


@asynccontextmanager
async def opened(
    kind: type[MemoryRunStore] = MemoryRunStore,
) -> AsyncGenerator[tuple[Any, Ledger, RunWriter]]:
    """A store, a ledger over it that commits at once, and the pen of a run."""
    data = MemoryData()
    store = kind(data)
    ledger = Ledger(store, pace_seconds=0)
    ledger.start()
    session = await MemorySessionStore(data).create("anna", "agent")
    run = await store.open(new_run(session.session_id), worker="w1", lease_until=now() + LEASE)
    try:
        yield store, ledger, ledger.writer(run.run, 0)
    finally:
        await ledger.aclose()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is away is asked again at once."""
    monkeypatch.setattr(ledger_module, "_RETRY_SECONDS", (0.0,))


def text(content: str, **more: Any) -> TextEvent:
    return TextEvent(content=content, timestamp=1.0, **more)


def replaced(event: AnyEvent) -> AnyEvent:
    """The event as if it had been said at the time of the others here."""
    return replace(event, timestamp=1.0)


async def kept(store: MemoryRunStore, writer: RunWriter) -> list[AnyEvent]:
    return [entry.event for entry in await store.read_run(writer.run.run_id)]


async def flushed(writer: RunWriter) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        await writer.flush()


# -- joining --------------------------------------------------------------------------------------


@requirement("G4")
async def test_first_text_goes_alone_and_what_comes_meanwhile_is_joined() -> None:
    async with opened(SlowStore) as (store, _, writer):
        writer.write(text("A"))
        async with asyncio.timeout(WAIT_SECONDS):
            await store.arrived.wait()
        for piece in "BCD":
            writer.write(text(piece))
        store.may_pass.set()
        await flushed(writer)
        assert store.appended == [[text("A")], [text("BCD")]]


async def test_running_text_is_joined_and_keeps_its_place_among_events() -> None:
    async with opened(SlowStore) as (store, _, writer):
        writer.write(text("A"))
        async with asyncio.timeout(WAIT_SECONDS):
            await store.arrived.wait()
        thought = ThinkingEvent(content="hm", timestamp=1.0)
        for piece in "BC":
            writer.write(text(piece))
        writer.write(thought)
        writer.write(text("D", agent="sub"))
        for piece in "EF":
            writer.write(text(piece))
        writer.write(text("", is_final=True))
        writer.write(text("G"))
        store.may_pass.set()
        await flushed(writer)
        assert [[replaced(event) for event in batch] for batch in store.appended] == [
            [text("A")],
            [
                text("BC"),
                thought,
                text("D", agent="sub"),
                text("EF", is_final=True),
                text("G"),
            ],
        ]


async def test_only_running_text_of_one_speaker_is_joined() -> None:
    async with opened(SlowStore) as (store, _, writer):
        writer.write(text("0"))
        async with asyncio.timeout(WAIT_SECONDS):
            await store.arrived.wait()
        call = ToolCallEvent(tool_name="ls", tool_args={}, tool_call_id="c", timestamp=1.0)
        thought = ThinkingEvent(content="hm", timestamp=1.0)
        for event in (
            text("a"),
            text("b", is_final=True),
            text("c"),
            text("d", agent="sub"),
            text("e", agent="sub"),
            thought,
            thought,
            text("f"),
            call,
            text("g"),
        ):
            writer.write(event)
        store.may_pass.set()
        await flushed(writer)
        assert store.appended[1] == [
            text("ab", is_final=True),
            text("c"),
            text("de", agent="sub"),
            thought,
            thought,
            text("f"),
            call,
            text("g"),
        ]


async def test_fast_run_waits_for_its_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "_MAX_PENDING", 3)
    async with opened(SlowStore) as (store, _, writer):
        writer.write(ThinkingEvent(content="0"))
        async with asyncio.timeout(WAIT_SECONDS):
            await store.arrived.wait()
        for number in range(1, 4):
            writer.write(ThinkingEvent(content=str(number)))
        async with asyncio.timeout(WAIT_SECONDS):
            await writer.drain()  # three may wait
        writer.write(ThinkingEvent(content="4"))
        full = asyncio.create_task(writer.drain())
        await asyncio.sleep(0)  # it has its turn, and waits
        assert not full.done()
        store.may_pass.set()
        async with asyncio.timeout(WAIT_SECONDS):
            await full
        await flushed(writer)
        assert len(await kept(store, writer)) == 5


# -- committed before it is seen ------------------------------------------------------------------


@requirement("G4")
async def test_event_is_published_when_it_is_committed_and_not_before() -> None:
    async with opened(SlowStore) as (store, ledger, writer):
        reader: Any = ledger.follow(writer.run.session_id, after=0)
        first = asyncio.create_task(anext(reader))
        writer.write(text("A"))
        async with asyncio.timeout(WAIT_SECONDS):
            await store.arrived.wait()
        assert not first.done()
        store.may_pass.set()
        async with asyncio.timeout(WAIT_SECONDS):
            assert [entry.event for entry in await first] == [text("A")]
        await reader.aclose()


# -- the store is away ----------------------------------------------------------------------------


@requirement("G17", "G4")
@pytest.mark.parametrize(
    "failures",
    [["before"], ["after"], ["before"] * 5, ["after"] * 3, ["before", "after", "before", "after"]],
)
async def test_nothing_is_lost_or_doubled_while_the_store_is_away(failures: list[str]) -> None:
    async with opened(AwayStore) as (store, ledger, writer):
        store.failures = list(failures)
        for number in range(6):
            writer.write(ThinkingEvent(content=str(number), timestamp=1.0))
            if number % 2:
                await flushed(writer)
        assert await kept(store, writer) == [
            ThinkingEvent(content=str(number), timestamp=1.0) for number in range(6)
        ]
        entries = await store.read(writer.run.session_id, after=0)
        assert [entry.seq for entry in entries] == list(range(1, 7))
        assert store.calls == len(failures)
        channel = ledger.channel(writer.run.session_id)
        assert channel.since(0) == entries


@requirement("G17", "G2")
@pytest.mark.parametrize("failures", [["before"], ["after"], ["before", "before", "after"]])
async def test_end_is_written_once_although_the_store_was_away(failures: list[str]) -> None:
    async with opened(AwayStore) as (store, _, writer):
        writer.write(text("A"))
        await flushed(writer)
        store.failures = list(failures)
        async with asyncio.timeout(WAIT_SECONDS):
            assert await writer.close(DoneEvent(timestamp=1.0), ending("A"))
        assert await kept(store, writer) == [text("A"), DoneEvent(timestamp=1.0)]
        run = await store.get(writer.run.run_id)
        assert run is not None
        assert run.status == "done"


async def test_one_sessions_failed_commit_does_not_stop_the_loop() -> None:
    class Broken(MemoryRunStore):
        is_broken = True

        async def append(self, batches: Sequence[Batch]) -> set[str]:
            if self.is_broken:
                raise ValueError("a bug")
            return await super().append(batches)

    async with opened(Broken) as (store, ledger, writer):
        writer.write(text("A"))
        await flushed(writer)
        assert writer.is_refused
        store.is_broken = False
        again = await store.claim(
            writer.run.run_id, worker="w1", lease_until=now(), at=now() + LEASE * 2
        )
        assert again is not None
        second = ledger.writer(again, 0)
        second.write(text("B"))
        await flushed(second)
        assert await kept(store, second) == [text("B")]


async def test_one_sessions_failed_commit_does_not_end_the_runs_it_was_to_be_kept_with() -> None:
    class Choosy(MemoryRunStore):
        async def append(self, batches: Sequence[Batch]) -> set[str]:
            if any(b"BAD" in wire for batch in batches for wire in batch.wires):
                raise ValueError("no store keeps this")
            return await super().append(batches)

    async with opened(Choosy) as (store, ledger, writer):
        session = await MemorySessionStore(store._data).create("anna", "agent")
        other = await store.open(new_run(session.session_id), worker="w1", lease_until=now())
        second = ledger.writer(other.run, 0)
        writer.write(text("BAD"))
        second.write(text("B"))
        await flushed(writer)
        await flushed(second)
        assert (writer.is_refused, second.is_refused) == (True, False)
        assert await kept(store, second) == [text("B")]


async def test_event_that_cannot_be_written_down_is_named_and_stops_nobody() -> None:
    deep: dict[str, Any] = {}
    for _ in range(400):
        deep = {"a": deep}
    async with opened() as (store, _, writer):
        writer.write(ToolCallEvent(tool_name="ls", tool_args=deep, tool_call_id="c"))
        writer.write(text("B"))
        await flushed(writer)
        first, second = await kept(store, writer)
        assert first == ErrorEvent(
            error="A tool_call event could not be kept.",
            error_code="event_not_kept",
            recoverable=False,
            timestamp=ANY,
        )
        assert second == text("B")


# -- a newer attempt ------------------------------------------------------------------------------


@requirement("G3")
async def test_writes_of_an_older_attempt_are_refused() -> None:
    async with opened() as (store, ledger, writer):
        writer.write(text("A"))
        await flushed(writer)
        await store.renew("w1", [writer.run.run_id], now() - LEASE)
        taken = await store.claim(writer.run.run_id, worker="w2", lease_until=now() + LEASE)
        assert taken is not None
        newer = ledger.writer(taken, 1)
        newer.write(text("B"))
        await flushed(newer)

        writer.write(text("late"))
        await flushed(writer)

        assert writer.is_refused
        with pytest.raises(StaleAttempt):
            writer.write(text("later"))
        assert await writer.close(DoneEvent(), ending()) is False
        assert await newer.close(DoneEvent(timestamp=1.0), ending()) is True
        assert await kept(store, newer) == [text("A"), text("B"), DoneEvent(timestamp=1.0)]


@requirement("G3", "G2")
async def test_end_of_an_older_attempt_is_refused() -> None:
    async with opened() as (store, _, writer):
        await store.renew("w1", [writer.run.run_id], now() - LEASE)
        await store.claim(writer.run.run_id, worker="w2", lease_until=now() + LEASE)
        assert await writer.close(DoneEvent(), ending("stale")) is False
        assert await kept(store, writer) == []
        run = await store.get(writer.run.run_id)
        assert run is not None
        assert run.is_active


@requirement("G2")
async def test_what_was_not_committed_yet_is_committed_with_the_end() -> None:
    async with opened(SlowStore) as (store, _, writer):
        writer.write(text("A"))
        async with asyncio.timeout(WAIT_SECONDS):
            await store.arrived.wait()
        writer.write(text("B"))
        closing = asyncio.create_task(writer.close(DoneEvent(timestamp=1.0), ending("AB")))
        store.may_pass.set()
        async with asyncio.timeout(WAIT_SECONDS):
            assert await closing
        events = await kept(store, writer)
        assert "".join(e.content for e in events if isinstance(e, TextEvent)) == "AB"
        assert events[-1] == DoneEvent(timestamp=1.0)
        assert [e for e in events if isinstance(e, DoneEvent)] == [DoneEvent(timestamp=ANY)]
