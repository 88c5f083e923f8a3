"""Opens a running core from settings: every part is created, connected and closed here.

The server's container and the terminal's `main` open a `Core` and close it; nothing else builds
these objects.
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
    SqlQuotaLedger,
    Sweeper,
    UserWorkspaceManager,
)
from dataagent_core.workspace.manager import WorkspaceSummary
from dataagent_core.workspace.memories import require_own_or_admin
from dataagent_core.workspace.project import Project
from dataagent_core.workspace.undo import Undo

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

    By its `role` it executes the runs it accepts, leaves them to workers, or is a worker. At the
    end runs have `grace_seconds` to finish.

    Raises:
        Misconfigured: a setting is missing or invalid.
        StorageUnavailable: the database does not answer.
    """
    async with AsyncExitStack() as stack:
        settings.ensure_home()
        tune_loop(asyncio.get_running_loop())
        storage = await _open_storage(settings, stack)
        resources = await _open_resources(settings, storage, stack)
        observers, limits = resources.observers, resources.limits
        mcp = McpComponent(
            settings, storage.database, limits.tenancy, observers, is_executing=role != "web"
        )
        factory = _open_factory(settings, resources, mcp.hub, stack)
        agents = await open_agents(
            settings, storage.database, storage.runs, limits.tenancy, factory, stack=stack
        )
        limits.agent_names.set_registry(agents.registry)
        executors = SessionExecutors(
            factory,
            storage.checkpoints,
            on_idle=_release_when_idle(resources.sandboxes, mcp.hub),
            timeout_seconds=settings.session_timeout,
            hitl_timeout_seconds=settings.hitl_timeout,
        )
        sessions = _create_sessions(storage, resources, executors, agents)
        start_retention(sessions, stack, days=settings.deleted_retention_days)
        peers = await open_peers(settings, storage.runs, stack, role=role, name=worker_name())
        agents.share(peers.bus)
        await mcp.open(agents.registry, peers.bus, stack)
        ledger = Ledger(storage.runs, relay=peers.relay)
        worker = _create_worker(
            settings, storage, sessions, executors, ledger, resources, peers, agents, mcp.hub
        )
        release_deleted_sessions(peers.bus, sessions, ledger)
        ledger.start()
        stack.push_async_callback(ledger.aclose)
        is_alone = stack.enter_context(_ProcessLock(settings))
        stack.push_async_callback(worker.aclose, grace_seconds)
        tune_process()
        await worker.start(is_alone=is_alone)
        peers.consume_queue(worker.recovery, stack, lease_seconds=settings.lease_seconds)
        skills = SkillService(factory.skills, agents.registry)
        runs = RunService(
            storage.runs,
            sessions,
            ledger,
            worker,
            limits.admission,
            files=resources.files.store,
            skills=skills,
            agents=agents.registry,
            on_soft_delete=partial(announce_deletion, peers.bus),
        )
        yield Core(
            settings=settings,
            database=storage.database,
            sessions=sessions,
            runs=runs,
            worker=worker,
            workspaces=resources.workspaces,
            factory=factory,
            checkpoints=storage.checkpoints,
            data=resources.data,
            observers=observers,
            limits=limits,
            files=resources.files,
            peers=peers,
            skills=skills,
            agents=agents,
            sandboxes=resources.sandboxes,
            mcp=mcp.hub,
            undo=resources.undo,
        )


# -- storage --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Storage:
    """The database and the stores over it."""

    database: Database
    checkpoints: Checkpoints
    sessions: ConversationStore
    runs: RunStore


async def _open_storage(settings: Settings, stack: AsyncExitStack) -> _Storage:
    kind = settings.store_kind
    pool_size, max_overflow = settings.pool_sizes()
    database = open_database(settings.sql_url(), pool_size=pool_size, max_overflow=max_overflow)
    stack.push_async_callback(database.close)
    await migrate(database)
    checkpoints: Checkpoints = (
        MemoryCheckpoints()
        if kind == "memory"
        else open_checkpoints(database, pool_size=settings.checkpoint_pool_size)
    )
    stack.push_async_callback(checkpoints.close)
    await checkpoints.setup()
    memory = MemoryData() if kind == "memory" else None
    redis = None
    if kind == "redis":
        if settings.redis_url is None:
            raise Misconfigured("DATAAGENT_SESSION_STORE=redis needs DATAAGENT_REDIS_URL.")
        from dataagent_core.storage.redis import open_redis

        redis = open_redis(settings.redis_url.get_secret_value(), prefix=settings.redis_prefix)
        stack.push_async_callback(redis.close)
    sessions = open_session_store(kind, memory=memory, database=database, redis=redis)
    runs = open_run_store(kind, memory=memory, database=database, redis=redis)
    return _Storage(database, checkpoints, sessions, runs)


# -- what runs use --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Resources:
    """What runs use, and what limits and observes them."""

    observers: Observers
    limits: UsageLimits
    workspaces: UserWorkspaceManager
    data: DataRuntime
    files: FileServices
    sandboxes: Sandboxes | None
    undo: Undo


async def _open_resources(
    settings: Settings, storage: _Storage, stack: AsyncExitStack
) -> _Resources:
    database = storage.database
    observers = await open_observers(settings, database, stack)
    limits = _open_limits(settings, database, storage.sessions, stack)
    quota = SqlQuotaLedger(database)
    project = settings.project_dir
    workspaces = UserWorkspaceManager(
        settings.workspaces_dir,
        settings.workspace_quota,
        quota,
        memories_root=settings.home_dir / "memories",
        project=None if project is None else Project(project, settings.home_dir / "undo"),
    )
    stack.push_async_callback(workspaces.aclose)
    data = await open_runtime(
        settings, database, quota, workspaces.quota, stack, watch=observers.query_watch
    )
    workspaces.add_usage_source(data.service.artifacts.usage)
    workspaces.set_quota_lookup(limits.tenancy.known_quota)
    files = _open_files(settings, database, workspaces, data.service, stack)
    sandboxes = await _open_sandboxes(settings, workspaces, observers.metrics, stack)
    undo = Undo(workspaces.project, workspaces.workers)
    return _Resources(observers, limits, workspaces, data, files, sandboxes, undo)


@dataclass(frozen=True, slots=True)
class FileServices:
    """Users' files, open."""

    store: FileStore
    memories: Memories
    sources: UploadedSources
    workspaces: UserWorkspaceManager

    async def workspace(self, user_id: str, *, asked_by: Principal) -> WorkspaceSummary:
        """Sizes and limits of a user's workspace.

        Raises:
            NotFound: the caller is neither the user nor an administrator.
        """
        require_own_or_admin(user_id, asked_by)
        return await self.workspaces.summary(user_id)


def _open_files(
    settings: Settings,
    database: Database,
    workspaces: UserWorkspaceManager,
    data: DataService,
    stack: AsyncExitStack,
) -> FileServices:
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
    """The other names of an agent, once the registry is open."""

    def __init__(self) -> None:
        self._registry: AgentRegistry | None = None

    def set_registry(self, registry: AgentRegistry) -> None:
        """Look agents up here."""
        self._registry = registry

    def __call__(self, name: str) -> Sequence[str]:
        """As `middleware.guard.NamesOf`; an unknown name is its own."""
        found = None if self._registry is None else self._registry.find(name)
        return (name,) if found is None else names_of(found)


@dataclass(frozen=True, slots=True)
class UsageLimits:
    """Tenants, budgets and quotas, open."""

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


def _open_limits(
    settings: Settings, database: Database, sessions: ConversationStore, stack: AsyncExitStack
) -> UsageLimits:
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


async def _open_sandboxes(
    settings: Settings, workspaces: UserWorkspaceManager, metrics: Metrics, stack: AsyncExitStack
) -> Sandboxes | None:
    sandboxes = create_sandboxes(settings, workspaces.ensure_user_workspace, metrics)
    if sandboxes is None:
        return None
    stack.push_async_callback(sandboxes.aclose)
    await require_wall(settings)
    metrics.watch("sandboxes_ready", "Sandboxes that wait for an owner.", lambda: sandboxes.ready)
    metrics.watch("sandboxes_bound", "Sandboxes in use.", lambda: sandboxes.bound)
    return sandboxes


# -- agents, sessions and runs --------------------------------------------------------------


def _open_factory(
    settings: Settings, resources: _Resources, mcp: McpHub, stack: AsyncExitStack
) -> AgentFactory:
    outbound = OutboundClient(allow_private_hosts=settings.allow_private_hosts)
    stack.push_async_callback(outbound.aclose)
    observers, files = resources.observers, resources.files
    tools = builtin_tools(
        ToolContext(
            settings=settings,
            client=outbound,
            documents=DocumentReader(ReadLimits(timeout_seconds=settings.read_timeout)),
            data=resources.data.service,
            charts=resources.data.charts,
            files=files.store,
            sources=files.sources,
            workspaces=resources.workspaces,
            sandboxes=resources.sandboxes,
            watch=observers.code_watch,
        )
    )
    registered = get_all_tools(settings.agent_modules, taken={tool.name for tool in tools})
    factory = AgentFactory(
        settings,
        resources.workspaces,
        tools=[*tools, *registered],
        sandboxes=resources.sandboxes,
        checks=resources.limits.checks,
        observers=observers.of_calls,
        around_models=[*observers.around_models, BudgetMiddleware()],
        mcp=McpTools(mcp.gateway, files.store),
        undo=resources.undo,
    )
    stack.push_async_callback(factory.aclose)
    return factory


def _release_when_idle(sandboxes: Sandboxes | None, mcp: McpHub) -> Callable[[str], None]:
    """Ends what a session that is not in use holds in this process."""

    def release_idle(session_id: str) -> None:
        mcp.release(session_id)
        if sandboxes is not None:
            sandboxes.release_soon(session_id)

    return release_idle


def _create_sessions(
    storage: _Storage, resources: _Resources, executors: SessionExecutors, agents: Agents
) -> SessionManager:
    sandboxes = resources.sandboxes
    cleanup = [] if sandboxes is None else [_SandboxCleanup(sandboxes)]
    return SessionManager(
        storage.sessions,
        executors=executors,
        new_ids="uuid",
        resources=[*cleanup, resources.data.service.artifacts, resources.files.store],
        most_sessions=resources.limits.tenancy.most_sessions,
        quota=resources.limits.conversations,
        assistant_id_of=agents.registry.assistant_id_of,
    )


class _SandboxCleanup:
    """Ends the sandbox of a session that is deleted."""

    def __init__(self, sandboxes: Sandboxes) -> None:
        self._sandboxes = sandboxes

    async def delete_session(self, session_id: str, *, owner: str) -> int:
        """As `session.manager.SessionResources`."""
        await self._sandboxes.release(owner, session_id)
        return 0


def _create_worker(
    settings: Settings,
    storage: _Storage,
    sessions: SessionManager,
    executors: SessionExecutors,
    ledger: Ledger,
    resources: _Resources,
    peers: Peers,
    agents: Agents,
    mcp: McpHub,
) -> Worker:
    observers, budgets = resources.observers, resources.limits.budgets
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
        figures=resources.data.checks,
        accounts=Accounts(storage.database),
        contexts=RunContexts(budgets=budgets, mcp=mcp, sessions=sessions),
        budgets=budgets,
        audit=observers.audit,
        metrics=observers.metrics,
        traces=observers.traces,
    )
    observers.metrics.watch("active_runs", "Runs this process has.", lambda: worker.active)
    return worker


def worker_name() -> str:
    """A name no other process has or had."""
    return f"{socket.gethostname()[:24]}:{os.getpid()}:{uuid.uuid4().hex[:12]}"


class _ProcessLock:
    """The data directory's lock: entering it says whether no other process holds it."""

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
