"""`/api/v1/mcp/servers`: the registry of MCP servers. For administrators."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from dataagent_core.mcp.types import Scope
from dataagent_server.api.route import PrivateRoute
from dataagent_server.deps.providers import AdminUser, McpAdminDep
from dataagent_server.models.fields import Id, Page, PathId, check_same
from dataagent_server.models.mcp import (
    SharedServerCreate,
    SharedServerInfo,
    SharedServerUpdate,
    TrialInfo,
)

router = APIRouter(prefix="/mcp/servers", tags=["MCP registry"], route_class=PrivateRoute)


@router.get("", operation_id="list_mcp_servers")
async def list_mcp_servers(
    _: AdminUser,
    mcp: McpAdminDep,
    scope: Scope | None = None,
    tenant_id: Annotated[Id | None, Query()] = None,
    user_id: Annotated[Id | None, Query()] = None,
) -> Page[SharedServerInfo]:
    """All servers that fit, users' too, each with its status and tools."""
    found = await mcp.list(scope=scope, tenant_id=tenant_id, user_id=user_id)
    items = [SharedServerInfo.of(each) for each in found]
    return Page[SharedServerInfo](items=items, total=len(items))


@router.post("", operation_id="create_mcp_server", status_code=201)
async def create_mcp_server(
    body: SharedServerCreate, admin: AdminUser, mcp: McpAdminDep
) -> SharedServerInfo:
    """Register a shared server. Its tools are used by the agents they are bound to.

    409 if the `server_id` or the name is taken.
    """
    made = await mcp.add(
        body.name,
        body.fields,
        server_id=body.server_id,
        scope=body.scope,
        tenant_id=body.tenant_id or "",
        by=admin.user_id,
    )
    return SharedServerInfo.of(made)


@router.get("/{server_id}", operation_id="get_mcp_server")
async def get_mcp_server(server_id: PathId, _: AdminUser, mcp: McpAdminDep) -> SharedServerInfo:
    """A server with its status and tools."""
    return SharedServerInfo.of(await mcp.get(server_id))


@router.put("/{server_id}", operation_id="update_mcp_server")
async def update_mcp_server(
    server_id: PathId, body: SharedServerUpdate, admin: AdminUser, mcp: McpAdminDep
) -> SharedServerInfo:
    """Change a server; what is left out stays. 422 if the body has another `server_id`."""
    check_same("server_id", server_id, body.server_id)
    return SharedServerInfo.of(await mcp.change(server_id, body.fields, by=admin.user_id))


@router.delete("/{server_id}", operation_id="delete_mcp_server", status_code=204)
async def delete_mcp_server(server_id: PathId, _: AdminUser, mcp: McpAdminDep) -> None:
    """Forget a server with its secrets and tools."""
    await mcp.remove(server_id)


@router.post("/{server_id}/enable", operation_id="enable_mcp_server")
async def enable_mcp_server(
    server_id: PathId, admin: AdminUser, mcp: McpAdminDep
) -> SharedServerInfo:
    """Let a server be used."""
    changed = await mcp.change(server_id, {"disabled": False}, by=admin.user_id)
    return SharedServerInfo.of(changed)


@router.post("/{server_id}/disable", operation_id="disable_mcp_server")
async def disable_mcp_server(
    server_id: PathId, admin: AdminUser, mcp: McpAdminDep
) -> SharedServerInfo:
    """Close a server's connections and offer its tools to nobody, until it is enabled."""
    changed = await mcp.change(server_id, {"disabled": True}, by=admin.user_id)
    return SharedServerInfo.of(changed)


@router.post("/{server_id}/refresh", operation_id="refresh_mcp_server")
async def refresh_mcp_server(server_id: PathId, admin: AdminUser, mcp: McpAdminDep) -> TrialInfo:
    """Connect anew and read the tools again."""
    return TrialInfo.of(await mcp.refresh(server_id, by=admin.user_id))


@router.post("/{server_id}/test", operation_id="test_mcp_server")
async def test_mcp_server(server_id: PathId, admin: AdminUser, mcp: McpAdminDep) -> TrialInfo:
    """Connect and list the tools. A server that does not answer is an answer: `ok` is false."""
    return TrialInfo.of(await mcp.test(server_id, by=admin.user_id))
