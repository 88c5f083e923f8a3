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

from dataagent_core.agents import builtin_agent
from dataagent_core.config import Settings
from dataagent_core.engine import (
    AgentConfig,
    AgentFactory,
    Checkpoints,
    MemoryCheckpoints,
    open_checkpoints,
    tune_loop,
    tune_process,
)
from dataagent_core.errors import Misconfigured
from dataagent_core.runs.data import Data, open_data
from dataagent_core.runs.ledger import Ledger
from dataagent_core.runs.service import RunService
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.stores.factory import open_run_store
from dataagent_core.runs.types import Run
from dataagent_core.runs.worker import Worker
from dataagent_core.session import SessionManager
from dataagent_core.session.stores.factory import SessionStoreFactory, SessionStores
from dataagent_core.session.stores.memory import MemoryData
from dataagent_core.storage import Database, open_database
from dataagent_core.storage.migrate import migrate
from dataagent_core.storage.redis import open_redis
from dataagent_core.tools import OutboundClient, builtin_tools
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


@asynccontextmanager
async def open_core(
    settings: Settings, *, grace_seconds: float = GRACE_SECONDS
) -> AsyncGenerator[Core]:
    """Open everything a process needs to run agents; close it in order at the end.

    Raises:
        Misconfigured: a setting is missing or makes no sense.
        StorageUnavailable: the database does not answer.
    """
    async with AsyncExitStack() as stack:
        settings.ensure_home()
        tune_loop(asyncio.get_running_loop())
        database = await _database(settings, stack)
        checkpoints = await _checkpoints(settings, database, stack)
        stores, run_store = await _stores(settings, database, stack)
        quota = SqlQuotaLedger(database)
        workspaces = _workspaces(settings, quota, stack)
        data = await open_data(settings, database, workspaces, quota, stack)
        factory = _factory(settings, workspaces, data, stack)
        sessions = _sessions(settings, stores, factory, checkpoints)
        ledger = Ledger(run_store)
        ledger.start()
        stack.push_async_callback(ledger.aclose)
        worker = Worker(
            worker_name(),
            run_store,
            sessions,
            ledger,
            lambda run: agent_config(settings, run),
            lease_seconds=settings.lease_seconds,
            figures=data.checks,
        )
        is_alone = stack.enter_context(_hold(settings))
        stack.push_async_callback(worker.aclose, grace_seconds)
        tune_process()
        await worker.start(is_alone=is_alone)
        runs = RunService(run_store, sessions, ledger, worker)
        yield Core(
            settings, database, sessions, runs, worker, workspaces, factory, checkpoints, data
        )


def _sessions(
    settings: Settings, stores: SessionStores, factory: AgentFactory, checkpoints: Checkpoints
) -> SessionManager:
    return SessionManager(
        stores.sessions,
        stores.messages,
        factory=factory,
        checkpoints=checkpoints,
        timeout_seconds=settings.session_timeout,
        hitl_timeout_seconds=settings.hitl_timeout,
    )


def agent_config(settings: Settings, run: Run) -> AgentConfig:
    """The agent that answers a run."""
    known = builtin_agent(run.assistant_id)
    return AgentConfig(
        assistant_id=run.assistant_id,
        system_prompt=known.system_prompt if known else None,
        user_id=run.user_id,
        enable_shell=settings.enable_shell,
        auto_approve=settings.auto_approve,
        recursion_limit=settings.recursion_limit,
        timeout=settings.run_timeout,
    )


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
    stack.callback(workspaces.close)
    return workspaces


def _factory(
    settings: Settings, workspaces: UserWorkspaceManager, data: Data, stack: AsyncExitStack
) -> AgentFactory:
    outbound = OutboundClient(allow_private_hosts=settings.allow_private_hosts)
    stack.push_async_callback(outbound.aclose)
    tools = [*builtin_tools(settings, outbound), *data.tools]
    factory = AgentFactory(settings, workspaces, tools=tools)
    stack.push_async_callback(factory.aclose)
    return factory


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
        redis = open_redis(settings.redis_url.get_secret_value())
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
