"""What defines an agent's graph, and what only one run of it needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataagent_core.agents.types import AgentSpec

if TYPE_CHECKING:
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.language_models import BaseChatModel
    from langchain_core.tools import BaseTool

    from dataagent_core.mcp import MCPConfig


@dataclass(slots=True)
class AgentConfig:
    """How to build an agent, and for whom it runs where a run does not say so itself.

    `assistant_id`, `user_id`, `tenant_id`, `auto_approve` and `sandbox_id` travel with the agent as
    the defaults of its runs (`RunContext`), `recursion_limit` and `timeout` (seconds) as those of
    its executors; the graph is the same for all users. `workspace_root` is the folder below which
    the users' folders are, `mcp_config` names MCP servers whose tools the agent has besides.
    """

    assistant_id: str
    user_id: str | None = None
    tenant_id: str | None = None
    model: str | BaseChatModel | None = None
    enable_memory: bool = True
    enable_skills: bool = True
    enable_shell: bool = True
    enable_mcp: bool = True
    auto_approve: bool = False
    sandbox_type: str | None = None
    sandbox_id: str | None = None
    system_prompt: str | None = None
    extra_tools: list[BaseTool] = field(default_factory=list["BaseTool"])
    extra_middleware: list[AgentMiddleware[Any, Any, Any]] = field(
        default_factory=list["AgentMiddleware[Any, Any, Any]"]
    )
    mcp_config: MCPConfig | None = None
    workspace_root: Path | None = None
    recursion_limit: int = 1000
    timeout: float | None = None
    subagents: list[SubAgentConfig] = field(default_factory=list["SubAgentConfig"])
    tools: frozenset[str] | None = None  # names of those it is bound to; None: all there are
    skill_folders: tuple[Path, ...] = ()  # of skills of its own, beside everyone's
    agents: tuple[AgentSpec, ...] = ()  # for a supervisor: those it can hand over to
    graph: Any = None  # a compiled graph that is the agent; then nothing is built of the rest

    def cache_key(self) -> tuple[Any, ...]:
        """What the compiled graph depends on; the same key gets the same graph.

        Not the assistant's id: it comes with each run, as the user's does.
        """
        return (
            self.model if isinstance(self.model, str | None) else id(self.model),
            self.enable_memory,
            self.enable_skills,
            self.enable_shell,
            self.enable_mcp,
            self.sandbox_type,
            self.system_prompt,
            tuple(id(tool) for tool in self.extra_tools),
            tuple(id(middleware) for middleware in self.extra_middleware),
            tuple(subagent.cache_key() for subagent in self.subagents),
            self.tools,
            self.skill_folders,
            self.agents,
            id(self.graph),
            None if self.mcp_config is None else id(self.mcp_config),
            self.workspace_root,
        )


@dataclass(frozen=True, slots=True)
class SubAgentConfig:
    """An agent that another one can call with `task`."""

    name: str
    description: str
    system_prompt: str
    tools: tuple[BaseTool, ...] | None = None
    model: str | BaseChatModel | None = None
    bound: frozenset[str] | None = None
    """Names of the tools it is bound to. None: those of the agent that calls it."""
    skill_folders: tuple[Path, ...] = ()
    agent_id: str | None = None
    """Whose MCP tools it has. None: those of the agent that calls it."""
    graph: Any = None
    """A compiled graph that is the agent."""

    def cache_key(self) -> tuple[Any, ...]:
        """See `AgentConfig.cache_key`."""
        tools = None if self.tools is None else tuple(id(tool) for tool in self.tools)
        model = self.model if isinstance(self.model, str | None) else id(self.model)
        named = (self.name, self.description, self.system_prompt)
        own = (self.bound, self.skill_folders, self.agent_id, id(self.graph))
        return (*named, tools, model, *own)
