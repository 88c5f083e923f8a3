"""Builds an `AgentConfig` into a compiled graph and its backend, each once.

Graphs know no user: whose files, memory and rules apply comes with each run as a `RunContext`, and
what a run does not say stands in the agent (`agent.py`). A factory uses the resources it is given;
those it opens itself it also closes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from deepagents import (
    CompiledSubAgent,
    SubAgent,
    create_deep_agent,  # pyright: ignore[reportUnknownVariableType] generic over any state
)
from deepagents.backends import CompositeBackend, StateBackend
from deepagents.backends.protocol import BackendProtocol, ExecuteResponse, SandboxBackendProtocol
from deepagents.middleware.filesystem import supports_execution
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool

from dataagent_core.agents.types import GENERAL, GENERAL_ALIAS
from dataagent_core.config import Settings
from dataagent_core.engine.agent import Agent, RunDefaults
from dataagent_core.engine.config import AgentConfig, SubAgentConfig, define
from dataagent_core.engine.graph import Graph
from dataagent_core.engine.supervisor import RoutableAgent, build_supervisor
from dataagent_core.errors import Misconfigured
from dataagent_core.identity import RunContext
from dataagent_core.middleware import (
    CODE_TOOLS,
    MEMORY_PATH,
    AgentMemoryMiddleware,
    ApprovalRules,
    ApprovalsMiddleware,
    BoundTools,
    CallObserver,
    CodeChanges,
    ConfiguredMcp,
    FileOperations,
    FileToolsMiddleware,
    McpAccess,
    NoParentNotifier,
    PatchToolCalls,
    PlainContent,
    ProjectMiddleware,
    RunRulesCheck,
    ShellMiddleware,
    SingleTodoList,
    SkillsMiddleware,
    TodoList,
    TokenCounter,
    ToolCheck,
    ToolGuard,
    ToolObserver,
    ToolSource,
    gated_tools,
    preview,
    summarization,
)
from dataagent_core.middleware.upstream import Summarization, untraced_hooks, use_fast_reducer
from dataagent_core.models.factory import close_model
from dataagent_core.models.merge import with_answer_stream
from dataagent_core.sandbox import LocalRunner, Sandboxes
from dataagent_core.sandbox.factory import create_sandboxes
from dataagent_core.sandbox.local import LocalShells
from dataagent_core.skills import SkillLibrary, skill_folders
from dataagent_core.tools import OutboundClient, ToolContext, builtin_tools
from dataagent_core.tools.mcp import McpTools
from dataagent_core.tools.python import unkept_note
from dataagent_core.workspace import (
    MemoriesBackend,
    UserWorkspaceManager,
    WorkspaceBackend,
    run_context,
)
from dataagent_core.workspace.graph_backends import ThreadFiles
from dataagent_core.workspace.project import Project
from dataagent_core.workspace.undo import Undo


class SandboxedWorkspace(WorkspaceBackend, SandboxBackendProtocol):
    """The workspace of the run's user, with commands that run in the conversation's sandbox.

    File tools act on the workspace itself, with its quota and its approvals; `execute` runs where
    `execute_python` does, and sees the same files below `/workspace`.
    """

    def __init__(self, manager: UserWorkspaceManager, sandboxes: Sandboxes) -> None:
        super().__init__(manager)
        self._sandboxes = sandboxes

    @property
    def id(self) -> str:
        """The same for all users: the run decides whose sandbox it is."""
        return "sandbox"

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """As `SandboxBackendProtocol.aexecute`, in the sandbox of the run's conversation."""
        context = run_context()
        session = await self._sandboxes.session(
            context.user_id, context.session_id, sandbox_id=context.sandbox_id
        )
        response = await session.aexecute(command, timeout=timeout)
        uncommitted = unkept_note(session.uncommitted)
        return (
            replace(response, output=f"{response.output}\n{uncommitted}")
            if uncommitted
            else response
        )

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Not available: the sandbox runs on the event loop."""
        raise Misconfigured("Commands run asynchronously; call the agent with ainvoke.")


Middleware = AgentMiddleware[Any, Any, Any]
ARTIFACTS_ROOT = "/.agent"
MEMORIES_ROUTE = "/memories/"
MAIN_AGENT = "main"
_MAX_GRAPHS = 64
_MAX_AGENTS = 512
_MEMORY: Final = MEMORY_PATH.removeprefix(MEMORIES_ROUTE)
_OTHER_NAMES: Final = {GENERAL: GENERAL_ALIAS, GENERAL_ALIAS: GENERAL}
_SANDBOX_ALIASES: Final = {"bubblewrap": "bwrap"}
"""Other names of sandboxes."""

SYSTEM_PROMPT = """You are DataAgent, an assistant that works with a company's data.
Never invent a number: say where each figure comes from, and when something was cut or failed."""
_FOLDERS = "Files you work with are in your workspace: files/, uploads/ and outputs/."


@dataclass(frozen=True, slots=True)
class _AgentResources:
    """The workspaces, skills and sandboxes of an agent."""

    workspaces: UserWorkspaceManager
    skills: SkillLibrary
    undo: Undo
    sandboxes: Sandboxes | None


@dataclass(frozen=True, slots=True)
class _BuiltAgent:
    config: AgentConfig  # keeps alive the objects whose ids are in its key
    graph: Graph
    backend: CompositeBackend
    middleware: tuple[Middleware, ...]


class AgentFactory:
    """Builds agents and caches them by their definition.

    Close it (`async with AgentFactory() as factory`) unless the program ends anyway.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        workspaces: UserWorkspaceManager | None = None,
        *,
        tools: Sequence[BaseTool] | None = None,
        checks: Sequence[ToolCheck] = (),
        observers: Sequence[CallObserver] = (),
        around_models: Sequence[Middleware] = (),
        skills: SkillLibrary | None = None,
        sandboxes: Sandboxes | None = None,
        mcp: McpTools | None = None,
        undo: Undo | None = None,
    ) -> None:
        """Without `settings` those of the environment apply, without `workspaces` those they name.

        `tools` are given to every agent that is bound to them, beside its own; unless given, the
        built-in ones that need nothing but settings. `checks` are made of each tool call beside the
        agent's own, `observers` see each call, `around_models` wraps calls of models. With
        `sandboxes` agents can execute commands in them, with `mcp` use the tools of MCP servers.
        `undo` records their changes in a project.
        """
        self._settings = settings or Settings()
        self._owns_workspaces = workspaces is None
        self._close_callbacks: list[Callable[[], Awaitable[object]]] = []
        self._workspaces = workspaces or self._own_workspaces()
        self._tools = self._builtin_tools() if tools is None else list(tools)
        self._checks = tuple(checks)
        self._observers = tuple(observers)
        self._around_models = tuple(around_models)
        self._skills = skills
        self._sandboxes = sandboxes
        self._mcp = mcp
        self._undo = undo
        self._counter = TokenCounter()
        self._local_shells = LocalShells(LocalRunner(home=self._settings.shell_home))
        self._models: dict[str, BaseChatModel] = {}  # by name; each has connections of its own
        self._parts: dict[tuple[Path | None, str | None], _AgentResources] = {}
        self._built: OrderedDict[tuple[Any, ...], _BuiltAgent] = OrderedDict()
        self._agents: OrderedDict[tuple[Any, ...], Agent] = OrderedDict()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()

    def create_agent(self, config: AgentConfig) -> tuple[Agent, CompositeBackend]:
        """The compiled agent and its backend; the same definition gets the same objects.

        Definitions that differ only in whom the agent runs for share one graph.

        Raises:
            Misconfigured: the model or the sandbox is not available.
        """
        key, defaults = config.cache_key(), RunDefaults.of(config)
        built = self._get_or_build(config)
        agent = self._agents.get((key, defaults))
        if agent is None or agent.nodes is not built.graph.nodes:
            agent = Agent.of(built.graph, built.middleware, defaults)
            self._agents[key, defaults] = agent
            while len(self._agents) > _MAX_AGENTS:
                self._agents.popitem(last=False)
        self._agents.move_to_end((key, defaults))
        return agent, built.backend

    def _get_or_build(self, config: AgentConfig) -> _BuiltAgent:
        key = config.cache_key()
        built = self._built.get(key)
        if built is None:
            built = self._built[key] = self._build(config)
            while len(self._built) > _MAX_GRAPHS:
                self._built.popitem(last=False)
        self._built.move_to_end(key)
        return built

    # -- resources ------------------------------------------------------------------------------

    def _own_workspaces(self) -> UserWorkspaceManager:
        """The workspaces the settings name, as a server opens them."""
        settings, folder = self._settings, self._settings.project_dir
        own = UserWorkspaceManager(
            settings.workspaces_dir,
            settings.workspace_quota,
            memories_root=settings.home_dir / "memories",
            project=None if folder is None else Project(folder, settings.home_dir / "undo"),
        )
        self._close_callbacks.append(own.aclose)
        return own

    def _builtin_tools(self) -> list[BaseTool]:
        """The built-in tools that need settings alone."""
        client = OutboundClient(allow_private_hosts=self._settings.allow_private_hosts)
        self._close_callbacks.append(client.aclose)
        return builtin_tools(ToolContext(settings=self._settings, client=client))

    def _parts_of(self, config: AgentConfig) -> _AgentResources:
        """The resources of an agent, opened once for all configurations that name the same.

        Raises:
            Misconfigured: the sandbox does not exist.
        """
        kind = self._sandbox_kind(config.sandbox_type)
        key = (config.workspace_root, kind)
        parts = self._parts.get(key)
        if parts is None:
            parts = self._parts[key] = self._open_parts(config.workspace_root, kind)
        return parts

    def _sandbox_kind(self, sandbox_type: str | None) -> str | None:
        """The kind of sandbox to open for an agent; None if the factory's own is right."""
        if sandbox_type in (None, "local"):
            return None
        kind = _SANDBOX_ALIASES.get(sandbox_type, sandbox_type)
        if self._sandboxes is not None and kind in ("auto", self._settings.sandbox):
            return None
        if (
            kind == "auto" and not self._owns_workspaces
        ):  # who gave the workspaces looked for a wall
            return None
        return kind

    def _open_parts(self, root: Path | None, kind: str | None) -> _AgentResources:
        if self._owns_workspaces:
            self._settings.ensure_home()
        workspaces = self._workspaces if root is None else self._workspaces_at(root)
        return _AgentResources(
            workspaces=workspaces,
            skills=self.skills if root is None else self._library(workspaces),
            undo=self._undo or Undo(workspaces.project, workspaces.workers),
            sandboxes=self._sandboxes
            if kind is None
            else self._open_sandboxes(kind, workspaces, root),
        )

    def _workspaces_at(self, root: Path) -> UserWorkspaceManager:
        """The workspaces below another folder; memories do not move."""
        made = UserWorkspaceManager(
            Path(root).expanduser().absolute(),
            self._settings.workspace_quota,
            memories_root=self._workspaces.memories_root,
        )
        self._close_callbacks.append(made.aclose)
        return made

    def _open_sandboxes(
        self, kind: str, workspaces: UserWorkspaceManager, root: Path | None
    ) -> Sandboxes | None:
        changes: dict[str, Any] = {"sandbox": kind, "sandbox_pool_size": 0}
        if root is not None:
            changes |= {"workspace_root": workspaces.root, "project": None}
        settings = self._settings.model_copy(update=changes)
        opened = create_sandboxes(settings, workspaces.ensure_user_workspace)
        if opened is not None:
            self._close_callbacks.append(opened.aclose)
        return opened

    # -- graphs ---------------------------------------------------------------------------------

    def _build(self, config: AgentConfig) -> _BuiltAgent:
        if config.agents:
            return self._build_supervisor(config)
        if config.graph is not None:
            backend = CompositeBackend(default=self._workspace(self._parts_of(config)), routes={})
            return _BuiltAgent(config, config.graph, backend, ())
        model = self._model(config.model)
        parts = self._parts_of(config)
        backend = self._backend(parts, config.skill_folders)
        middleware = self._middleware(config, parts, model, backend)
        with untraced_hooks():
            graph = create_deep_agent(
                model,
                [*self._bound_tools(config.tools), *config.extra_tools],
                system_prompt=config.system_prompt or self._prompt,
                middleware=middleware,
                subagents=[
                    self._subagent(sub, parts, backend, config) for sub in self._subagents(config)
                ],
                backend=backend,
                context_schema=RunContext,
                name=MAIN_AGENT,
            )
        return _BuiltAgent(config, use_fast_reducer(graph), backend, tuple(middleware))

    @property
    def _prompt(self) -> str:
        """The prompt of an agent without its own; `ProjectMiddleware` adds what a project needs."""
        has_folders = self._workspaces.project is None
        return f"{SYSTEM_PROMPT}\n{_FOLDERS}" if has_folders else SYSTEM_PROMPT

    def _build_supervisor(self, config: AgentConfig) -> _BuiltAgent:
        """The supervisor over the graphs that its agents have when they are chosen directly."""
        defined = [(spec, define(spec, config.agents, config)) for spec in config.agents]
        built = [(spec, self._get_or_build(definition)) for spec, definition in defined]
        observer = ToolObserver(self._observers)
        checks = [RunRulesCheck(gated_tools(())), *self._checks]
        guard = ToolGuard(checks, on_refused=observer.refused)
        around = [PatchToolCalls(), guard, *self._around_models, observer]
        with untraced_hooks():
            routable = [RoutableAgent(spec, spec.agent_id, agent.graph) for spec, agent in built]
            graph = build_supervisor(self._model(config.model), routable, around)
        return _BuiltAgent(config, graph, built[-1][1].backend, tuple(around))

    def _model(self, model: str | BaseChatModel | None) -> BaseChatModel:
        if isinstance(model, BaseChatModel):
            return with_answer_stream(model)
        name = model or self._settings.default_model
        if name not in self._models:
            self._models[name] = self._settings.create_model(name)
        return self._models[name]

    def summarization(self, config: AgentConfig, *, keep: str = "") -> Summarization:
        """Summarises threads of this agent; `keep` says what a summary should not leave out.

        Raises:
            Misconfigured: the model is not available.
        """
        return summarization(self._model(config.model), StateBackend(), self._counter, keep=keep)

    def bindable_tools(self) -> list[BaseTool]:
        """All tools an agent can be bound to: the factory's, those on files, the shell's."""
        parts = self._parts_of(AgentConfig(MAIN_AGENT))
        backend = CompositeBackend(default=self._workspace(parts), routes={})
        tools = [*self._tools, *_files(backend).tools]
        if self._settings.has_shell:
            shell = AgentConfig(MAIN_AGENT, sandbox_type=self._settings.shell_sandbox)
            made = self._shell(shell, self._parts_of(shell))
            tools += [tool for shell_tools in made for tool in shell_tools.tools]
        can_execute = supports_execution(backend)
        return [tool for tool in tools if can_execute or tool.name != "execute"]

    async def aclose(self) -> None:
        """Close the connections, MCP servers and sandboxes that were opened here."""
        self._local_shells.close()
        models, self._models = self._models, {}
        for model in models.values():
            await close_model(model)
        while self._close_callbacks:
            await self._close_callbacks.pop()()

    @property
    def skills(self) -> SkillLibrary:
        """The skills of all agents; by default those the settings name."""
        if self._skills is None:
            self._skills = self._library(self._workspaces)
        return self._skills

    def _library(self, workspaces: UserWorkspaceManager) -> SkillLibrary:
        return SkillLibrary(skill_folders(self._settings.skills_dirs), workspaces)

    def _backend(self, parts: _AgentResources, skill_folders: tuple[Path, ...]) -> CompositeBackend:
        """Files in the run's workspace, memories, skills, and offloaded text in the thread."""
        skills: Mapping[str, BackendProtocol] = parts.skills.routes(skill_folders)
        return CompositeBackend(
            default=self._workspace(parts),
            routes={
                MEMORIES_ROUTE: MemoriesBackend(parts.workspaces),
                f"{ARTIFACTS_ROOT}/": ThreadFiles(),
                **skills,
            },
            artifacts_root=ARTIFACTS_ROOT,
        )

    @staticmethod
    def _workspace(parts: _AgentResources) -> WorkspaceBackend:
        if parts.sandboxes is None:
            return WorkspaceBackend(parts.workspaces)
        return SandboxedWorkspace(parts.workspaces, parts.sandboxes)

    def _middleware(
        self,
        config: AgentConfig,
        parts: _AgentResources,
        model: BaseChatModel,
        backend: CompositeBackend,
    ) -> list[Middleware]:
        stack: list[Middleware] = [
            _files(backend),
            NoParentNotifier(),
            summarization(model, backend, self._counter),
            PatchToolCalls(),
            PlainContent(),
            TodoList(),
        ]
        if config.enable_skills:
            stack.append(
                SkillsMiddleware(
                    backend=backend, library=parts.skills, folders=config.skill_folders
                )
            )
        if config.enable_memory:
            stack.append(
                AgentMemoryMiddleware(
                    backend=backend, has_memory=self._has_memory, extra_memory=self._alias_memory
                )
            )
        stack += self._project(parts)
        if config.enable_shell:
            stack += self._shell(config, parts)
        around = self._around_calls(
            parts,
            backend,
            config,
            bound=_bound_names(config.tools, config.extra_tools),
            mcp=self._mcp_access(None) if config.enable_mcp else None,
            sources=self._configured_mcp(config) if config.enable_mcp else [],
        )
        return [*stack, *config.extra_middleware, *around]

    @staticmethod
    def _project(parts: _AgentResources) -> list[Middleware]:
        """The middleware of a project, if the agent works in one."""
        project = parts.workspaces.project
        return [] if project is None else [ProjectMiddleware(project, parts.workspaces.workers)]

    def _mcp_access(self, agent_id: str | None) -> McpAccess | None:
        """An agent's MCP tools, if there are any in this process."""
        return None if self._mcp is None else McpAccess(self._mcp, agent_id)

    def _configured_mcp(self, config: AgentConfig) -> list[ToolSource]:
        """The tools of the servers that an agent's configuration names."""
        if config.mcp_config is None:
            return []
        made = ConfiguredMcp(config.mcp_config)
        self._close_callbacks.append(made.aclose)
        return [made]

    def _has_memory(self, context: RunContext) -> bool:
        return self._workspaces.has_memory(context.user_id, context.assistant_id, _MEMORY)

    async def _alias_memory(self, context: RunContext) -> str | None:
        """The assistant's memory under its other name: `general` and `agent` are one."""
        other = _OTHER_NAMES.get(context.assistant_id)
        if other is None or not self._workspaces.has_memory(context.user_id, other, _MEMORY):
            return None
        memory = await self._workspaces.open_memories(context.user_id, other)
        [found] = await memory.adownload_files([_MEMORY])
        return None if found.content is None else found.content.decode(errors="replace")

    @property
    def gated_tools(self) -> dict[str, str]:
        """The built-in tools that require approval, and the text a person reads about them."""
        return self._gated_tools(self._workspaces, self._sandboxes, ())

    def _gated_tools(
        self,
        workspaces: UserWorkspaceManager,
        sandboxes: Sandboxes | None,
        own: Sequence[BaseTool],
    ) -> dict[str, str]:
        gated = {
            **gated_tools([*self._tools, *own]),
            **(CODE_TOOLS if workspaces.project is not None else {}),
        }
        if sandboxes is None:  # deepagents has the tool all the same, and it refuses
            gated.pop("execute", None)
        return gated

    def _around_calls(
        self,
        parts: _AgentResources,
        backend: CompositeBackend,
        config: AgentConfig,
        *,
        bound: frozenset[str] | None,
        mcp: McpAccess | None,
        sources: Sequence[ToolSource] = (),
    ) -> list[Middleware]:
        """What wraps an agent's calls: the guard, the limits of model calls, approvals, observers.

        An agent that is bound to nothing in particular (`bound` is None) has all tools.
        """
        gated = self._gated_tools(parts.workspaces, parts.sandboxes, config.extra_tools)
        checks: list[ToolCheck] = [SingleTodoList(), RunRulesCheck(gated), *self._checks]
        if mcp is not None:
            checks.append(mcp)
            sources = [mcp, *sources]
        if bound is not None:
            checks.append(BoundTools(bound))
        observers: list[CallObserver] = [*self._observers, FileOperations(backend)]
        has_project = parts.workspaces.project is not None
        if has_project:
            observers.append(CodeChanges(parts.undo, parts.workspaces))
        observer = ToolObserver(observers)
        rules = ApprovalRules(gated, tuple(self._settings.fetch_hosts), guards_secrets=has_project)
        return [
            ToolGuard(checks, sources=sources, on_refused=observer.refused),
            *self._around_models,
            ApprovalsMiddleware(rules, preview(backend)),
            observer,
        ]

    def _bound_tools(self, bound: frozenset[str] | None) -> list[BaseTool]:
        return [tool for tool in self._tools if bound is None or tool.name in bound]

    def _shell(self, config: AgentConfig, parts: _AgentResources) -> list[Middleware]:
        """The shell; none where `auto` finds no sandbox.

        Raises:
            Misconfigured: the requested sandbox is missing.
        """
        kind = config.sandbox_type
        if kind in (None, "local"):  # one for all graphs: a conversation keeps its shell
            return [ShellMiddleware(self._local_shells, parts.workspaces)]
        if parts.sandboxes is not None:
            from dataagent_core.sandbox.sandbox_shell import SandboxShells

            return [ShellMiddleware(SandboxShells(parts.sandboxes), parts.workspaces)]
        if kind == "auto" and self._settings.sandbox is None:
            return []
        raise Misconfigured(
            f"There is no sandbox of type {kind!r}. Use 'local', or set DATAAGENT_SANDBOX."
        )

    @staticmethod
    def _skills_of(
        sub: SubAgentConfig, parts: _AgentResources, backend: CompositeBackend
    ) -> list[Middleware]:
        """A sub-agent with folders of skills has those and the shared ones; others have none."""
        if not sub.skill_folders:
            return []
        made = SkillsMiddleware(
            backend=backend, library=parts.skills, folders=sub.skill_folders, is_helper=True
        )
        return [made]

    def _subagents(self, config: AgentConfig) -> list[SubAgentConfig]:
        return [_GENERAL_PURPOSE, *config.subagents]

    def _subagent(
        self,
        sub: SubAgentConfig,
        parts: _AgentResources,
        backend: CompositeBackend,
        config: AgentConfig,
    ) -> SubAgent | CompiledSubAgent:
        if sub.graph is not None:
            return {"name": sub.name, "description": sub.description, "runnable": sub.graph}
        bound = config.tools if sub.bound is None else sub.bound
        has_mcp = config.enable_mcp and sub.tools is None
        if sub.skill_folders:
            backend = self._backend(parts, sub.skill_folders)
        spec: SubAgent = {
            "name": sub.name,
            "description": sub.description,
            "system_prompt": sub.system_prompt,
            "middleware": [
                _files(backend),
                PatchToolCalls(),
                *self._skills_of(sub, parts, backend),
                *self._around_calls(
                    parts,
                    backend,
                    config,
                    bound=_bound_names(bound, sub.tools or ()),
                    mcp=self._mcp_access(sub.agent_id) if has_mcp else None,
                ),
            ],
        }
        if sub.tools is not None:
            spec["tools"] = list(sub.tools)
        elif sub.bound is not None:
            spec["tools"] = self._bound_tools(sub.bound)
        if sub.model is not None:
            spec["model"] = self._model(sub.model)
        return spec


def _bound_names(bound: frozenset[str] | None, own: Sequence[BaseTool]) -> frozenset[str] | None:
    """The names of an agent's tools: those it is bound to and its own; None if it has all."""
    return None if bound is None else bound | {tool.name for tool in own}


def _files(backend: CompositeBackend) -> Middleware:
    """Deepagents' file tools; a fixed `grep` description spares a schema rebuild per model call."""
    return FileToolsMiddleware(
        backend=backend,
        custom_tool_descriptions={"grep": "Search files for a literal string."},
    )


_GENERAL_PURPOSE = SubAgentConfig(
    name="general-purpose",
    description=(
        "A helper with the same tools, for a task of several steps whose details need not stay in "
        "this conversation."
    ),
    system_prompt="You do one task for another agent. Report the result, complete and concise.",
)
