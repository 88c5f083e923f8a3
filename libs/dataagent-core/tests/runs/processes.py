"""Processes over one store in one test: each has a worker, and may freeze, wake or die."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from pydantic import ConfigDict, Field

from dataagent_core.engine import AgentConfig, AgentFactory, Checkpoints, MemoryCheckpoints
from dataagent_core.engine import graph as lg
from dataagent_core.engine.executors import SessionExecutors
from dataagent_core.events import AnyEvent
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_core.runs import Ledger, Run, RunService, Worker
from dataagent_core.runs.stores.memory import MemoryRunStore
from dataagent_core.session import SessionManager, now
from dataagent_core.session.stores.memory import (
    MemoryData,
    MemoryMessageStore,
    MemorySessionStore,
)
from tests.stores import LEASE
from tests.waiting import WAIT_SECONDS


class NotifyingExecutors(SessionExecutors):
    """Sets an event when idle sessions were released."""

    released: asyncio.Event
    idle: list[str]  # sessions that were released

    async def release_expired(self, *, timeout_seconds: float | None = None) -> int:
        count = await super().release_expired(timeout_seconds=timeout_seconds)
        if count:
            self.released.set()
        return count


@dataclass(slots=True)
class Process:
    """What one process has open."""

    worker: Worker
    runs: RunService
    sessions: SessionManager
    executors: NotifyingExecutors


@dataclass(slots=True)
class Cluster:
    """What all processes share, and what is open."""

    factory: AgentFactory
    data: MemoryData = field(default_factory=MemoryData)
    checkpoints: Checkpoints = field(default_factory=MemoryCheckpoints)
    store: MemoryRunStore = field(init=False)
    model: ScriptedChatModel | None = None

    def __post_init__(self) -> None:
        self.store = MemoryRunStore(self.data)

    @asynccontextmanager
    async def process(self, name: str, **options: Any) -> AsyncGenerator[Process]:
        """A process of that name; it is frozen or dead when its worker is not closed."""
        idle: list[str] = []
        executors = NotifyingExecutors(
            self.factory,
            self.checkpoints,
            on_idle=idle.append,
            timeout_seconds=options.pop("timeout_seconds", 3600.0),
        )
        executors.released, executors.idle = asyncio.Event(), idle
        sessions = SessionManager(
            MemorySessionStore(self.data), MemoryMessageStore(self.data), executors=executors
        )
        ledger = Ledger(self.store)
        ledger.start()
        worker = Worker(
            name,
            self.store,
            executors,
            ledger,
            lambda run: AgentConfig(run.assistant_id, user_id=run.user_id, model=self.model),
            **options,
        )
        try:
            runs = RunService(self.store, sessions, ledger, worker)
            yield Process(worker, runs, sessions, executors)
        finally:
            await worker.aclose(0.2)
            await ledger.aclose()

    async def expire(self, run: Run) -> None:
        """Let the run's lease run out."""
        await self.store.renew(run.lease_owner or "", [run.run_id], now() - LEASE)


async def started(process: Process, message: str) -> Run:
    session = await process.sessions.get_or_create_session("anna", "agent")
    return (await process.runs.start(session.session_id, message, owner="anna")).run


async def seen(process: Process, run: Run, event_type: str) -> AnyEvent:
    async with asyncio.timeout(WAIT_SECONDS):
        async for entry in process.runs.read(run.run_id):
            if entry.event_type == event_type:
                return entry.event
    raise AssertionError(event_type)


async def collect_events(process: Process, run: Run) -> list[AnyEvent]:
    async with asyncio.timeout(WAIT_SECONDS):
        return [entry.event async for entry in process.runs.read(run.run_id)]


class Held(ScriptedChatModel):
    """Streams a chunk, then waits for the test before the next."""

    calls: int = 0
    go_on: asyncio.Event = Field(default_factory=asyncio.Event)
    model_config = ConfigDict(arbitrary_types_allowed=True)

    def _astream(
        self, messages: list[BaseMessage], *_: Any, **__: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.calls += 1
        return self._held(super()._astream(messages))

    async def _held(
        self, chunks: AsyncIterator[ChatGenerationChunk]
    ) -> AsyncIterator[ChatGenerationChunk]:
        async for chunk in chunks:
            yield chunk
            await self.go_on.wait()


async def thread_of(cluster: Cluster, session_id: str) -> list[str]:
    agent, _ = cluster.factory.create_agent(AgentConfig("agent"))
    graph = lg.bind(agent, cluster.checkpoints.saver())
    return [m.text for m in (await lg.snapshot(graph, lg.thread(session_id, 10))).messages]
