"""Decides which tools a caller may call, and lists the MCP tools of a run.

A tool of a shared server is denied unless it is bound to the agent. A tool of a user's own server,
or of a configuration file, may be called by its owner with every agent that allows user tools. An
API key with a list narrows both. A run lists its tools once, when it first needs them; bindings and
connections are checked whenever the model is called.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from dataagent_core.mcp.catalogue.definitions import with_unique_names
from dataagent_core.mcp.types import Caller, CallFailure, CatalogueTool, ServerSpec

SHARED_SCOPES = frozenset({"global", "tenant"})


@dataclass(frozen=True, slots=True)
class Binding:
    """The tools an agent may use."""

    agent_id: str
    name: str
    tools: frozenset[int] = frozenset()
    allow_user_tools: bool = True


BindingOf = Callable[[str], Binding | None]
"""The agent of an id or name, as it is bound now; None if there is none."""


@dataclass(frozen=True, slots=True)
class Rights:
    """A caller's rights at the moment of a call."""

    binding: Binding | None
    has_feature: bool = True
    """Whether the caller's tenant has MCP on."""
    key_tools: frozenset[int] | None = None
    """What the caller's API key is limited to; None: nothing."""


def refusal(
    tool: CatalogueTool, spec: ServerSpec, caller: Caller, rights: Rights
) -> CallFailure | None:
    """Return why the call is not allowed; None if it is."""
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


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool and the server it is on."""

    tool: CatalogueTool
    spec: ServerSpec


Gather = Callable[[], Awaitable[Sequence[ServerTool]]]
RightsOf = Callable[[Caller], Awaitable[Rights]]
IsReady = Callable[[ServerTool], bool]


class RunTools:
    """The MCP tools of a run. Used from the event loop only."""

    def __init__(
        self, caller: Caller, gather: Gather, rights_of: RightsOf, is_ready: IsReady
    ) -> None:
        """`caller` is the run's, without an agent; each method takes the agent."""
        self._caller = caller
        self._gather = gather
        self._rights_of = rights_of
        self._is_ready = is_ready
        self._tools: dict[str, ServerTool] | None = None
        self._gathering = asyncio.Lock()

    def caller(self, agent_id: str) -> Caller:
        """Return the caller for an agent of the run."""
        return replace(self._caller, agent_id=agent_id)

    async def visible(self, agent_id: str) -> tuple[CatalogueTool, ...]:
        """Return the tools an agent may use and whose server is ready, in a fixed order."""
        offered = await self.all_tools()
        if not offered:
            return ()
        caller = self.caller(agent_id)
        rights = await self._rights_of(caller)
        return tuple(
            each.tool
            for each in offered.values()
            if self._is_ready(each) and refusal(each.tool, each.spec, caller, rights) is None
        )

    async def find(self, exposed_name: str) -> CatalogueTool | None:
        """Return the named tool of any of the user's servers, bound or not, ready or not."""
        found = (await self.all_tools()).get(exposed_name)
        return None if found is None else found.tool

    async def all_tools(self) -> dict[str, ServerTool]:
        """Return all tools by name, listed once."""
        if self._tools is None:
            async with self._gathering:
                if self._tools is None:
                    self._tools = by_exposed_name(await self._gather())
        return self._tools


def by_exposed_name(offered: Sequence[ServerTool]) -> dict[str, ServerTool]:
    """Return the tools by the unique name the model calls."""
    tools = with_unique_names([each.tool for each in offered])
    return {
        tool.exposed_name: ServerTool(tool, each.spec)
        for tool, each in zip(tools, offered, strict=True)
    }
