"""Runs without a living owner: which process takes them, and how they go on or end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dataagent_core.config import Settings
from dataagent_core.engine import AgentConfig, AgentFactory, MemoryCheckpoints
from dataagent_core.engine.executors import SessionExecutors
from dataagent_core.errors import Unavailable
from dataagent_core.events import DoneEvent, ErrorEvent, HITLRequestEvent
from dataagent_core.hitl import Decision
from dataagent_core.runs import Ledger, Run, RunService, Worker
from dataagent_core.runs.cluster.bus import Control, LocalBus
from dataagent_core.runs.recovery import WorkerRole
from dataagent_core.runs.stores.memory import MemoryRunStore
from dataagent_core.runs.types import NewRun, OpenedRun, RunInput
from dataagent_core.session import SessionManager, now
from dataagent_core.session.stores.memory import (
    MemoryData,
    MemoryMessageStore,
    MemorySessionStore,
)
from dataagent_core.workspace import UserWorkspaceManager
from tests.requirements import requirement
from tests.stores import LEASE, new_run
from tests.waiting import WAIT_SECONDS

WRITE = '!tool write_file {"file_path": "/files/a.txt", "content": "x"}'
WORKER = WorkerRole(takes_queued=True)
WEB = WorkerRole(resumes_waiting=False)
LONG_AGO = timedelta(seconds=10)


class OneBus(LocalBus):
    """The bus of processes that live on one event loop."""

    is_shared = True


@dataclass(slots=True)
class Process:
    worker: Worker
    runs: RunService

    async def collect_events(self, run: Run) -> list[object]:
        async with asyncio.timeout(WAIT_SECONDS):
            return [entry.event async for entry in self.runs.read(run.run_id)]

    async def seen(self, run: Run, kind: type) -> object:
        async with asyncio.timeout(WAIT_SECONDS):
            async for entry in self.runs.read(run.run_id):
                if isinstance(entry.event, kind):
                    return entry.event
        raise AssertionError(kind)


@dataclass(slots=True)
class Cluster:
    """What the processes share."""

    factory: AgentFactory
    data: MemoryData = field(default_factory=MemoryData)
    bus: OneBus = field(default_factory=OneBus)
    checkpoints: MemoryCheckpoints = field(default_factory=MemoryCheckpoints)
    store: MemoryRunStore = field(init=False)
    ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        self.store = MemoryRunStore(self.data)
        self.ledger = Ledger(self.store, pace_seconds=0)

    async def use(self, store: MemoryRunStore) -> None:
        """Have the next processes share another store."""
        await self.ledger.aclose()
        self.store, self.ledger = store, Ledger(store, pace_seconds=0)
        self.ledger.start()

    @asynccontextmanager
    async def process(
        self, name: str, worker_role: WorkerRole, *, lease_seconds: float = 10.0
    ) -> AsyncGenerator[Process]:
        executors = SessionExecutors(self.factory, self.checkpoints)
        sessions = SessionManager(
            MemorySessionStore(self.data), MemoryMessageStore(self.data), executors=executors
        )
        control = Control(self.bus)
        worker = Worker(
            name,
            self.store,
            executors,
            self.ledger,
            lambda run: AgentConfig(run.assistant_id, user_id=run.user_id),
            lease_seconds=lease_seconds,
            worker_role=worker_role,
            control=control,
        )
        await worker.start(is_alone=False)
        try:
            yield Process(worker, RunService(self.store, sessions, self.ledger, worker))
        finally:
            await worker.aclose(0.2)

    async def queued(self, message: str = "hello", age: timedelta = LONG_AGO) -> Run:
        """A run that was accepted a while ago and that no worker was told of."""
        session = await MemorySessionStore(self.data).create("alice", "agent")
        new = new_run(
            session.session_id, message, created_at=now() - age, input=RunInput(message=message)
        )
        return (await self.store.open(new, worker=None, lease_until=None)).run

    async def leased(self, message: str, process: Process) -> Run:
        """A run of a process."""
        run = await self.queued(message)
        assert await process.worker.recovery.claim(run.run_id)
        return run

    async def expire(self, run: Run) -> None:
        kept = await self.store.get(run.run_id)
        assert kept is not None
        await self.store.renew(kept.lease_owner or "", [run.run_id], now() - LEASE)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncGenerator[Cluster]:
    settings = Settings(home=tmp_path, model="scripted", sample_data=False)
    workspaces = UserWorkspaceManager(tmp_path / "workspaces", 10_000)
    made = Cluster(AgentFactory(settings, workspaces))
    made.ledger.start()
    yield made
    await made.ledger.aclose()
    workspaces.close()


@requirement("G2", "G10")
async def test_a_queued_run_nobody_was_told_of_is_answered_by_a_worker(cluster: Cluster) -> None:
    run = await cluster.queued()
    async with cluster.process("web", WEB) as web:
        assert await web.worker.recovery.recover() == 0
        async with cluster.process("w1", WORKER):
            events = await web.collect_events(run)
    assert isinstance(events[-1], DoneEvent)
    assert events[-1].reason == "completed"
    assert (kept := await cluster.store.get(run.run_id)) is not None
    assert (kept.status, kept.attempt) == ("done", 1)


@requirement("G3")
async def test_a_queued_run_is_taken_by_one_of_two(cluster: Cluster) -> None:
    run = await cluster.queued("!slow 5 1")
    async with (
        cluster.process("w1", WorkerRole()) as one,
        cluster.process("w2", WorkerRole()) as two,
    ):
        taken = await asyncio.gather(
            one.worker.recovery.claim(run.run_id), two.worker.recovery.claim(run.run_id)
        )
        assert sorted(taken) == [False, True]
        assert len([e for e in await one.collect_events(run) if isinstance(e, DoneEvent)]) == 1


@requirement("G2")
async def test_a_run_that_waits_too_long_for_a_worker_ends_visibly(cluster: Cluster) -> None:
    run = await cluster.queued()
    async with cluster.process("web", WorkerRole(resumes_waiting=False, queue_seconds=1)) as web:
        error, done = (await web.collect_events(run))[-2:]
    assert isinstance(error, ErrorEvent)
    assert isinstance(done, DoneEvent)
    assert (error.error_code, error.recoverable, done.reason) == ("not_taken", True, "failed")


async def test_a_full_worker_leaves_queued_runs_to_others(cluster: Cluster) -> None:
    async with cluster.process("w1", WorkerRole(takes_queued=True, max_runs=1)) as full:
        busy = await cluster.leased("!slow 100000 10", full)
        waiting = await cluster.queued()
        assert await full.worker.recovery.recover() == 0
        wait_for_capacity = asyncio.create_task(full.worker.recovery.wait_for_capacity())
        await asyncio.sleep(0)
        assert not wait_for_capacity.done()
        async with cluster.process("w2", WORKER) as other:
            assert isinstance((await other.collect_events(waiting))[-1], DoneEvent)
        await full.runs.cancel(busy.run_id, owner="alice")
        async with asyncio.timeout(WAIT_SECONDS):
            await wait_for_capacity


@requirement("G2", "G3")
async def test_a_web_process_ends_lost_runs_and_leaves_waiting_ones(cluster: Cluster) -> None:
    async with (
        cluster.process("web", WEB) as web,
        cluster.process("dead", WorkerRole()) as dead,
    ):
        lost = await cluster.leased("!slow 100000 10", dead)
        waits = await cluster.leased(WRITE, dead)
        await dead.seen(waits, HITLRequestEvent)
        for run in (lost, waits):
            await cluster.expire(run)
        assert await web.worker.recovery.recover() == 1
        error = (await web.collect_events(lost))[-2]
        assert isinstance(error, ErrorEvent)
        assert error.error_code == "interrupted"
        assert (kept := await cluster.store.get(waits.run_id)) is not None
        assert kept.status == "waiting"


@requirement("G6", "G10")
async def test_a_run_is_cancelled_through_a_process_that_does_not_have_it(cluster: Cluster) -> None:
    async with cluster.process("web", WEB) as web, cluster.process("w1", WorkerRole()) as owner:
        run = await cluster.leased("!slow 100000 10", owner)
        cancelled = await web.runs.cancel(run.run_id, owner="alice")
        assert cancelled.status == "cancelled"
        assert not owner.worker.owns(run.run_id)


@requirement("G6")
@pytest.mark.parametrize("is_lost", [False, True])
async def test_a_run_nobody_has_is_cancelled_where_it_is_asked_for(
    cluster: Cluster, is_lost: bool
) -> None:
    async with cluster.process("web", WEB) as web, cluster.process("dead", WorkerRole()) as dead:
        if is_lost:
            run = await cluster.leased(WRITE, dead)
            await dead.seen(run, HITLRequestEvent)
            dead.worker._subscriptions.pop(0).end()  # it hears nothing any more
            await cluster.expire(run)
        else:
            run = await cluster.queued(age=timedelta())
        cancelled = await web.runs.cancel(run.run_id, owner="alice")
        assert cancelled.status == "cancelled"
        done = (await web.collect_events(run))[-1]
        assert isinstance(done, DoneEvent)
        assert (done.cancelled, done.reason) == (True, "user_cancelled")


@requirement("G10", "G11")
async def test_a_decision_reaches_the_owner_from_any_process(cluster: Cluster) -> None:
    async with cluster.process("web", WEB) as web, cluster.process("w1", WorkerRole()) as owner:
        run = await cluster.leased(WRITE, owner)
        request = await owner.seen(run, HITLRequestEvent)
        assert isinstance(request, HITLRequestEvent)
        for _ in range(2):
            await web.runs.decide(run.run_id, request.request_id, Decision("reject"), owner="alice")
        done = (await web.collect_events(run))[-1]
        assert isinstance(done, DoneEvent)
        assert done.reason == "rejected"


@requirement("G9", "G11")
async def test_a_process_that_stops_hands_waiting_runs_over_at_once(cluster: Cluster) -> None:
    async with cluster.process("w2", WORKER) as other:
        async with cluster.process("w1", WORKER) as leaving:
            run = await cluster.leased(WRITE, leaving)
            request = await leaving.seen(run, HITLRequestEvent)
        assert isinstance(request, HITLRequestEvent)
        async with asyncio.timeout(WAIT_SECONDS):
            while not other.worker.owns(run.run_id):
                await asyncio.sleep(0.01)
        await other.runs.decide(run.run_id, request.request_id, Decision("reject"), owner="alice")
        events = await other.collect_events(run)
    assert [e for e in events if isinstance(e, HITLRequestEvent)] == [request]
    assert isinstance(events[-1], DoneEvent)


class HeldStore(MemoryRunStore):
    """A store whose `open` takes until it is let go."""

    def __init__(self, data: MemoryData) -> None:
        super().__init__(data)
        self.entered, self.go = asyncio.Event(), asyncio.Event()

    async def open(self, new: NewRun, **options: Any) -> OpenedRun:
        self.entered.set()
        await self.go.wait()
        return await super().open(new, **options)


@requirement("G2", "G9")
async def test_a_run_that_is_being_opened_when_its_process_stops_gets_its_end(
    cluster: Cluster,
) -> None:
    await cluster.use(store := HeldStore(cluster.data))
    session = await MemorySessionStore(cluster.data).create("alice", "agent")
    async with cluster.process("w1", WorkerRole()) as process:
        starting = asyncio.create_task(
            process.runs.start(session.session_id, "!slow 100000 10", owner="alice")
        )
        await store.entered.wait()
        stopping = asyncio.create_task(process.worker.aclose(0.5))
        await asyncio.sleep(0)
        store.go.set()
        started = await starting
        await stopping
        with pytest.raises(Unavailable):
            await process.runs.start(session.session_id, "too late", owner="alice")
    assert (kept := await store.get(started.run.run_id)) is not None
    assert kept.status == "failed"
    assert kept.error is not None
    assert kept.error["error_code"] == "shutdown"


class HeldClaims(MemoryRunStore):
    """A store that has claimed a run, but whose answer takes until it is let go."""

    def __init__(self, data: MemoryData) -> None:
        super().__init__(data)
        self.claimed, self.go = asyncio.Event(), asyncio.Event()

    async def claim(self, run_id: str, **options: Any) -> Run | None:
        run = await super().claim(run_id, **options)
        self.claimed.set()
        await self.go.wait()
        return run


@requirement("G2", "G9")
@pytest.mark.parametrize("is_told", [True, False])
async def test_a_run_that_is_being_claimed_when_its_process_stops_is_answered(
    cluster: Cluster, is_told: bool
) -> None:
    await cluster.use(store := HeldClaims(cluster.data))
    async with cluster.process("w1", WORKER) as process:
        runs = [await cluster.queued("!slow 5 1") for _ in range(2)]
        if is_told:
            taking = asyncio.create_task(process.worker.recovery.claim(runs[0].run_id))
        else:
            process.worker.leases.wake()  # its next round finds them
            taking = None
        await store.claimed.wait()
        stopping = asyncio.create_task(process.worker.aclose(5))
        await asyncio.sleep(0)
        store.go.set()
        async with asyncio.timeout(WAIT_SECONDS):
            await stopping
        assert taking is None or taking.result()
        kept = [await store.get(run.run_id) for run in runs]
    assert [(run.status, run.attempt) for run in kept if run] == [("done", 1), ("queued", 0)]


@requirement("G3")
async def test_leases_are_renewed_while_other_runs_are_being_claimed(cluster: Cluster) -> None:
    await cluster.use(store := HeldClaims(cluster.data))
    async with cluster.process("w1", WORKER, lease_seconds=0.2) as process:
        store.go.set()
        mine = await cluster.leased("!slow 100000 10", process)
        store.claimed.clear()
        store.go.clear()
        await cluster.queued()
        async with asyncio.timeout(WAIT_SECONDS):
            await store.claimed.wait()  # a round has found it, and takes its time
            before = await store.get(mine.run_id)
            while (kept := await store.get(mine.run_id)) == before:
                await asyncio.sleep(0.01)
        assert kept is not None
        assert (kept.status, kept.attempt, kept.lease_owner) == ("running", 1, "w1")
        store.go.set()
        await process.runs.cancel(mine.run_id, owner="alice")


@requirement("G2")
async def test_a_claimed_run_is_answered_although_the_store_was_away_for_a_moment(
    cluster: Cluster,
) -> None:
    async with cluster.process("w1", WORKER) as process:
        last_seq, failures = cluster.store.last_seq, [Unavailable("away"), Unavailable("away")]

        async def failing(session_id: str) -> int:
            if failures:
                raise failures.pop()
            return await last_seq(session_id)

        # away for a moment
        cluster.store.last_seq = failing  # pyright: ignore[reportAttributeAccessIssue]
        run = await cluster.queued()
        assert await process.worker.recovery.claim(run.run_id)
        assert isinstance((await process.collect_events(run))[-1], DoneEvent)
    assert (kept := await cluster.store.get(run.run_id)) is not None
    assert (kept.status, kept.attempt) == ("done", 1)
