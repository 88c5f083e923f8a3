"""`/api/v1/users/{user_id}/mcp-servers`: a user's MCP servers, and the shared ones they have.

For the user, and for administrators.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query

from dataagent_server.api.route import PrivateRoute
from dataagent_server.deps.providers import CurrentUser, McpDep
from dataagent_server.models.fields import Name, Page, PathId, check_same
from dataagent_server.models.mcp import (
    CredentialsBody,
    ServerDeleted,
    TrialInfo,
    UserServerCreate,
    UserServerInfo,
    UserServerUpdate,
)

router = APIRouter(prefix="/users", tags=["MCP servers"], route_class=PrivateRoute)
ServerName = Annotated[Name, Path()]
Include = Annotated[
    Literal["shared"] | None, Query(description="`shared`: also those of everyone and of a tenant.")
]
_PATH = "/{user_id}/mcp-servers"
_ONE = _PATH + "/{server_name}"


@router.get(_PATH, operation_id="list_user_mcp_servers")
async def list_user_mcp_servers(
    user_id: PathId, user: CurrentUser, mcp: McpDep, include: Include = None
) -> Page[UserServerInfo]:
    """A user's own servers, each with its status and tools, by name.

    With `include=shared` the shared ones they have are among them; `scope` says which those are.
    """
    found = await mcp.list_for(user_id, asked_by=user, is_shared_included=include == "shared")
    items = [UserServerInfo.of(each) for each in found]
    return Page[UserServerInfo](items=items, total=len(items))


@router.post(_PATH, operation_id="add_user_mcp_server", status_code=201)
async def add_user_mcp_server(
    user_id: PathId, body: UserServerCreate, user: CurrentUser, mcp: McpDep
) -> UserServerInfo:
    """Add a server; it can be used from the next session on.

    409 if the name is taken, 429 at the limit. One of the name of a shared server stands in its
    place for this user. 403 for what the installation does not let users start or reach.
    """
    added = await mcp.add(
        user_id, body.name, body.fields, parameters=body.parameters, asked_by=user
    )
    return UserServerInfo.of(added)


@router.get(_ONE, operation_id="get_user_mcp_server")
async def get_user_mcp_server(
    user_id: PathId, server_name: ServerName, user: CurrentUser, mcp: McpDep
) -> UserServerInfo:
    """One of a user's servers, or a shared one."""
    return UserServerInfo.of(await mcp.get(user_id, server_name, asked_by=user))


@router.put(_ONE, operation_id="update_user_mcp_server")
async def update_user_mcp_server(
    user_id: PathId,
    server_name: ServerName,
    body: UserServerUpdate,
    user: CurrentUser,
    mcp: McpDep,
) -> UserServerInfo:
    """Change a user's own server; sessions in progress go on with it as it was.

    Unless it is disabled, which holds at once. 422 if the body has another `name`.
    """
    check_same("name", server_name, body.name)
    changed = await mcp.change(
        user_id, server_name, body.fields, parameters=body.parameters, asked_by=user
    )
    return UserServerInfo.of(changed)


@router.delete(_ONE, operation_id="delete_user_mcp_server")
async def delete_user_mcp_server(
    user_id: PathId, server_name: ServerName, user: CurrentUser, mcp: McpDep
) -> ServerDeleted:
    """Forget a user's own server with its secrets; it is disconnected at once, everywhere."""
    await mcp.remove(user_id, server_name, asked_by=user)
    return ServerDeleted(server_name=server_name)


@router.post(_ONE + "/test", operation_id="test_user_mcp_server")
async def test_user_mcp_server(
    user_id: PathId, server_name: ServerName, user: CurrentUser, mcp: McpDep
) -> TrialInfo:
    """Connect now and list the tools. A server that does not answer is an answer: `ok` is false."""
    return TrialInfo.of(await mcp.test(user_id, server_name, asked_by=user))


@router.put(_ONE + "/credentials", operation_id="set_user_mcp_credentials")
async def set_user_mcp_credentials(
    user_id: PathId,
    server_name: ServerName,
    body: CredentialsBody,
    user: CurrentUser,
    mcp: McpDep,
) -> UserServerInfo:
    """Keep the caller's own credentials for a shared server; an empty body forgets them."""
    kept = await mcp.set_credentials(
        user_id, server_name, headers=body.headers, env=body.env, asked_by=user
    )
    return UserServerInfo.of(kept)
