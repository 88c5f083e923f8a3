"""What an agent is, as data: no tool object, no database, and no graph but one it was given.

Above: `registry.py` knows which agents there are, `engine/` builds them. Below: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

AgentKind = Literal["builtin", "package", "custom"]

GENERAL = "general"
"""The agent that can do everything, and the one that answers when nobody else is meant."""

GENERAL_ALIAS = "agent"
"""The other name of `general`: what the terminal and the API call their default assistant."""

SUPERVISOR = "supervisor"
"""Not an agent of the registry: the assistant that chooses one. The name is kept free for it."""


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """An agent as data."""

    agent_id: str
    """Built-in and package agents: their name. Agents an admin creates: made by us."""
    name: str
    """1 to 64 of a-z, 0-9, `-` and `_`; unique."""
    description: str
    """What routing and people read."""
    kind: AgentKind
    system_prompt: str | None = None
    """None: the general one."""
    model: str | None = None
    """None: the deployment's."""
    icon: str = ""
    show_in_selector: bool = True
    tools: frozenset[str] | None = None
    """Names of the bound built-in tools. None: all there are (`general`)."""
    skills: tuple[Path, ...] = ()
    """Folders of skills of its own (packages)."""
    subagents: tuple[str, ...] = ()
    """Names reachable with `task`. `general` reaches all others."""
    mcp_tools: frozenset[int] = frozenset()
    """Numbers of the bound tools of shared MCP servers. Even `general` has only those listed."""
    allow_user_tools: bool = True
    """Whether it may use the tools of its user's own MCP servers."""
    graph: Any = field(default=None, repr=False)
    """A compiled LangGraph that is the agent (`registered.py`). None: one is built of the rest."""
