"""`/api/v1/users/{user_id}/workspace`: how much of a workspace is used."""

from __future__ import annotations

from fastapi import APIRouter

from dataagent_server.api.deps import CurrentUser, FilesDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.models.fields import PathId
from dataagent_server.models.files import WorkspaceInfo

router = APIRouter(prefix="/users", tags=["workspaces"], route_class=PrivateRoute)


@router.get("/{user_id}/workspace", operation_id="get_workspace")
async def get_workspace(user_id: PathId, user: CurrentUser, files: FilesDep) -> WorkspaceInfo:
    """The caller's workspace; any user's for administrators."""
    return WorkspaceInfo.of(await files.workspace(user_id, asked_by=user))
