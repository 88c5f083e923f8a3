"""`/api/users`: accounts. For administrators."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from dataagent_server.api.deps import AdminUser, LoginsDep, UsersDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.models.accounts import (
    PasswordReset,
    RoleUpdate,
    StatusUpdate,
    UserCreate,
    UserInfo,
)
from dataagent_server.models.fields import Limit, Offset, Page, PathId, SafeText

InName = Annotated[SafeText | None, Query(max_length=100, description="A part of the name.")]
router = APIRouter(prefix="/users", tags=["users"], route_class=PrivateRoute)


@router.get("", operation_id="list_users")
async def list_users(
    _: AdminUser, users: UsersDep, limit: Limit = 1000, offset: Offset = 0, search: InName = None
) -> Page[UserInfo]:
    """The accounts, oldest first. For administrators."""
    found, total = await users.page(limit=limit, offset=offset, search=search)
    return Page[UserInfo](items=[UserInfo.of(each) for each in found], total=total)


@router.post("", operation_id="create_user", status_code=201)
async def create_user(body: UserCreate, _: AdminUser, users: UsersDep) -> UserInfo:
    """Add an account. For administrators."""
    password = body.password.get_secret_value()
    return UserInfo.of(await users.create(body.username, password, role=body.role))


@router.delete("/{user_id}", operation_id="delete_user", status_code=204)
async def delete_user(user_id: PathId, admin: AdminUser, users: UsersDep) -> None:
    """Delete an account; its logins and keys end at once. For administrators.

    Not one's own, and not the last active administrator's (409).
    """
    await users.delete(user_id, by=admin)


@router.patch("/{user_id}/status", operation_id="set_user_status")
async def set_user_status(
    user_id: PathId, body: StatusUpdate, admin: AdminUser, users: UsersDep
) -> UserInfo:
    """Enable or disable an account, at once. For administrators; restricted like deleting one."""
    return UserInfo.of(await users.set_status(user_id, body.status, by=admin))


@router.patch("/{user_id}/role", operation_id="set_user_role")
async def set_user_role(
    user_id: PathId, body: RoleUpdate, admin: AdminUser, users: UsersDep
) -> UserInfo:
    """Change an account's role. For administrators; restricted like deleting one."""
    return UserInfo.of(await users.set_role(user_id, body.role, by=admin))


@router.put("/{user_id}/password", operation_id="reset_password")
async def reset_password(
    user_id: PathId, body: PasswordReset, admin: AdminUser, logins: LoginsDep
) -> UserInfo:
    """Give another user a new password; their logins and keys end. For administrators."""
    password = body.password.get_secret_value()
    user = await logins.reset_password(user_id, password, by=admin, keep_keys=body.keep_keys)
    return UserInfo.of(user)
