"""Puts the core together from settings: the one place that knows all its parts.

The server's container and the terminal's `main` open a `Core` and close it; nothing else builds
these objects.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import uuid
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from dataagent_core.config import Settings
from dataagent_core.data.room import Data, open_data
from dataagent_core.documents import ReadLimits
from dataagent_core.documents.reader import DocumentReader
from dataagent_core.engine import (
    AgentFactory,
    Checkpoints,
    MemoryCheckpoints,
    open_checkpoints,
    tune_loop,
    tune_process,
)
from dataagent_core.errors import Misconfigured
from dataagent_core.runs.agents import Agents, agent_config, open_agents
from dataagent_core.runs.files import Files, open_files
from dataagent_core.runs.ledger import Ledger
from dataagent_core.runs.limits import Limits, open_limits
from dataagent_core.runs.observers import Observers, open_observers
from dataagent_core.runs.peers import Peers, Role, open_peers
from dataagent_core.runs.retention import start_erasing
from dataagent_core.runs.sandbox import SandboxEnds, open_sandboxes
from dataagent_core.runs.service import RunService
from dataagent_core.runs.skills import Skills
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.stores.factory import open_run_store
from dataagent_core.runs.worker import Worker
from dataagent_core.sandbox import Sandboxes
from dataagent_core.session import SessionManager
from dataagent_core.session.stores.factory import SessionStoreFactory, SessionStores
from dataagent_core.session.stores.memory import MemoryData
from dataagent_core.storage import Database, open_database
from dataagent_core.storage.migrate import migrate
from dataagent_core.storage.redis import open_redis
from dataagent_core.tools import OutboundClient, builtin_tools
from dataagent_core.tools.python import python_tools
from dataagent_core.tools.read_file import file_tools
from dataagent_core.tools.sql import data_tools
from dataagent_core.workspace import QuotaLedger, SqlQuotaLedger, UserWorkspaceManager

GRACE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Core:
    """An open core."""

    settings: Settings
    database: Database
    sessions: SessionManager
    runs: RunService
    worker: Worker
    workspaces: UserWorkspaceManager
    factory: AgentFactory
    checkpoints: Checkpoints
    data: Data
    observers: Observers
    limits: Limits
    files: Files
    peers: Peers
    skills: Skills
    agents: Agents
    sandboxes: Sandboxes | None


@asynccontextmanager
async def open_core(
    settings: Settings, *, role: Role = "all", grace_seconds: float = GRACE_SECONDS
) -> AsyncGenerator[Core]:
    """Open everything a process needs to run agents; close it in order at the end.

    By its `role` it executes what it accepts, leaves that to workers, or is one of them.

    Raises:
        Misconfigured: a setting is missing or makes no sense.
        StorageUnavailable: the database does not answer.
    """
    async with AsyncExitStack() as stack:
        settings.ensure_home()
        tune_loop(asyncio.get_running_loop())
        storage = await _open_storage(settings, stack)
        rooms = await _open_rooms(settings, storage.database, stack)
        factory = _factory(settings, rooms, stack)
        agents = await _agents(settings, storage, rooms, factory, stack)
        sessions = _sessions(settings, storage, rooms, factory, stack, agents=agents)
        peers = await open_peers(settings, storage.runs, stack, role=role, name=worker_name())
        agents.share(peers.bus)
        ledger, worker = _worker(
            settings, storage.runs, sessions, rooms, peers=peers, agents=agents
        )
        ledger.start()
        stack.push_async_callback(ledger.aclose)
        is_alone = stack.enter_context(_hold(settings))
        stack.push_async_callback(worker.aclose, grace_seconds)
        tune_process()
        await worker.start(is_alone=is_alone)
        peers.work(worker, stack, lease_seconds=settings.lease_seconds)
        skills = Skills(factory.skills, agents.registry)
        runs = RunService(
            storage.runs,
            sessions,
            ledger,
            worker,
            rooms.limits.admission,
            files=rooms.files.store,
            dispatch=peers.dispatch(storage.runs, worker),
            skills=skills,
            agents=agents.registry,
        )
        parts = (rooms.workspaces, factory, storage.checkpoints, rooms.data)
        watched = (rooms.observers, rooms.limits, rooms.files, peers, skills, agents)
        beside = (*parts, *watched, rooms.sandboxes)
        yield Core(settings, storage.database, sessions, runs, worker, *beside)


@dataclass(frozen=True, slots=True)
class _Storage:
    """Where things are kept."""

    database: Database
    checkpoints: Checkpoints
    sessions: SessionStores
    runs: RunStore


async def _open_storage(settings: Settings, stack: AsyncExitStack) -> _Storage:
    database = await _database(settings, stack)
    checkpoints = await _checkpoints(settings, database, stack)
    return _Storage(database, checkpoints, *await _stores(settings, database, stack))


@dataclass(frozen=True, slots=True)
class _Rooms:
    """What agents and users have beside the runs."""

    observers: Observers
    limits: Limits
    workspaces: UserWorkspaceManager
    data: Data
    files: Files
    sandboxes: Sandboxes | None


async def _open_rooms(settings: Settings, database: Database, stack: AsyncExitStack) -> _Rooms:
    observers = await open_observers(settings, database, stack)
    limits = open_limits(settings, database, stack)
    quota = SqlQuotaLedger(database)
    workspaces = _workspaces(settings, quota, stack)
    data = await open_data(
        settings, database, quota, workspaces.quota, stack, watch=observers.of_queries
    )
    workspaces.count_beside(data.service.artifacts.usage)
    workspaces.ask_quota(limits.tenancy.known_quota)
    files = open_files(settings, database, workspaces, data.service, stack)
    sandboxes = await open_sandboxes(settings, workspaces, observers.metrics, stack)
    return _Rooms(observers, limits, workspaces, data, files, sandboxes)


def _sessions(
    settings: Settings,
    storage: _Storage,
    rooms: _Rooms,
    factory: AgentFactory,
    stack: AsyncExitStack,
    *,
    agents: Agents,
) -> SessionManager:
    sessions = SessionManager(
        storage.sessions.sessions,
        storage.sessions.messages,
        factory=factory,
        checkpoints=storage.checkpoints,
        belongings=[*_sandbox_ends(rooms), rooms.data.service.artifacts, rooms.files.store],
        most_sessions=rooms.limits.tenancy.most_sessions,
        assistant_id_of=agents.registry.assistant_id_of,
        timeout_seconds=settings.session_timeout,
        hitl_timeout_seconds=settings.hitl_timeout,
    )
    start_erasing(sessions, stack, days=settings.deleted_retention_days)
    return sessions


def _sandbox_ends(rooms: _Rooms) -> list[SandboxEnds]:
    return [] if rooms.sandboxes is None else [SandboxEnds(rooms.sandboxes)]


def _worker(
    settings: Settings,
    run_store: RunStore,
    sessions: SessionManager,
    rooms: _Rooms,
    *,
    peers: Peers,
    agents: Agents,
) -> tuple[Ledger, Worker]:
    observers = rooms.observers
    ledger = Ledger(run_store, relay=peers.relay)
    worker = Worker(
        peers.name,
        run_store,
        sessions,
        ledger,
        lambda run: agent_config(settings, run, agents.registry),
        lease_seconds=settings.lease_seconds,
        duty=peers.duty,
        control=peers.control,
        figures=rooms.data.checks,
        budgets=rooms.limits.budgets,
        audit=observers.audit,
        metrics=observers.metrics,
        traces=observers.traces,
    )
    observers.metrics.watch("active_runs", "Runs this process has.", lambda: worker.active)
    return ledger, worker


def worker_name() -> str:
    """A name no other process has or had."""
    return f"{socket.gethostname()[:24]}:{os.getpid()}:{uuid.uuid4().hex[:12]}"


async def _database(settings: Settings, stack: AsyncExitStack) -> Database:
    database = open_database(
        settings.sql_url(),
        pool_size=settings.db_pool_size,
        max_overflow=settings.db_max_overflow,
    )
    stack.push_async_callback(database.close)
    await migrate(database)
    return database


def _workspaces(
    settings: Settings, quota: QuotaLedger, stack: AsyncExitStack
) -> UserWorkspaceManager:
    workspaces = UserWorkspaceManager(
        settings.workspaces_dir,
        settings.workspace_quota,
        quota,
        memories_root=settings.home_dir / "memories",
    )
    stack.push_async_callback(workspaces.aclose)
    return workspaces


def _factory(settings: Settings, rooms: _Rooms, stack: AsyncExitStack) -> AgentFactory:
    outbound = OutboundClient(allow_private_hosts=settings.allow_private_hosts)
    stack.push_async_callback(outbound.aclose)
    documents = DocumentReader(ReadLimits(timeout_seconds=settings.read_timeout))
    data, observers, files = rooms.data, rooms.observers, rooms.files
    factory = AgentFactory(
        settings,
        rooms.workspaces,
        tools=[
            *builtin_tools(settings, outbound, documents),
            *data_tools(data.service, data.charts),
            *file_tools(files.store, rooms.workspaces, documents, files.sources, data.service),
            *python_tools(rooms.sandboxes, files.store, observers.of_code),
        ],
        sandboxes=rooms.sandboxes,
        around_tools=observers.around_tools,
        around_calls=[*observers.around_calls, *rooms.limits.around_calls],
        on_denied=observers.tool_denied,
    )
    stack.push_async_callback(factory.aclose)
    return factory


async def _agents(
    settings: Settings,
    storage: _Storage,
    rooms: _Rooms,
    factory: AgentFactory,
    stack: AsyncExitStack,
) -> Agents:
    tenancy = rooms.limits.tenancy
    return await open_agents(
        settings, storage.database, storage.runs, tenancy, factory, stack=stack
    )


async def _checkpoints(
    settings: Settings, database: Database, stack: AsyncExitStack
) -> Checkpoints:
    checkpoints: Checkpoints = (
        MemoryCheckpoints()
        if settings.store_kind == "memory"
        else open_checkpoints(database, pool_size=settings.db_pool_size)
    )
    stack.push_async_callback(checkpoints.close)
    await checkpoints.setup()
    return checkpoints


async def _stores(
    settings: Settings, database: Database, stack: AsyncExitStack
) -> tuple[SessionStores, RunStore]:
    kind = settings.store_kind
    memory = MemoryData() if kind == "memory" else None
    redis = None
    if kind == "redis":
        if settings.redis_url is None:
            raise Misconfigured("DATAAGENT_SESSION_STORE=redis needs DATAAGENT_REDIS_URL.")
        redis = open_redis(settings.redis_url.get_secret_value(), prefix=settings.redis_prefix)
        stack.push_async_callback(redis.close)
    stores = SessionStoreFactory.create(kind, memory=memory, database=database, redis=redis)
    return stores, open_run_store(kind, memory=memory, database=database, redis=redis)


class _hold:  # noqa: N801 reads as a function
    """Holds the data directory's lock while open; tells whether no other process has it."""

    def __init__(self, settings: Settings) -> None:
        self._is_local = settings.store_kind in ("sqlite", "memory")
        self._path: Path = settings.home_dir / "process.lock"
        self._descriptor = -1

    def __enter__(self) -> bool:
        if not self._is_local:
            return False
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def __exit__(self, *_: object) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
