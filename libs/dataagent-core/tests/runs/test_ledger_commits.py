"""The ledger's commits: which go together, when one waits, and a store that is away for long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from dataagent_core.errors import StorageUnavailable
from dataagent_core.events import DoneEvent, TextEvent, ThinkingEvent
from dataagent_core.runs import ledger as ledger_module
from dataagent_core.runs.ledger import Ledger, RunWriter, is_done
from dataagent_core.runs.stores.memory import MemoryRunStore
from dataagent_core.runs.types import Batch, Ending, Entry, Run
from dataagent_core.session import now
from dataagent_core.session.stores.memory import MemoryData, MemorySessionStore
from tests.requirements import requirement
from tests.stores import LEASE, ending, new_run
from tests.waiting import WAIT_SECONDS

PACE = 100.0  # seconds: no test waits for it
RETRY_SECONDS: tuple[float, ...] = ledger_module._RETRY_SECONDS


class House(MemoryRunStore):
    """Notes what was committed together, can be held, and is away for some calls."""

    def __init__(self, data: MemoryData) -> None:
        super().__init__(data)
        self.sessions = MemorySessionStore(data)
        self.commits: list[set[str]] = []
        self.arrived = asyncio.Event()
        self.may_pass = asyncio.Event()
        self.may_pass.set()
        self.closes = asyncio.Event()
        self.may_close = asyncio.Event()
        self.may_close.set()
        self.away = 0
        self.is_away = asyncio.Event()

    async def append(self, batches: Sequence[Batch]) -> set[str]:
        self.arrived.set()
        await self.may_pass.wait()
        self._answer()
        self.commits.append({batch.run_id for batch in batches})
        return await super().append(batches)

    async def close(self, run: Run, ending: Ending, last: Batch) -> bool:
        self._answer()
        self.closes.set()
        await self.may_close.wait()
        return await super().close(run, ending, last)

    async def read(self, session_id: str, *, after: int, limit: int = 500) -> list[Entry]:
        self._answer()
        return await super().read(session_id, after=after, limit=limit)

    def _answer(self) -> None:
        if self.away:
            self.away -= 1
            self.is_away.set()
            raise StorageUnavailable("away")

    async def run(self) -> Run:
        """A new run, in a session of its own."""
        session = await self.sessions.create("anna", "agent")
        new = new_run(session.session_id)
        return (await self.open(new, worker="w1", lease_until=now() + LEASE)).run


@asynccontextmanager
async def opened(pace_seconds: float = 0) -> AsyncGenerator[tuple[House, Ledger]]:
    """A store, and a ledger over it."""
    store = House(MemoryData())
    ledger = Ledger(store, pace_seconds=pace_seconds)
    ledger.start()
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            yield store, ledger
    finally:
        await ledger.aclose()


async def spoken(store: House, ledger: Ledger, count: int) -> list[RunWriter]:
    """The pens of new runs which have said their first word, all in one commit."""
    writers = [ledger.writer(await store.run(), 0) for _ in range(count)]
    for writer in writers:
        writer.write(TextEvent(content="First "))
    for writer in writers:
        await writer.flush()
    assert store.commits == [{writer.run.run_id for writer in writers}]
    return writers


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is away is asked again at once."""
    monkeypatch.setattr(ledger_module, "_RETRY_SECONDS", (0.0, 0.0))
    monkeypatch.setattr(ledger_module, "_LONG_RETRY_SECONDS", (0.0,) * 3)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The ledger's clock, which stands still until a test sets it."""
    hands = SimpleNamespace(now=1000.0)
    shown = SimpleNamespace(monotonic=lambda: hands.now, time=lambda: hands.now)
    monkeypatch.setattr(ledger_module, "time", shown)
    return hands


# -- numbers --------------------------------------------------------------------------------------


@requirement("G4")
async def test_every_message_of_one_commit_carries_the_number_its_reader_goes_on_from() -> None:
    async with opened() as (store, ledger):
        writer = ledger.writer(await store.run(), 4)
        for word in ("a", "b", "c", "d"):
            writer.write(ThinkingEvent(content=word))
        await writer.flush()
        assert store.commits == [{writer.run.run_id}]
        assert writer.written == 4
        for entries in (
            await store.read_run(writer.run.run_id),
            ledger.channel(writer.run.session_id).since(4) or [],
        ):
            assert [entry.seq for entry in entries] == [5, 6, 7, 8]
            assert [orjson.loads(entry.wire)["seq"] for entry in entries] == [5, 6, 7, 8]
            assert not any(is_done(entry) for entry in entries)
        assert await writer.close(DoneEvent(), ending())
        assert is_done((await store.read_run(writer.run.run_id))[-1])


# -- what waits, and what does not ----------------------------------------------------------------


@pytest.mark.usefixtures("clock")
async def test_running_text_waits_its_time_and_an_event_of_another_run_goes_ahead_alone() -> None:
    async with opened(PACE) as (store, ledger):
        talker, caller = await spoken(store, ledger, 2)
        talker.write(TextEvent(content="more"))
        for word in ("one", "two"):
            caller.write(ThinkingEvent(content=word))
            await caller.flush()
        assert store.commits[1:] == [{caller.run.run_id}] * 2
        assert len(await store.read_run(talker.run.run_id)) == 1


async def test_text_goes_with_an_event_of_its_own_run_and_its_own_time_finds_nothing(
    clock: SimpleNamespace,
) -> None:
    async with opened(PACE) as (store, ledger):
        writer, other = await spoken(store, ledger, 2)
        writer.write(TextEvent(content="more"))
        writer.write(ThinkingEvent(content="hm"))
        await writer.flush()
        clock.now += PACE * 2
        other.write(ThinkingEvent(content="hm"))
        await other.flush()
        assert store.commits[1:] == [{writer.run.run_id}, {other.run.run_id}]
        events = [entry.event for entry in await store.read_run(writer.run.run_id)]
        assert [getattr(event, "content", None) for event in events] == ["First ", "more", "hm"]


@pytest.mark.usefixtures("clock")
async def test_only_the_first_text_of_an_answer_does_not_wait() -> None:
    async with opened(PACE) as (store, ledger):
        (busy,) = await spoken(store, ledger, 1)
        writer = ledger.writer(await store.run(), 0)

        def say(words: str) -> None:
            writer.write(TextEvent(content=words))

        assert writer.first_text_at is None
        say("Hello")
        await writer.flush()
        assert writer.first_text_at is not None
        assert store.commits[1:] == [{writer.run.run_id}]
        say(" world")
        busy.write(ThinkingEvent(content="hm"))
        await busy.flush()
        assert store.commits[2:] == [{busy.run.run_id}]


@pytest.mark.parametrize("runs", [2, 200])
@pytest.mark.parametrize("is_over", [False, True])
async def test_text_waits_one_pace_for_the_next_commit_however_many_runs_there_are(
    clock: SimpleNamespace, runs: int, is_over: bool
) -> None:
    async with opened(PACE) as (store, ledger):
        talker, caller, *_ = await spoken(store, ledger, runs)
        talker.write(TextEvent(content="more"))
        clock.now += PACE * (1.1 if is_over else 0.9)
        caller.write(ThinkingEvent(content="hm"))
        await caller.flush()
        together = {talker.run.run_id} if is_over else set[str]()
        assert store.commits[1:] == [{caller.run.run_id, *together}]


async def test_text_whose_time_has_come_is_not_put_behind_events_of_other_runs() -> None:
    async with opened() as (store, ledger):
        talker, caller = await spoken(store, ledger, 2)
        store.may_pass.clear()
        store.arrived.clear()
        caller.write(ThinkingEvent(content="one"))
        await store.arrived.wait()
        talker.write(TextEvent(content="more"))
        caller.write(ThinkingEvent(content="two"))
        store.may_pass.set()
        await caller.flush()
        assert store.commits[1:] == [{caller.run.run_id}, {caller.run.run_id, talker.run.run_id}]


# -- the store is away for long -------------------------------------------------------------------


@requirement("G17")
async def test_commit_and_end_wait_for_their_store_however_often_they_must_ask() -> None:
    async with opened() as (store, ledger):
        writer = ledger.writer(await store.run(), 0)
        store.away = 50
        writer.write(ThinkingEvent(content="hm", timestamp=1.0))
        await writer.flush()
        store.away = 50
        assert await writer.close(DoneEvent(timestamp=1.0), ending())
        assert [entry.event for entry in await store.read_run(writer.run.run_id)] == [
            ThinkingEvent(content="hm", timestamp=1.0),
            DoneEvent(timestamp=1.0),
        ]


@requirement("G17")
async def test_store_that_is_away_is_asked_soon_then_more_slowly_and_always_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Time itself is replaced: what the ledger would wait is written down instead."""
    waited: list[float] = []
    turn = asyncio.sleep

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        await turn(0)

    monkeypatch.setattr(ledger_module, "_RETRY_SECONDS", RETRY_SECONDS)
    async with opened() as (store, ledger):
        writer = ledger.writer(await store.run(), 0)
        monkeypatch.setattr(asyncio, "sleep", sleep)
        for is_end in (False, True):
            waited.clear()
            store.away = 20
            if is_end:
                assert await writer.close(DoneEvent(), ending())
            else:
                writer.write(ThinkingEvent(content="hm"))
                await writer.flush()
            assert len(waited) == 20
            assert waited == sorted(waited)
            assert 0 < waited[0] <= 0.1
            assert waited[-1] == max(RETRY_SECONDS) <= 1


@requirement("G3", "G17")
@pytest.mark.parametrize("has_ended", [True, False])
async def test_end_is_refused_when_a_newer_attempt_took_the_run_while_the_store_was_away(
    has_ended: bool,
) -> None:
    async with opened() as (store, ledger):
        run = await store.run()
        writer = ledger.writer(run, 0)
        store.away = 1
        store.may_close.clear()
        closing = asyncio.create_task(writer.close(DoneEvent(), ending("stale")))
        await store.is_away.wait()
        await store.renew("w1", [run.run_id], now() - LEASE)
        taken = await store.claim(run.run_id, worker="w2", lease_until=now() + LEASE)
        assert taken is not None
        if has_ended:
            nothing = Batch(run.session_id, run.run_id, taken.attempt, 1, 0, ())
            assert await MemoryRunStore.close(store, taken, ending("newer"), nothing)
        store.may_close.set()
        assert await closing is False
        assert writer.is_refused
        assert ledger.channel(run.session_id).since(0) is None  # and nobody saw it


@requirement("G17", "G4")
async def test_reader_stays_while_the_store_is_away_a_moment() -> None:
    async with opened() as (store, ledger):
        writer = ledger.writer(await store.run(), 0)
        writer.write(ThinkingEvent(content="hm", timestamp=1.0))
        await writer.flush()
        elsewhere: Any = Ledger(store).follow(writer.run.session_id, after=0)
        store.away = 5
        assert [entry.event for entry in await anext(elsewhere)] == [
            ThinkingEvent(content="hm", timestamp=1.0)
        ]
        await elsewhere.aclose()


@requirement("G17")
async def test_reader_is_told_when_the_store_stays_away() -> None:
    async with opened() as (store, ledger):
        reader: Any = ledger.follow((await store.run()).session_id, after=0)
        store.away = 10**6
        with pytest.raises(StorageUnavailable):
            await anext(reader)


# -- the end, of a run and of the ledger ----------------------------------------------------------


@requirement("G2")
async def test_nothing_comes_after_the_end_of_a_run() -> None:
    async with opened() as (store, ledger):
        writer, other = await spoken(store, ledger, 2)
        store.may_close.clear()
        closing = asyncio.create_task(writer.close(DoneEvent(), ending()))
        await store.closes.wait()
        writer.write(ThinkingEvent(content="too late"))
        other.write(ThinkingEvent(content="hm"))
        await other.flush()
        store.may_close.set()
        assert await closing
        assert store.commits[1:] == [{other.run.run_id}]
        assert is_done((await store.read(writer.run.session_id, after=0))[-1])


async def test_closed_ledger_commits_no_more() -> None:
    store = House(MemoryData())
    ledger = Ledger(store, pace_seconds=0)
    await ledger.aclose()  # before it was started there is nothing to stop
    ledger.start()
    writer = ledger.writer(await store.run(), 0)
    writer.write(ThinkingEvent(content="one"))
    async with asyncio.timeout(WAIT_SECONDS):
        await writer.flush()
    await ledger.aclose()
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "ledger"]
    writer.write(ThinkingEvent(content="two"))
    await asyncio.sleep(0)
    assert len(store.commits) == 1
