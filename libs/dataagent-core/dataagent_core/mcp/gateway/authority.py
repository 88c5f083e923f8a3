"""Who may call which tool. Pure: every fact is handed in.

A tool of a shared server is denied unless it is bound to the agent. A tool of a user's own server,
or of a configuration file, is its owner's with every agent that allows that. An API key with a list
narrows both. What is refused says so in words a model can act on. Above: `gateway.py`, which asks
before each call, and `run_tools.py`, which asks what to show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dataagent_core.mcp.types import Caller, CallFailure, CatalogueTool, ServerSpec

SHARED_SCOPES = frozenset({"global", "tenant"})


@dataclass(frozen=True, slots=True)
class Binding:
    """What an agent may use."""

    agent_id: str
    name: str
    tools: frozenset[int] = frozenset()
    allow_user_tools: bool = True


BindingOf = Callable[[str], Binding | None]
"""The agent of an id or name, as it is bound now; None if there is none."""


@dataclass(frozen=True, slots=True)
class Rights:
    """What is known of a caller at the moment of a call."""

    binding: Binding | None
    has_feature: bool = True
    """Whether the caller's tenant has MCP on."""
    key_tools: frozenset[int] | None = None
    """What the caller's API key is limited to; None: nothing."""


def refusal(
    tool: CatalogueTool, spec: ServerSpec, caller: Caller, rights: Rights
) -> CallFailure | None:
    """Why the call may not be made; None if it may."""
    return _not_there(tool, spec, caller) or _not_allowed(tool, spec, rights)


def _not_there(tool: CatalogueTool, spec: ServerSpec, caller: Caller) -> CallFailure | None:
    name = tool.exposed_name
    is_others = spec.scope == "user" and spec.user_id != caller.user_id
    if is_others or tool.status == "removed":
        return CallFailure("MCP_TOOL_NOT_FOUND", f"There is no tool {name!r} any more.")
    if spec.disabled or not tool.enabled:
        return _forbidden(f"Tool {name!r} is switched off.")
    if tool.status == "quarantined":
        return CallFailure(
            "MCP_DEFINITION_CHANGED",
            f"The definition of {name!r} has changed; an administrator has to look at it before "
            "it can be called again. Do without it.",
        )
    return None


def _not_allowed(tool: CatalogueTool, spec: ServerSpec, rights: Rights) -> CallFailure | None:
    name, binding = tool.exposed_name, rights.binding
    if not rights.has_feature:
        return _forbidden("MCP tools are switched off for this organisation.")
    if binding is None:
        return _forbidden(f"Tool {name!r} is not bound to this agent.")
    if spec.scope in SHARED_SCOPES and tool.tool_id not in binding.tools:
        return _forbidden(f"Tool {name!r} is not bound to agent {binding.name!r}.")
    if spec.scope not in SHARED_SCOPES and not binding.allow_user_tools:
        return _forbidden(f"Agent {binding.name!r} uses no tools of users' own servers.")
    if rights.key_tools is not None and tool.tool_id not in rights.key_tools:
        return _forbidden(f"Tool {name!r} is not on the list of this API key.")
    return None


def _forbidden(reason: str) -> CallFailure:
    return CallFailure("MCP_TOOL_FORBIDDEN", f"{reason} It was not called. Do without it.")
