"""Puts the core together from settings: the one place that knows all its parts.

The server's container and the terminal's `main` open a `Core` and close it; nothing else builds
these objects.

Opens what a process needs for users' files: the files themselves, memories, sources of files.

Starts the sweep that archives unused workspaces and erases unused memories; the stack ends it.

What keeps users within bounds: tenants, budgets, the count of runs; opened with the core.

Opens the sandboxes with the core, watches them, and ends a conversation's with it.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import uuid
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from dataagent_core.agents import AgentRegistry
from dataagent_core.agents.registration import get_all_tools
from dataagent_core.agents.service import names_of
from dataagent_core.app.mcp import McpComponent
from dataagent_core.app.observers import Observers, open_observers
from dataagent_core.config import Settings
from dataagent_core.data.runtime import DataRuntime, open_runtime
from dataagent_core.data.service import DataService
from dataagent_core.data.uploaded_sources import UploadedSources
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
from dataagent_core.engine.executors import SessionExecutors
from dataagent_core.errors import Misconfigured
from dataagent_core.identity import Principal
from dataagent_core.identity.budgets import BudgetLimits, Budgets
from dataagent_core.identity.tenancy import Tenancy
from dataagent_core.identity.usage import UsageRecorder
from dataagent_core.mcp.hub import McpHub
from dataagent_core.middleware import (
    BudgetMiddleware,
    TenantFeatures,
    ToolCallBudget,
    ToolCheck,
)
from dataagent_core.runs.admission import Accounts, Admission
from dataagent_core.runs.agents import Agents, SkillService, agent_config, open_agents
from dataagent_core.runs.cluster.peers import Peers, Role, open_peers
from dataagent_core.runs.contexts import RunContexts
from dataagent_core.runs.deletion import (
    announce_deletion,
    release_deleted_sessions,
    start_retention,
)
from dataagent_core.runs.execution import Worker
from dataagent_core.runs.ledger import Ledger
from dataagent_core.runs.service import RunService
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.stores.factory import open_run_store
from dataagent_core.runs.types import ConcurrencyLimits
from dataagent_core.sandbox import Sandboxes
from dataagent_core.sandbox.factory import create_sandboxes, require_wall
from dataagent_core.session import ConversationStore, SessionManager
from dataagent_core.session.store import ConversationQuota
from dataagent_core.session.stores.factory import open_session_store
from dataagent_core.session.stores.memory import MemoryData
from dataagent_core.storage import Database, open_database
from dataagent_core.storage.background_tasks import cancel_all
from dataagent_core.storage.migrate import migrate
from dataagent_core.telemetry import Metrics
from dataagent_core.tools import OutboundClient, ToolContext, builtin_tools
from dataagent_core.tools.mcp import McpTools
from dataagent_core.workspace import (
    FileStore,
    Memories,
    QuotaLedger,
    SqlQuotaLedger,
    Sweeper,
    UserWorkspaceManager,
)
from dataagent_core.workspace.manager import WorkspaceSummary
from dataagent_core.workspace.memories import require_own_or_admin
from dataagent_core.workspace.project import Project
from dataagent_core.workspace.undo import Undo


@dataclass(frozen=True, slots=True)
class FileServices:
    """Users' files, open."""

    store: FileStore
    memories: Memories
    sources: UploadedSources
    workspaces: UserWorkspaceManager

    async def workspace(self, user_id: str, *, asked_by: Principal) -> WorkspaceSummary:
        """A user's workspace in figures.

        Raises:
            NotFound: the caller is neither the user nor an administrator.
        """
        require_own_or_admin(user_id, asked_by)
        return await self.workspaces.summary(user_id)


def open_workspaces(
    settings: Settings, quota: QuotaLedger, stack: AsyncExitStack
) -> UserWorkspaceManager:
    """Where users' files are; the stack closes it.

    Raises:
        Misconfigured: the settings name a project that is not there.
    """
    folder = settings.project_dir
    workspaces = UserWorkspaceManager(
        settings.workspaces_dir,
        settings.workspace_quota,
        quota,
        memories_root=settings.home_dir / "memories",
        project=None if folder is None else Project(folder, settings.home_dir / "undo"),
    )
    stack.push_async_callback(workspaces.aclose)
    return workspaces


def open_files(
    settings: Settings,
    database: Database,
    workspaces: UserWorkspaceManager,
    data: DataService,
    stack: AsyncExitStack,
) -> FileServices:
    """Open them; the stack closes them."""
    store = FileStore(database, workspaces, max_upload_bytes=settings.max_upload_bytes)
    memories = Memories(workspaces)
    root = settings.home_dir / "sources" / "uploads"
    sources = UploadedSources(data, store, workspaces, root)
    workspaces.add_usage_source(sources.usage)
    store.on_delete(sources.forget_file)
    sweeper = Sweeper(
        workspaces,
        memories,
        archive_days=settings.workspace_archive_days,
        retention_days=settings.memory_retention_days,
    )
    sweeping = asyncio.create_task(sweeper.run(), name="workspaces")
    stack.push_async_callback(cancel_all, [sweeping])
    return FileServices(store, memories, sources, workspaces)


class AgentNames:
    """What else an agent is called, once it is known which there are."""

    def __init__(self) -> None:
        self._registry: AgentRegistry | None = None

    def set_registry(self, registry: AgentRegistry) -> None:
        """These are the agents."""
        self._registry = registry

    def __call__(self, name: str) -> Sequence[str]:
        """As `middleware.guard.NamesOf`; a name that is no agent's is its own."""
        found = None if self._registry is None else self._registry.find(name)
        return (name,) if found is None else names_of(found)


@dataclass(frozen=True, slots=True)
class UsageLimits:
    """What a user, a run and a tenant may have."""

    tenancy: Tenancy
    usage: UsageRecorder
    budgets: Budgets
    admission: Admission
    conversations: ConversationQuota
    agent_names: AgentNames = field(default_factory=AgentNames)

    @property
    def checks(self) -> list[ToolCheck]:
        """Checks of each tool call. Any run may come with a budget of its own."""
        features = [TenantFeatures(self.tenancy, self.agent_names)] if self.tenancy.is_on else []
        return [*features, ToolCallBudget()]


def open_limits(
    settings: Settings, database: Database, sessions: ConversationStore, stack: AsyncExitStack
) -> UsageLimits:
    """Open them; the stack closes them, which has to be after the last run."""
    tenancy = Tenancy(database, is_on=settings.multi_tenant)
    usage = UsageRecorder(database)
    usage.start()
    stack.push_async_callback(usage.aclose)
    budgets = Budgets(
        usage,
        per_run=BudgetLimits(
            tokens=settings.run_max_tokens,
            tool_calls=settings.run_max_tool_calls,
            sql_seconds=settings.run_max_sql_seconds,
        ),
        per_day=BudgetLimits(
            tokens=settings.user_daily_tokens,
            tool_calls=settings.user_daily_tool_calls,
            sql_seconds=settings.user_daily_sql_seconds,
            wall_seconds=settings.user_daily_wall_seconds,
        ),
    )
    limits = ConcurrencyLimits(
        max_per_user=settings.max_runs_per_user, max_queued=settings.max_queued_runs
    )
    conversations = ConversationQuota(sessions, settings.conversation_quota)
    admission = Admission(
        budgets,
        tenancy,
        limits,
        conversations=conversations,
        is_alone=settings.redis_url is None,
    )
    return UsageLimits(tenancy, usage, budgets, admission, conversations)


async def open_sandboxes(
    settings: Settings, workspaces: UserWorkspaceManager, metrics: Metrics, stack: AsyncExitStack
) -> Sandboxes | None:
    """The sandboxes the settings ask for; the stack ends them.

    Raises:
        Misconfigured: a wall that is asked for by name cannot be built here.
    """

    def workspace_of(user_id: str) -> Path:
        return workspaces.ensure_user_workspace(user_id)

    sandboxes = create_sandboxes(settings, workspace_of, metrics)
    if sandboxes is None:
        return None
    stack.push_async_callback(sandboxes.aclose)
    await require_wall(settings)
    metrics.watch("sandboxes_ready", "Sandboxes that wait for an owner.", lambda: sandboxes.ready)
    metrics.watch("sandboxes_bound", "Sandboxes in use.", lambda: sandboxes.bound)
    return sandboxes


class SandboxCleanup:
    """What a session that is deleted, put away or not used any more leaves running: nothing."""

    def __init__(self, sandboxes: Sandboxes) -> None:
        self._sandboxes = sandboxes

    async def delete_session(self, session_id: str, *, owner: str) -> int:
        """As `session.manager.Belongings`."""
        await self._sandboxes.release(owner, session_id)
        return 0

    def release_idle(self, session_id: str) -> None:
        """The session was not used for long: its sandbox ends soon."""
        self._sandboxes.release_soon(session_id)


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
    data: DataRuntime
    observers: Observers
    limits: UsageLimits
    files: FileServices
    peers: Peers
    skills: SkillService
    agents: Agents
    sandboxes: Sandboxes | None
    mcp: McpHub
    undo: Undo


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
        components = await _open_components(settings, storage, stack)
        mcp = _mcp(settings, storage.database, components, role)
        factory = _factory(settings, components, stack, mcp=mcp.hub)
        agents = await _agents(settings, storage, components, factory, stack)
        executors = SessionExecutors(
            factory,
            storage.checkpoints,
            on_idle=_release_when_idle(components, mcp),
            timeout_seconds=settings.session_timeout,
            hitl_timeout_seconds=settings.hitl_timeout,
        )
        sessions = _sessions(settings, storage, components, executors, stack, agents=agents)
        peers = await open_peers(settings, storage.runs, stack, role=role, name=worker_name())
        agents.share(peers.bus)
        await mcp.open(agents.registry, peers.bus, stack)
        ledger, worker = _worker(
            settings,
            storage,
            sessions,
            executors,
            components,
            peers=peers,
            agents=agents,
            mcp=mcp.hub,
        )
        release_deleted_sessions(peers.bus, sessions, ledger)
        await _begin(settings, ledger, worker, peers, stack, grace_seconds=grace_seconds)
        skills = SkillService(factory.skills, agents.registry)
        runs = RunService(
            storage.runs,
            sessions,
            ledger,
            worker,
            components.limits.admission,
            files=components.files.store,
            skills=skills,
            agents=agents.registry,
            on_soft_delete=partial(announce_deletion, peers.bus),
        )
        parts = (components.workspaces, factory, storage.checkpoints, components.data)
        watched = (components.observers, components.limits, components.files, peers, skills, agents)
        beside = (*parts, *watched, components.sandboxes, mcp.hub, components.undo)
        yield Core(settings, storage.database, sessions, runs, worker, *beside)


async def _begin(
    settings: Settings,
    ledger: Ledger,
    worker: Worker,
    peers: Peers,
    stack: AsyncExitStack,
    *,
    grace_seconds: float,
) -> None:
    """Take up the runs that are this process's to execute; the stack ends it."""
    ledger.start()
    stack.push_async_callback(ledger.aclose)
    is_alone = stack.enter_context(_ProcessLock(settings))
    stack.push_async_callback(worker.aclose, grace_seconds)
    tune_process()
    await worker.start(is_alone=is_alone)
    peers.consume_queue(worker.recovery, stack, lease_seconds=settings.lease_seconds)


@dataclass(frozen=True, slots=True)
class _Storage:
    """Where things are kept."""

    database: Database
    checkpoints: Checkpoints
    sessions: ConversationStore
    runs: RunStore


async def _open_storage(settings: Settings, stack: AsyncExitStack) -> _Storage:
    database = await _database(settings, stack)
    checkpoints = await _checkpoints(settings, database, stack)
    return _Storage(database, checkpoints, *await _stores(settings, database, stack))


@dataclass(frozen=True, slots=True)
class _Components:
    """What agents and users have beside the runs."""

    observers: Observers
    limits: UsageLimits
    workspaces: UserWorkspaceManager
    data: DataRuntime
    files: FileServices
    sandboxes: Sandboxes | None
    undo: Undo


async def _open_components(
    settings: Settings, storage: _Storage, stack: AsyncExitStack
) -> _Components:
    database = storage.database
    observers = await open_observers(settings, database, stack)
    limits = open_limits(settings, database, storage.sessions, stack)
    quota = SqlQuotaLedger(database)
    workspaces = open_workspaces(settings, quota, stack)
    data = await open_runtime(
        settings, database, quota, workspaces.quota, stack, watch=observers.query_watch
    )
    workspaces.add_usage_source(data.service.artifacts.usage)
    workspaces.set_quota_lookup(limits.tenancy.known_quota)
    files = open_files(settings, database, workspaces, data.service, stack)
    sandboxes = await open_sandboxes(settings, workspaces, observers.metrics, stack)
    undo = Undo(workspaces.project, workspaces.workers)
    return _Components(observers, limits, workspaces, data, files, sandboxes, undo)


def _sessions(
    settings: Settings,
    storage: _Storage,
    components: _Components,
    executors: SessionExecutors,
    stack: AsyncExitStack,
    *,
    agents: Agents,
) -> SessionManager:
    sessions = SessionManager(
        storage.sessions,
        executors=executors,
        new_ids="uuid",
        resources=[
            *_sandbox_cleanup(components),
            components.data.service.artifacts,
            components.files.store,
        ],
        most_sessions=components.limits.tenancy.most_sessions,
        quota=components.limits.conversations,
        assistant_id_of=agents.registry.assistant_id_of,
    )
    start_retention(sessions, stack, days=settings.deleted_retention_days)
    return sessions


def _release_when_idle(components: _Components, mcp: McpComponent) -> Callable[[str], None]:
    """What ends with the use of a session, in this process."""

    def release_idle(session_id: str) -> None:
        mcp.hub.release(session_id)
        for cleanup in _sandbox_cleanup(components):
            cleanup.release_idle(session_id)

    return release_idle


def _sandbox_cleanup(components: _Components) -> list[SandboxCleanup]:
    return [] if components.sandboxes is None else [SandboxCleanup(components.sandboxes)]


def _worker(
    settings: Settings,
    storage: _Storage,
    sessions: SessionManager,
    executors: SessionExecutors,
    components: _Components,
    *,
    peers: Peers,
    agents: Agents,
    mcp: McpHub,
) -> tuple[Ledger, Worker]:
    observers, budgets = components.observers, components.limits.budgets
    ledger = Ledger(storage.runs, relay=peers.relay)
    worker = Worker(
        peers.name,
        storage.runs,
        executors,
        ledger,
        lambda run: agent_config(settings, run, agents.registry),
        queue=peers.worker_queue,
        lease_seconds=settings.lease_seconds,
        hitl_timeout_seconds=settings.hitl_timeout,
        worker_role=peers.worker_role,
        control=peers.control,
        figures=components.data.checks,
        accounts=Accounts(storage.database),
        contexts=RunContexts(budgets=budgets, mcp=mcp, sessions=sessions),
        budgets=budgets,
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
    pool_size, max_overflow = settings.pool_sizes()
    database = open_database(settings.sql_url(), pool_size=pool_size, max_overflow=max_overflow)
    stack.push_async_callback(database.close)
    await migrate(database)
    return database


def _mcp(
    settings: Settings, database: Database, components: _Components, role: Role
) -> McpComponent:
    tenancy, observers = components.limits.tenancy, components.observers
    return McpComponent(settings, database, tenancy, observers, is_executing=role != "web")


def _factory(
    settings: Settings, components: _Components, stack: AsyncExitStack, *, mcp: McpHub
) -> AgentFactory:
    outbound = OutboundClient(allow_private_hosts=settings.allow_private_hosts)
    stack.push_async_callback(outbound.aclose)
    documents = DocumentReader(ReadLimits(timeout_seconds=settings.read_timeout))
    observers = components.observers
    given = ToolContext(
        settings=settings,
        client=outbound,
        documents=documents,
        data=components.data.service,
        charts=components.data.charts,
        files=components.files.store,
        sources=components.files.sources,
        workspaces=components.workspaces,
        sandboxes=components.sandboxes,
        watch=observers.code_watch,
    )
    ours = builtin_tools(given)
    taken = {tool.name for tool in ours}
    factory = AgentFactory(
        settings,
        components.workspaces,
        tools=[*ours, *get_all_tools(settings.agent_modules, taken=taken)],
        sandboxes=components.sandboxes,
        checks=components.limits.checks,
        observers=observers.of_calls,
        around_models=[*observers.around_models, BudgetMiddleware()],
        mcp=McpTools(mcp.gateway, components.files.store),
        undo=components.undo,
    )
    stack.push_async_callback(factory.aclose)
    return factory


async def _agents(
    settings: Settings,
    storage: _Storage,
    components: _Components,
    factory: AgentFactory,
    stack: AsyncExitStack,
) -> Agents:
    tenancy = components.limits.tenancy
    agents = await open_agents(
        settings, storage.database, storage.runs, tenancy, factory, stack=stack
    )
    components.limits.agent_names.set_registry(agents.registry)
    return agents


async def _checkpoints(
    settings: Settings, database: Database, stack: AsyncExitStack
) -> Checkpoints:
    checkpoints: Checkpoints = (
        MemoryCheckpoints()
        if settings.store_kind == "memory"
        else open_checkpoints(database, pool_size=settings.checkpoint_pool_size)
    )
    stack.push_async_callback(checkpoints.close)
    await checkpoints.setup()
    return checkpoints


async def _stores(
    settings: Settings, database: Database, stack: AsyncExitStack
) -> tuple[ConversationStore, RunStore]:
    kind = settings.store_kind
    memory = MemoryData() if kind == "memory" else None
    redis = None
    if kind == "redis":
        if settings.redis_url is None:
            raise Misconfigured("DATAAGENT_SESSION_STORE=redis needs DATAAGENT_REDIS_URL.")
        from dataagent_core.storage.redis import open_redis

        redis = open_redis(settings.redis_url.get_secret_value(), prefix=settings.redis_prefix)
        stack.push_async_callback(redis.close)
    sessions = open_session_store(kind, memory=memory, database=database, redis=redis)
    return sessions, open_run_store(kind, memory=memory, database=database, redis=redis)


class _ProcessLock:
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
