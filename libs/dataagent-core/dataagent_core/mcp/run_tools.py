"""The MCP tools of one run: which there are, found out once; which can be used now, each time.

What a session's servers offer is fixed when the run first needs it; whether an agent is bound to a
tool and its server answers is looked at whenever the model is called. Waiting for servers is
bounded and done once. Above: `middleware/mcp_tools.py`. Below:
`hub.py` gives it what it needs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from dataagent_core.mcp.catalogue.definitions import with_unique_names
from dataagent_core.mcp.gateway.authority import Rights, refusal
from dataagent_core.mcp.types import Caller, CatalogueTool, ServerSpec


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool and the server it is on."""

    tool: CatalogueTool
    spec: ServerSpec


Gather = Callable[[], Awaitable[Sequence[ServerTool]]]
RightsOf = Callable[[Caller], Awaitable[Rights]]
IsReady = Callable[[ServerTool], bool]


class RunTools:
    """What a run has of MCP. Used from the event loop only."""

    def __init__(
        self, caller: Caller, gather: Gather, rights_of: RightsOf, is_ready: IsReady
    ) -> None:
        """`caller` is the run's, with any agent; agents are named with each question."""
        self._caller = caller
        self._gather = gather
        self._rights_of = rights_of
        self._is_ready = is_ready
        self._tools: dict[str, ServerTool] | None = None
        self._gathering = asyncio.Lock()

    def caller(self, agent_id: str) -> Caller:
        """On whose behalf an agent of the run calls."""
        return replace(self._caller, agent_id=agent_id)

    async def visible(self, agent_id: str) -> tuple[CatalogueTool, ...]:
        """The tools an agent of the run may use and whose server answers, in a fixed order."""
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
        """The tool of that name on any of the user's servers, bound or not, ready or not."""
        found = (await self.all_tools()).get(exposed_name)
        return None if found is None else found.tool

    async def all_tools(self) -> dict[str, ServerTool]:
        """All tools by name, found out once."""
        if self._tools is None:
            async with self._gathering:
                if self._tools is None:
                    self._tools = by_exposed_name(await self._gather())
        return self._tools


def by_exposed_name(offered: Sequence[ServerTool]) -> dict[str, ServerTool]:
    """The tools by the name the model calls; each has one of its own."""
    tools = with_unique_names([each.tool for each in offered])
    return {
        tool.exposed_name: ServerTool(tool, each.spec)
        for tool, each in zip(tools, offered, strict=True)
    }
