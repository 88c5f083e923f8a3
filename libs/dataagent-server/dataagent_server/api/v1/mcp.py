"""MCP over HTTP: users' servers, shared servers, tools, allow-lists, calls and templates."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query

from dataagent_core.mcp.types import Scope
from dataagent_server.api.deps import (
    AdminUser,
    CurrentUser,
    McpAdminDep,
    McpCallsDep,
    McpDep,
    McpTemplatesDep,
)
from dataagent_server.api.errors import ERROR_RESPONSES
from dataagent_server.api.route import PrivateRoute
from dataagent_server.models.fields import Id, Name, Page, PathId, check_same
from dataagent_server.models.mcp import (
    CredentialsBody,
    MCPServerConfigRequest,
    MCPServerConfigResponse,
    ServerDeleted,
    SharedServerCreate,
    SharedServerInfo,
    SharedServerUpdate,
    TemplateBody,
    TemplateInfo,
    TemplateUpdate,
    TrialInfo,
    UserServerUpdate,
)
from dataagent_server.models.mcp_catalogue import (
    AllowlistBody,
    AllowlistInfo,
    CallInfo,
    CallSearch,
    DiffInfo,
    McpToolApproval,
    McpToolInfo,
    McpToolSearch,
    McpToolUpdate,
    ToolNumber,
)

# -- a user's own servers, and the shared ones they have: `/users/{user_id}/mcp-servers`

own_router = APIRouter(prefix="/users", tags=["MCP servers"], route_class=PrivateRoute)
ServerName = Annotated[Name, Path()]
Include = Annotated[
    Literal["shared"] | None, Query(description="`shared`: also those of everyone and of a tenant.")
]
_PATH = "/{user_id}/mcp-servers"
_ONE = _PATH + "/{server_name}"


@own_router.get(_PATH, operation_id="list_user_mcp_servers")
async def list_user_mcp_servers(
    user_id: PathId, user: CurrentUser, mcp: McpDep, include: Include = None
) -> Page[MCPServerConfigResponse]:
    """A user's own servers, each with its status and tools, by name.

    With `include=shared` the list has shared servers too; `scope` tells them apart.
    """
    found = await mcp.list_for(user_id, asked_by=user, is_shared_included=include == "shared")
    items = [MCPServerConfigResponse.of(each) for each in found]
    return Page[MCPServerConfigResponse](items=items, total=len(items))


@own_router.post(_PATH, operation_id="add_user_mcp_server")
async def add_user_mcp_server(
    user_id: PathId, body: MCPServerConfigRequest, user: CurrentUser, mcp: McpDep
) -> MCPServerConfigResponse:
    """Add a server; it can be used from the next session on.

    409 if the name is taken, 429 at the limit, 403 for what users may not start or reach. One with
    a shared server's name replaces it for this user.
    """
    added = await mcp.add(
        user_id, body.name, body.fields, parameters=body.parameters, asked_by=user
    )
    return MCPServerConfigResponse.of(added)


@own_router.get(_ONE, operation_id="get_user_mcp_server")
async def get_user_mcp_server(
    user_id: PathId, server_name: ServerName, user: CurrentUser, mcp: McpDep
) -> MCPServerConfigResponse:
    """One of a user's servers, or a shared one."""
    return MCPServerConfigResponse.of(await mcp.get(user_id, server_name, asked_by=user))


@own_router.put(_ONE, operation_id="update_user_mcp_server")
async def update_user_mcp_server(
    user_id: PathId,
    server_name: ServerName,
    body: UserServerUpdate,
    user: CurrentUser,
    mcp: McpDep,
) -> MCPServerConfigResponse:
    """Change a user's own server; current sessions continue with the previous version.

    Disabling it takes effect at once. 422 if the body has another `name`.
    """
    check_same("name", server_name, body.name)
    changed = await mcp.change(
        user_id, server_name, body.fields, parameters=body.parameters, asked_by=user
    )
    return MCPServerConfigResponse.of(changed)


@own_router.delete(_ONE, operation_id="delete_user_mcp_server")
async def delete_user_mcp_server(
    user_id: PathId, server_name: ServerName, user: CurrentUser, mcp: McpDep
) -> ServerDeleted:
    """Delete a user's own server with its secrets; it is disconnected at once, everywhere."""
    await mcp.remove(user_id, server_name, asked_by=user)
    return ServerDeleted(server_name=server_name)


@own_router.post(_ONE + "/test", operation_id="test_user_mcp_server")
async def test_user_mcp_server(
    user_id: PathId, server_name: ServerName, user: CurrentUser, mcp: McpDep
) -> TrialInfo:
    """Connect now and list the tools. If the server does not answer, `ok` is false."""
    return TrialInfo.of(await mcp.test(user_id, server_name, asked_by=user))


@own_router.put(_ONE + "/credentials", operation_id="set_user_mcp_credentials")
async def set_user_mcp_credentials(
    user_id: PathId,
    server_name: ServerName,
    body: CredentialsBody,
    user: CurrentUser,
    mcp: McpDep,
) -> MCPServerConfigResponse:
    """Store the caller's own credentials for a shared server; an empty body deletes them."""
    server = await mcp.set_credentials(
        user_id, server_name, headers=body.headers, env=body.env, asked_by=user
    )
    return MCPServerConfigResponse.of(server)


# -- the registry of servers, for administrators: `/mcp/servers`

servers_router = APIRouter(prefix="/mcp/servers", tags=["MCP registry"], route_class=PrivateRoute)


@servers_router.get("", operation_id="list_mcp_servers")
async def list_mcp_servers(
    _: AdminUser,
    mcp: McpAdminDep,
    scope: Scope | None = None,
    tenant_id: Annotated[Id | None, Query()] = None,
    user_id: Annotated[Id | None, Query()] = None,
) -> Page[SharedServerInfo]:
    """All matching servers, users' too, each with its status and tools."""
    found = await mcp.list(scope=scope, tenant_id=tenant_id, user_id=user_id)
    items = [SharedServerInfo.of(each) for each in found]
    return Page[SharedServerInfo](items=items, total=len(items))


@servers_router.post("", operation_id="create_mcp_server", status_code=201)
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


@servers_router.get("/{server_id}", operation_id="get_mcp_server")
async def get_mcp_server(server_id: PathId, _: AdminUser, mcp: McpAdminDep) -> SharedServerInfo:
    """A server with its status and tools."""
    return SharedServerInfo.of(await mcp.get(server_id))


@servers_router.put("/{server_id}", operation_id="update_mcp_server")
async def update_mcp_server(
    server_id: PathId, body: SharedServerUpdate, admin: AdminUser, mcp: McpAdminDep
) -> SharedServerInfo:
    """Change a server; what is left out stays. 422 if the body has another `server_id`."""
    check_same("server_id", server_id, body.server_id)
    return SharedServerInfo.of(await mcp.change(server_id, body.fields, by=admin.user_id))


@servers_router.delete("/{server_id}", operation_id="delete_mcp_server", status_code=204)
async def delete_mcp_server(server_id: PathId, _: AdminUser, mcp: McpAdminDep) -> None:
    """Delete a server with its secrets and tools."""
    await mcp.remove(server_id)


@servers_router.post("/{server_id}/enable", operation_id="enable_mcp_server")
async def enable_mcp_server(
    server_id: PathId, admin: AdminUser, mcp: McpAdminDep
) -> SharedServerInfo:
    """Enable a server."""
    changed = await mcp.change(server_id, {"disabled": False}, by=admin.user_id)
    return SharedServerInfo.of(changed)


@servers_router.post("/{server_id}/disable", operation_id="disable_mcp_server")
async def disable_mcp_server(
    server_id: PathId, admin: AdminUser, mcp: McpAdminDep
) -> SharedServerInfo:
    """Disable a server: close its connections and hide its tools."""
    changed = await mcp.change(server_id, {"disabled": True}, by=admin.user_id)
    return SharedServerInfo.of(changed)


@servers_router.post("/{server_id}/refresh", operation_id="refresh_mcp_server")
async def refresh_mcp_server(server_id: PathId, admin: AdminUser, mcp: McpAdminDep) -> TrialInfo:
    """Reconnect, and read the tools again."""
    return TrialInfo.of(await mcp.refresh(server_id, by=admin.user_id))


@servers_router.post("/{server_id}/test", operation_id="test_mcp_server")
async def test_mcp_server(server_id: PathId, admin: AdminUser, mcp: McpAdminDep) -> TrialInfo:
    """Connect and list the tools. If the server does not answer, `ok` is false."""
    return TrialInfo.of(await mcp.test(server_id, by=admin.user_id))


# -- what servers offer and who may use it: `/mcp/tools`, `/mcp/allowlists`

catalogue_router = APIRouter(prefix="/mcp", tags=["MCP registry"], route_class=PrivateRoute)


@catalogue_router.get("/tools", operation_id="list_mcp_tools")
async def list_mcp_tools(
    _: AdminUser, mcp: McpAdminDep, search: McpToolSearch
) -> Page[McpToolInfo]:
    """The catalogue, by number: active, quarantined and removed tools."""
    found = await mcp.tools(server_id=search.server_id, status=search.status)
    shown = found[search.offset : search.offset + search.limit]
    return Page[McpToolInfo](items=[McpToolInfo.of(each) for each in shown], total=len(found))


@catalogue_router.get("/tools/{tool_id}", operation_id="get_mcp_tool")
async def get_mcp_tool(tool_id: ToolNumber, _: AdminUser, mcp: McpAdminDep) -> McpToolInfo:
    """A tool of the catalogue."""
    return McpToolInfo.of(await mcp.tool(tool_id))


@catalogue_router.patch("/tools/{tool_id}", operation_id="update_mcp_tool")
async def update_mcp_tool(
    tool_id: ToolNumber, body: McpToolUpdate, _: AdminUser, mcp: McpAdminDep
) -> McpToolInfo:
    """Enable or disable a tool, and set its retries and its timeout."""
    changed = await mcp.set_tool(
        tool_id,
        enabled=body.enabled,
        retry_safe=body.retry_safe,
        timeout_seconds=body.timeout,
        is_timeout_set="timeout" in body.model_fields_set,
    )
    return McpToolInfo.of(changed)


@catalogue_router.get("/tools/{tool_id}/diff", operation_id="diff_mcp_tool")
async def diff_mcp_tool(tool_id: ToolNumber, _: AdminUser, mcp: McpAdminDep) -> DiffInfo:
    """The changes of a tool since it was approved."""
    tool = await mcp.tool(tool_id)
    return DiffInfo.of(await mcp.diff(tool_id), tool)


@catalogue_router.post("/tools/{tool_id}/approve", operation_id="approve_mcp_tool")
async def approve_mcp_tool(
    tool_id: ToolNumber, body: McpToolApproval, user: CurrentUser, mcp: McpAdminDep
) -> McpToolInfo:
    """Approve a tool's current definition; a read-only tool then needs no approval of calls.

    For administrators, and for the owner of the tool's server. 409 if the definition is not the
    current one.
    """
    approved = await mcp.approve(tool_id, definition_hash=body.definition_hash, by=user)
    return McpToolInfo.of(approved)


@catalogue_router.get(
    "/allowlists", operation_id="get_mcp_allowlist", responses={404: ERROR_RESPONSES[404]}
)
async def get_mcp_allowlist(
    _: AdminUser,
    mcp: McpAdminDep,
    agent_id: Annotated[Id | None, Query()] = None,
    api_key_id: Annotated[Id | None, Query()] = None,
) -> AllowlistInfo:
    """The MCP tools an agent, or an API key, may use. Name one of them."""
    return AllowlistInfo.of(await mcp.allowlist(agent_id=agent_id, api_key_id=api_key_id))


@catalogue_router.put("/allowlists", operation_id="replace_mcp_allowlist")
async def replace_mcp_allowlist(
    body: AllowlistBody, _: AdminUser, mcp: McpAdminDep
) -> AllowlistInfo:
    """Replace the whole list of an agent or a key. 409 while a run of the agent is active."""
    replaced = await mcp.replace_allowlist(
        body.names, agent_id=body.agent_id, api_key_id=body.api_key_id
    )
    return AllowlistInfo.of(replaced)


# -- which tools were called, for administrators: `/mcp/calls`

calls_router = APIRouter(prefix="/mcp/calls", tags=["MCP registry"], route_class=PrivateRoute)


@calls_router.get("", operation_id="list_mcp_calls")
async def list_mcp_calls(_: AdminUser, calls: McpCallsDep, search: CallSearch) -> Page[CallInfo]:
    """Calls, newest first. A call appears within a second of its end."""
    found, total = await calls.list(search.wanted, limit=search.limit, offset=search.offset)
    return Page[CallInfo](items=[CallInfo.of(each) for each in found], total=total)


# -- stdio servers that users may have: `/mcp/templates`

templates_router = APIRouter(
    prefix="/mcp/templates", tags=["MCP templates"], route_class=PrivateRoute
)


@templates_router.get("", operation_id="list_mcp_templates")
async def list_mcp_templates(user: CurrentUser, templates: McpTemplatesDep) -> Page[TemplateInfo]:
    """The templates with their parameters, by name."""
    items = [TemplateInfo.of(each, is_admin=user.is_admin) for each in await templates.list()]
    return Page[TemplateInfo](items=items, total=len(items))


@templates_router.post("", operation_id="create_mcp_template", status_code=201)
async def create_mcp_template(
    body: TemplateBody, admin: AdminUser, templates: McpTemplatesDep
) -> TemplateInfo:
    """Create a template. For administrators; 409 if the name is taken."""
    return TemplateInfo.of(await templates.create(body.new, by=admin.user_id), is_admin=True)


@templates_router.get("/{template_id}", operation_id="get_mcp_template")
async def get_mcp_template(
    template_id: PathId, user: CurrentUser, templates: McpTemplatesDep
) -> TemplateInfo:
    """A template, by id or name."""
    return TemplateInfo.of(await templates.get(template_id), is_admin=user.is_admin)


@templates_router.put("/{template_id}", operation_id="replace_mcp_template")
async def replace_mcp_template(
    template_id: PathId, body: TemplateUpdate, admin: AdminUser, templates: McpTemplatesDep
) -> TemplateInfo:
    """Replace a template. For administrators.

    Servers made from it are disabled until their users enter its parameters again.
    """
    if body.template_id is not None:  # the address may have its name
        known = await templates.get(template_id)
        check_same("template_id", known.template_id, body.template_id)
    replaced = await templates.update(template_id, body.new, by=admin.user_id)
    return TemplateInfo.of(replaced, is_admin=True)


@templates_router.delete("/{template_id}", operation_id="delete_mcp_template", status_code=204)
async def delete_mcp_template(
    template_id: PathId, _: AdminUser, templates: McpTemplatesDep
) -> None:
    """Delete a template; servers made from it are disabled. For administrators."""
    await templates.delete(template_id)


router = APIRouter()
for _part in (own_router, servers_router, catalogue_router, calls_router, templates_router):
    router.include_router(_part)
