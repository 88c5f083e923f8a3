"""An `AgentConfig` → a compiled graph and its backend, each built once.

Graphs know no user: whose files, memory and rules apply comes with each run as a `RunContext`.
Above: `session/manager.py` and `runs/`. Below: deepagents, `middleware/`, `tools/`, `workspace/`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from deepagents import (
    SubAgent,
    create_deep_agent,  # pyright: ignore[reportUnknownVariableType] generic over any state
)
from deepagents.backends import CompositeBackend, StateBackend
from deepagents.backends.protocol import BackendProtocol
from deepagents.middleware.filesystem import supports_execution
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool

from dataagent_core.config import Settings
from dataagent_core.config.llm import close_model
from dataagent_core.config.models.merge import audible
from dataagent_core.engine.config import AgentConfig, SubAgentConfig
from dataagent_core.engine.definitions import define, memory_of
from dataagent_core.engine.graph import Graph
from dataagent_core.engine.late import late_subagents, plain_version
from dataagent_core.engine.sandboxed import SandboxedWorkspace
from dataagent_core.engine.supervisor import Seat, supervise
from dataagent_core.engine.thread import quicken
from dataagent_core.engine.tuning import untraced_hooks
from dataagent_core.errors import Misconfigured
from dataagent_core.identity import RunContext
from dataagent_core.middleware import (
    CODE_TOOLS,
    MEMORY_PATH,
    AddressApprovals,
    AgentMemoryMiddleware,
    AttachmentsMiddleware,
    CodeChangesMiddleware,
    FileOperationMiddleware,
    Files,
    McpApprovals,
    McpCalls,
    McpToolsMiddleware,
    NoParentNotifier,
    PatchToolCalls,
    PlainContent,
    ProjectMiddleware,
    RunRulesMiddleware,
    SecretsMiddleware,
    ShellMiddleware,
    SkillsMiddleware,
    TodoList,
    TokenCounter,
    ToolErrorMiddleware,
    ToolPolicyMiddleware,
    approvals_middleware,
    gated,
    preview,
    summarization,
)
from dataagent_core.middleware.calls import OnDenied
from dataagent_core.middleware.history import Summarization
from dataagent_core.sandbox import LocalRunner, Sandboxes
from dataagent_core.sandbox.shell import LocalShells, Shells
from dataagent_core.skills import SkillLibrary, skill_folders
from dataagent_core.tools.mcp import McpTools
from dataagent_core.workspace import MemoriesBackend, UserWorkspaceManager, WorkspaceBackend
from dataagent_core.workspace.thread_files import ThreadFiles
from dataagent_core.workspace.undo import Undo

Middleware = AgentMiddleware[Any, Any, Any]
ARTIFACTS_ROOT = "/.agent"
MEMORIES_ROUTE = "/memories/"
MAIN_AGENT = "main"
_KEPT_GRAPHS = 64

SYSTEM_PROMPT = """You are DataAgent, an assistant that works with a company's data.
Never invent a number: say where each figure comes from, and when something was cut or failed."""
_FOLDERS = "Files you work with are in your workspace: files/, uploads/ and outputs/."


class AgentFactory:
    """Builds agents and keeps the built ones by what defines them."""

    def __init__(
        self,
        settings: Settings,
        workspaces: UserWorkspaceManager,
        *,
        tools: Sequence[BaseTool] = (),
        around_tools: Sequence[Middleware] = (),
        around_calls: Sequence[Middleware] = (),
        on_denied: OnDenied | None = None,
        skills: SkillLibrary | None = None,
        sandboxes: Sandboxes | None = None,
        mcp: McpTools | None = None,
        undo: Undo | None = None,
    ) -> None:
        """`tools` are given to every agent that is bound to them, beside its own.

        `around_tools` wraps the calls that were approved, `around_calls` all of models and tools.
        `on_denied` is told of calls of tools that are not bound. With `sandboxes` agents can
        execute commands in them, with `mcp` use what MCP servers offer. `undo` is told what they
        change in a project.
        """
        self._settings = settings
        self._workspaces = workspaces
        self._tools = list(tools)
        self._around_approved = list(around_tools)
        self._around_calls = list(around_calls)
        self._on_denied = on_denied
        self._skills = skills
        self._sandboxes = sandboxes
        self._mcp = mcp
        self._undo = undo or Undo(workspaces.project, workspaces.workers)
        self._counter = TokenCounter()
        self._local_shells = LocalShells(LocalRunner(home=settings.shell_home))
        self._models: dict[str, BaseChatModel] = {}  # by name; each has connections of its own
        self._built: OrderedDict[tuple[Any, ...], tuple[Graph, CompositeBackend]] = OrderedDict()

    def create_agent(self, config: AgentConfig) -> tuple[Graph, CompositeBackend]:
        """The compiled agent and its backend; the same definition gets the same objects.

        Raises:
            Misconfigured: the model or the sandbox is not available.
        """
        key = config.cache_key()
        built = self._built.get(key)
        if built is None:
            built = self._built[key] = self._build(config)
            while len(self._built) > _KEPT_GRAPHS:
                self._built.popitem(last=False)
        self._built.move_to_end(key)
        return built

    def _build(self, config: AgentConfig) -> tuple[Graph, CompositeBackend]:
        if config.agents:
            return self._build_supervisor(config)
        model = self._model(config.model)
        backend = self._backend(self.skills.routes(config.skill_folders))
        with untraced_hooks(), plain_version(), late_subagents():
            graph = create_deep_agent(
                model,
                [*self._bound_tools(config.tools), *config.extra_tools],
                system_prompt=config.system_prompt or self._prompt,
                middleware=self._middleware(config, model, backend),
                subagents=[self._subagent(sub, backend, config) for sub in self._subagents(config)],
                backend=backend,
                context_schema=RunContext,
                name=MAIN_AGENT,
            )
        return quicken(graph), backend

    @property
    def _prompt(self) -> str:
        """What an agent without a prompt of its own is told; of a project it hears elsewhere."""
        has_folders = self._workspaces.project is None
        return f"{SYSTEM_PROMPT}\n{_FOLDERS}" if has_folders else SYSTEM_PROMPT

    def _build_supervisor(self, config: AgentConfig) -> tuple[Graph, CompositeBackend]:
        """The supervisor over the very graphs its agents have when they are chosen directly."""
        defined = [(spec, define(spec, config.agents, config)) for spec in config.agents]
        built = [(spec, *self.create_agent(definition)) for spec, definition in defined]
        rules = RunRulesMiddleware(gated(()), self._on_denied)
        around = [PatchToolCalls(), rules, *self._around_calls, ToolErrorMiddleware()]
        with untraced_hooks():
            seats = [Seat(spec, memory_of(spec), graph) for spec, graph, _ in built]
            graph = supervise(self._model(config.model), seats, around)
        return graph, built[-1][2]

    def _model(self, model: str | BaseChatModel | None) -> BaseChatModel:
        if isinstance(model, BaseChatModel):
            return audible(model)
        name = model or self._settings.default_model
        if name not in self._models:
            self._models[name] = self._settings.create_model(name)
        return self._models[name]

    def summarization(self, config: AgentConfig, *, keep: str = "") -> Summarization:
        """What puts a thread of this agent in short, keeping above all what is asked for.

        Raises:
            Misconfigured: the model is not available.
        """
        return summarization(self._model(config.model), StateBackend(), self._counter, keep=keep)

    def bindable_tools(self) -> list[BaseTool]:
        """All tools an agent can be bound to: those given, those on files, the shell's."""
        backend = self._backend({})
        tools = [*self._tools, *_files(backend).tools]
        if self._settings.has_shell:
            tools += [
                tool for one in self._shell(self._settings.shell_sandbox) for tool in one.tools
            ]
        can_execute = supports_execution(backend)
        return [tool for tool in tools if can_execute or tool.name != "execute"]

    async def aclose(self) -> None:
        """Close the connections of the models made here, and forget the shells."""
        self._local_shells.close()
        models, self._models = self._models, {}
        for model in models.values():
            await close_model(model)

    @property
    def skills(self) -> SkillLibrary:
        """The skills of all agents; unless given, those the settings name."""
        if self._skills is None:
            folders = skill_folders(self._settings.skills_dirs)
            self._skills = SkillLibrary(folders, self._workspaces)
        return self._skills

    def _backend(self, skills: Mapping[str, BackendProtocol]) -> CompositeBackend:
        """Files in the run's workspace, memories and skills beside it, leftovers in the thread."""
        return CompositeBackend(
            default=self._workspace(),
            routes={
                MEMORIES_ROUTE: MemoriesBackend(self._workspaces),
                f"{ARTIFACTS_ROOT}/": ThreadFiles(),
                **skills,
            },
            artifacts_root=ARTIFACTS_ROOT,
        )

    def _workspace(self) -> WorkspaceBackend:
        if self._sandboxes is None:
            return WorkspaceBackend(self._workspaces)
        return SandboxedWorkspace(self._workspaces, self._sandboxes)

    def _middleware(
        self,
        config: AgentConfig,
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
                SkillsMiddleware(backend=backend, library=self.skills, folders=config.skill_folders)
            )
        if config.enable_memory:
            stack.append(AgentMemoryMiddleware(backend=backend, has_memory=self._has_memory))
        stack += self._project()
        stack.append(AttachmentsMiddleware())
        if config.enable_shell:
            stack += self._shell(config.sandbox_type)
        policy = self._policy(config.tools, config.extra_tools)
        mcp = self._mcp_tools(None) if config.enable_mcp else []
        return [*stack, *config.extra_middleware, *mcp, *policy, *self._around_tools(backend)]

    def _project(self) -> list[Middleware]:
        """What tells an agent that it works in a project, if it does."""
        project = self._workspaces.project
        return [] if project is None else [ProjectMiddleware(project, self._workspaces.workers)]

    def _mcp_tools(self, agent_id: str | None) -> list[Middleware]:
        """What gives an agent its MCP tools, if there are any in this process."""
        if self._mcp is None:
            return []
        return [McpToolsMiddleware(self._mcp, agent_id, self._on_denied)]

    def _has_memory(self, context: RunContext) -> bool:
        name = MEMORY_PATH.removeprefix(MEMORIES_ROUTE)
        return self._workspaces.has_memory(context.user_id, context.assistant_id, name)

    @property
    def asks_first(self) -> dict[str, str]:
        """The built-in tools that wait for a person, and what that person reads about them."""
        is_project = self._workspaces.project is not None
        asking = {**gated(self._tools), **(CODE_TOOLS if is_project else {})}
        if self._sandboxes is None:  # deepagents has the tool all the same, and it refuses
            asking.pop("execute", None)
        return asking

    def _around_tools(self, backend: CompositeBackend) -> list[Middleware]:
        """Keep to the run's rules, ask, report file changes, turn exceptions into messages."""
        asking, secrets, code = self.asks_first, list[Middleware](), list[Middleware]()
        if self._workspaces.project is not None:
            secrets.append(SecretsMiddleware())
            code.append(CodeChangesMiddleware(self._undo, self._workspaces))
        return [
            RunRulesMiddleware(asking, self._on_denied),
            *self._around_calls,
            approvals_middleware(asking, preview(backend)),
            AddressApprovals(self._settings.fetch_hosts),
            *secrets,
            *([McpApprovals()] if self._mcp is not None else []),
            *self._around_approved,
            FileOperationMiddleware(backend),
            *code,
            ToolErrorMiddleware(),
            *([McpCalls()] if self._mcp is not None else []),
        ]

    def _bound_tools(self, bound: frozenset[str] | None) -> list[BaseTool]:
        return [tool for tool in self._tools if bound is None or tool.name in bound]

    def _policy(
        self, bound: frozenset[str] | None, own: Sequence[BaseTool] = ()
    ) -> list[Middleware]:
        """What keeps an agent to the tools it is bound to and its own; nothing if it has all."""
        if bound is None:
            return []
        return [ToolPolicyMiddleware(bound | {tool.name for tool in own}, self._on_denied)]

    def _shell(self, sandbox_type: str | None) -> list[Middleware]:
        """The shell; none where it must be in a sandbox and nobody asked for one that is missing.

        Raises:
            Misconfigured: the sandbox that was asked for is not there.
        """
        if sandbox_type == "auto" and self._sandboxes is None and self._settings.sandbox is None:
            return []
        return [ShellMiddleware(self._shells(sandbox_type), self._workspaces)]

    def _shells(self, sandbox_type: str | None) -> Shells:
        """One for all graphs: a conversation keeps its shell, whichever agent answers."""
        if sandbox_type in (None, "local"):
            return self._local_shells
        if self._sandboxes is None or sandbox_type not in ("auto", self._settings.sandbox):
            raise Misconfigured(
                f"There is no sandbox of type {sandbox_type!r}. Use 'local', or set "
                "DATAAGENT_SANDBOX."
            )
        from dataagent_core.sandbox.sandbox_shell import SandboxShells

        return SandboxShells(self._sandboxes)

    def _skills_of(self, sub: SubAgentConfig, backend: CompositeBackend) -> list[Middleware]:
        """A helper with folders of skills has them and everyone's; others do as they are told."""
        if not sub.skill_folders:
            return []
        made = SkillsMiddleware(
            backend=backend, library=self.skills, folders=sub.skill_folders, is_helper=True
        )
        return [made]

    def _subagents(self, config: AgentConfig) -> list[SubAgentConfig]:
        return [_GENERAL_PURPOSE, *config.subagents]

    def _subagent(
        self, sub: SubAgentConfig, backend: CompositeBackend, config: AgentConfig
    ) -> SubAgent:
        bound = config.tools if sub.bound is None else sub.bound
        policy = self._policy(bound, sub.tools or ())
        has_mcp = config.enable_mcp and sub.tools is None
        if sub.skill_folders:
            backend = self._backend(self.skills.routes(sub.skill_folders))
        spec: SubAgent = {
            "name": sub.name,
            "description": sub.description,
            "system_prompt": sub.system_prompt,
            "middleware": [
                _files(backend),
                PatchToolCalls(),
                *self._skills_of(sub, backend),
                *(self._mcp_tools(sub.agent_id) if has_mcp else []),
                *policy,
                *self._around_tools(backend),
            ],
        }
        if sub.tools is not None:
            spec["tools"] = list(sub.tools)
        elif sub.bound is not None:
            spec["tools"] = self._bound_tools(sub.bound)
        if sub.model is not None:
            spec["model"] = self._model(sub.model)
        return spec


def _files(backend: CompositeBackend) -> Middleware:
    """Deepagents' file tools; a fixed `grep` description spares a schema rebuild per model call."""
    return Files(
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
