"""`/api/v1/tools`: the tools that agents can be bound to, each with its number."""

from __future__ import annotations

from fastapi import APIRouter

from dataagent_server.api.deps import AgentsDep, CurrentUser, McpDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.models.agents import ToolInfo
from dataagent_server.models.fields import Page

router = APIRouter(prefix="/tools", tags=["agents"], route_class=PrivateRoute)


@router.get("", operation_id="list_tools")
async def list_tools(user: CurrentUser, agents: AgentsDep, mcp: McpDep) -> Page[ToolInfo]:
    """The tools available to the caller, by number: built in, and of their MCP servers.

    A user's own MCP tools need no binding.
    """
    found = [ToolInfo.of(each) for each in await agents.tools()]
    found += [ToolInfo.of_mcp(each) for each in await mcp.tools_for(user)]
    items = sorted(found, key=lambda tool: tool.id)
    return Page[ToolInfo](items=items, total=len(items))
