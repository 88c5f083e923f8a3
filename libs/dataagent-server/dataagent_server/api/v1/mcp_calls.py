"""`/api/v1/mcp/calls`: which MCP tools were called, and how it ended. For administrators."""

from __future__ import annotations

from fastapi import APIRouter

from dataagent_server.api.route import PrivateRoute
from dataagent_server.deps.providers import AdminUser, McpCallsDep
from dataagent_server.models.fields import Page
from dataagent_server.models.mcp_catalogue import CallInfo, CallSearch

router = APIRouter(prefix="/mcp/calls", tags=["MCP registry"], route_class=PrivateRoute)


@router.get("", operation_id="list_mcp_calls")
async def list_mcp_calls(_: AdminUser, calls: McpCallsDep, search: CallSearch) -> Page[CallInfo]:
    """Calls, the newest first. A call shows within a second of its end."""
    found, total = await calls.list(search.wanted, limit=search.limit, offset=search.offset)
    return Page[CallInfo](items=[CallInfo.of(each) for each in found], total=total)
