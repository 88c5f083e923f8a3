"""An `AgentConfig` → a compiled graph and its backend, each built once.

Graphs know no user: whose files, memory and rules apply comes with each run as a `RunContext`.
Above: `session/manager.py` and `runs/`. Below: deepagents, `middleware/`, `tools/`, `workspace/`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deepagents import (
    SubAgent,
    create_deep_agent,  # pyright: ignore[reportUnknownVariableType] generic over any state
)
from deepagents.backends import CompositeBackend, StateBackend
from deepagents.backends.protocol import BackendProtocol
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool

from dataagent_core.config import Settings
from dataagent_core.config.llm import close_model
from dataagent_core.engine.config import AgentConfig, SubAgentConfig
from dataagent_core.engine.graph import Graph
from dataagent_core.engine.thread import quicken
from dataagent_core.engine.tuning import untraced_hooks
from dataagent_core.errors import Misconfigured
from dataagent_core.identity import RunContext
from dataagent_core.middleware import (
    MEMORY_PATH,
    AgentMemoryMiddleware,
    AttachmentsMiddleware,
    FileOperationMiddleware,
    Files,
    NoParentNotifier,
    PatchToolCalls,
    PlainContent,
    ShellMiddleware,
    SkillsMiddleware,
    TodoList,
    TokenCounter,
    ToolErrorMiddleware,
    approvals_middleware,
    summarization,
)
from dataagent_core.sandbox import LocalRunner, Runner
from dataagent_core.skills import SkillFolder, skill_routes
from dataagent_core.workspace import MemoriesBackend, UserWorkspaceManager, WorkspaceBackend

Middleware = AgentMiddleware[Any, Any, Any]
ARTIFACTS_ROOT = "/.agent"
MEMORIES_ROUTE = "/memories/"
MAIN_AGENT = "main"
_KEPT_GRAPHS = 64

SYSTEM_PROMPT = """You are DataAgent, an assistant that works with a company's data.
Never invent a number: say where each figure comes from, and when something was cut or failed.
Files you work with are in your workspace: files/, uploads/ and outputs/."""


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
    ) -> None:
        """`tools` are given to every agent beside its own.

        `around_tools` wraps the calls that were approved, `around_calls` all of models and tools.
        """
        self._settings = settings
        self._workspaces = workspaces
        self._tools = list(tools)
        self._around_approved = list(around_tools)
        self._around_calls = list(around_calls)
        self._counter = TokenCounter()
        self._models: list[BaseChatModel] = []
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
        model = self._model(config.model)
        routes, sources = skill_routes(self._skill_folders(), self._workspaces)
        backend = self._backend(routes)
        with untraced_hooks():
            graph = create_deep_agent(
                model,
                [*self._tools, *config.extra_tools],
                system_prompt=config.system_prompt or SYSTEM_PROMPT,
                middleware=self._middleware(config, model, backend, sources),
                subagents=[self._subagent(sub, backend) for sub in self._subagents(config)],
                backend=backend,
                context_schema=RunContext,
                name=MAIN_AGENT,
            )
        return quicken(graph), backend

    def _model(self, model: str | BaseChatModel | None) -> BaseChatModel:
        if isinstance(model, BaseChatModel):
            return model
        made = self._settings.create_model(model)
        self._models.append(made)
        return made

    async def aclose(self) -> None:
        """Close the connections of the models made here."""
        models, self._models = self._models, []
        for model in models:
            await close_model(model)

    def _skill_folders(self) -> list[SkillFolder]:
        return [
            SkillFolder("Custom", Path(folder).expanduser())
            for folder in self._settings.skills_dirs
        ]

    def _backend(self, skills: Mapping[str, BackendProtocol]) -> CompositeBackend:
        """Files in the run's workspace, memories and skills beside it, leftovers in the thread."""
        return CompositeBackend(
            default=WorkspaceBackend(self._workspaces),
            routes={
                MEMORIES_ROUTE: MemoriesBackend(self._workspaces),
                f"{ARTIFACTS_ROOT}/": StateBackend(),
                **skills,
            },
            artifacts_root=ARTIFACTS_ROOT,
        )

    def _middleware(
        self,
        config: AgentConfig,
        model: BaseChatModel,
        backend: CompositeBackend,
        skill_sources: list[tuple[str, str]],
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
            stack.append(SkillsMiddleware(backend=backend, sources=skill_sources))
        if config.enable_memory:
            stack.append(AgentMemoryMiddleware(backend=backend, has_memory=self._has_memory))
        stack.append(AttachmentsMiddleware())
        if config.enable_shell:
            stack.append(ShellMiddleware(self._runner(config.sandbox_type), self._workspaces))
        return [*stack, *config.extra_middleware, *self._around_tools(backend)]

    def _has_memory(self, context: RunContext) -> bool:
        name = MEMORY_PATH.removeprefix(MEMORIES_ROUTE)
        return self._workspaces.has_memory(context.user_id, context.assistant_id, name)

    def _around_tools(self, backend: CompositeBackend) -> list[Middleware]:
        """Ask first, then report file changes, then turn exceptions into messages."""
        return [
            *self._around_calls,
            approvals_middleware(),
            *self._around_approved,
            FileOperationMiddleware(backend),
            ToolErrorMiddleware(),
        ]

    def _runner(self, sandbox_type: str | None) -> Runner:
        if sandbox_type in (None, "local"):
            return LocalRunner()
        raise Misconfigured(f"There is no sandbox of type {sandbox_type!r}. Use 'local'.")

    def _subagents(self, config: AgentConfig) -> list[SubAgentConfig]:
        return [_GENERAL_PURPOSE, *config.subagents]

    def _subagent(self, sub: SubAgentConfig, backend: CompositeBackend) -> SubAgent:
        spec: SubAgent = {
            "name": sub.name,
            "description": sub.description,
            "system_prompt": sub.system_prompt,
            "middleware": [_files(backend), PatchToolCalls(), *self._around_tools(backend)],
        }
        if sub.tools is not None:
            spec["tools"] = list(sub.tools)
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
