"""`/api/v1/mcp/tools` and `/mcp/allowlists`: what MCP servers offer, and who may use it.

For administrators; a user may approve the tools of a server of their own.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from dataagent_server.api.errors import ERROR_RESPONSES
from dataagent_server.api.route import PrivateRoute
from dataagent_server.deps.providers import AdminUser, CurrentUser, McpAdminDep
from dataagent_server.models.fields import Id, Page
from dataagent_server.models.mcp_catalogue import (
    AllowlistBody,
    AllowlistInfo,
    DiffInfo,
    McpToolApproval,
    McpToolInfo,
    McpToolSearch,
    McpToolUpdate,
    ToolNumber,
)

router = APIRouter(prefix="/mcp", tags=["MCP registry"], route_class=PrivateRoute)


@router.get("/tools", operation_id="list_mcp_tools")
async def list_mcp_tools(
    _: AdminUser, mcp: McpAdminDep, search: McpToolSearch
) -> Page[McpToolInfo]:
    """The catalogue, by number: tools in use, in quarantine, and those that are gone."""
    found = await mcp.tools(server_id=search.server_id, status=search.status)
    shown = found[search.offset : search.offset + search.limit]
    return Page[McpToolInfo](items=[McpToolInfo.of(each) for each in shown], total=len(found))


@router.get("/tools/{tool_id}", operation_id="get_mcp_tool")
async def get_mcp_tool(tool_id: ToolNumber, _: AdminUser, mcp: McpAdminDep) -> McpToolInfo:
    """A tool of the catalogue."""
    return McpToolInfo.of(await mcp.tool(tool_id))


@router.patch("/tools/{tool_id}", operation_id="update_mcp_tool")
async def update_mcp_tool(
    tool_id: ToolNumber, body: McpToolUpdate, _: AdminUser, mcp: McpAdminDep
) -> McpToolInfo:
    """Switch a tool on or off, say whether it may be tried again and how long it may take."""
    changed = await mcp.set_tool(
        tool_id,
        enabled=body.enabled,
        retry_safe=body.retry_safe,
        timeout_seconds=body.timeout,
        is_timeout_set="timeout" in body.model_fields_set,
    )
    return McpToolInfo.of(changed)


@router.get("/tools/{tool_id}/diff", operation_id="diff_mcp_tool")
async def diff_mcp_tool(tool_id: ToolNumber, _: AdminUser, mcp: McpAdminDep) -> DiffInfo:
    """What its server changed in a tool since it was approved."""
    tool = await mcp.tool(tool_id)
    return DiffInfo.of(await mcp.diff(tool_id), tool)


@router.post("/tools/{tool_id}/approve", operation_id="approve_mcp_tool")
async def approve_mcp_tool(
    tool_id: ToolNumber, body: McpToolApproval, user: CurrentUser, mcp: McpAdminDep
) -> McpToolInfo:
    """Let a tool be used as it is now, and without asking if it says that it only reads.

    For administrators, and for the owner of the tool's server. 409 if it is not the definition that
    was looked at.
    """
    approved = await mcp.approve(tool_id, definition_hash=body.definition_hash, by=user)
    return McpToolInfo.of(approved)


@router.get("/allowlists", operation_id="get_mcp_allowlist", responses={404: ERROR_RESPONSES[404]})
async def get_mcp_allowlist(
    _: AdminUser,
    mcp: McpAdminDep,
    agent_id: Annotated[Id | None, Query()] = None,
    api_key_id: Annotated[Id | None, Query()] = None,
) -> AllowlistInfo:
    """The MCP tools an agent, or an API key, may use. Name one of them."""
    return AllowlistInfo.of(await mcp.allowlist(agent_id=agent_id, api_key_id=api_key_id))


@router.put("/allowlists", operation_id="replace_mcp_allowlist")
async def replace_mcp_allowlist(
    body: AllowlistBody, _: AdminUser, mcp: McpAdminDep
) -> AllowlistInfo:
    """Replace the whole list of an agent or a key. 409 while a run of the agent is active."""
    replaced = await mcp.replace_allowlist(
        body.names, agent_id=body.agent_id, api_key_id=body.api_key_id
    )
    return AllowlistInfo.of(replaced)
