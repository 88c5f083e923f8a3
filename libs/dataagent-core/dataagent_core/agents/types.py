"""What an agent is, as data, and what it may be called.

The id of a created agent has a form that no other name has: so an id of a deleted agent is
recognised, where any other unknown name may just have memories of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from dataagent_core.errors import BadInput

AgentKind = Literal["builtin", "package", "custom"]

GENERAL = "general"
"""The agent with all tools, which answers when no other is named."""

GENERAL_ALIAS = "agent"
"""The other name of `general`: what the terminal and the API call their default assistant."""

SUPERVISOR = "supervisor"
"""Not an agent of the registry: the assistant that chooses one. The name is reserved."""


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """An agent as data."""

    agent_id: str
    """Built-in and package agents: their name. Agents an admin creates: made by us."""
    name: str
    """1 to 64 of a-z, 0-9, `-` and `_`; unique."""
    description: str
    """For people and for routing."""
    kind: AgentKind
    system_prompt: str | None = None
    """None: the general one."""
    model: str | None = None
    """None: the deployment's."""
    icon: str = ""
    show_in_selector: bool = True
    tools: frozenset[str] | None = None
    """Names of the bound built-in tools. None: all (`general`)."""
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


NAME_PATTERN = r"[a-z0-9][a-z0-9_-]{0,63}"
_NAME = re.compile(NAME_PATTERN)
_ID = re.compile(r"agent_[0-9a-f]{32}")
RESERVED = frozenset({GENERAL_ALIAS, SUPERVISOR, "general-purpose", "main"})
"""Names with a meaning of their own, which no agent gets."""


def new_agent_id() -> str:
    """An id for an agent that someone creates."""
    return f"agent_{uuid4().hex}"


def is_generated_id(name: str) -> bool:
    """Whether the name has the form of an id of a created agent."""
    return _ID.fullmatch(name) is not None


def check_name(name: str) -> str:
    """The name, if an agent can have it.

    Raises:
        BadInput: it cannot.
    """
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"{name[:80]!r} cannot be an agent's name: 1 to 64 of a-z, 0-9, '-' and '_', beginning "
            "with a letter or digit."
        )
    if name in RESERVED or is_generated_id(name):
        raise BadInput(f"The name {name!r} is reserved. Choose another.")
    return name
