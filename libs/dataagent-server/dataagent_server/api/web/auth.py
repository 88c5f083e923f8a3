"""`/api/auth`: log in, log out, the caller's account, a new password.

Login and logout need no credential, but are refused to pages of other sites, which could otherwise
log a browser in as another user. `login.py` has the login by link.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from dataagent_core.errors import NotAuthenticated
from dataagent_server.api.deps import (
    ContainerDep,
    CurrentUser,
    LoginsDep,
    UsersDep,
    get_current_user,
)
from dataagent_server.api.route import PrivateRoute, PublicRoute
from dataagent_server.auth import drop_login_cookie, read_credentials, set_login_cookie
from dataagent_server.models.accounts import LoginRequest, PasswordChange, UserInfo

open_router = APIRouter(prefix="/auth", tags=["login"], route_class=PublicRoute)
router = APIRouter(prefix="/auth", tags=["login"], route_class=PrivateRoute)


@open_router.post("/login", operation_id="log_in")
async def log_in(
    body: LoginRequest, request: Request, response: Response, container: ContainerDep
) -> UserInfo:
    """Log in with name and password; sets the login cookie."""
    container.auth.refuse_foreign_page(read_credentials(request.headers))
    user = await container.logins.log_in(
        body.username, body.password.get_secret_value(), address=_address(request)
    )
    await container.prepare_workspace(user)
    set_login_cookie(request, response, container.tokens, user)
    return UserInfo.of(user)


@open_router.post("/logout", operation_id="log_out", status_code=204)
async def log_out(request: Request, response: Response, container: ContainerDep) -> None:
    """Log out: delete the cookie and end the login, for its copies and sockets too."""
    container.auth.refuse_foreign_page(read_credentials(request.headers))
    drop_login_cookie(request, response)
    try:
        caller = await get_current_user(request)
    except NotAuthenticated:  # logged out already
        return
    await container.logins.log_out(caller)


@router.get("/me", operation_id="get_me")
async def get_me(caller: CurrentUser, users: UsersDep) -> UserInfo:
    """The caller."""
    return UserInfo.of_caller(caller, await users.get(caller.user_id))


@router.post("/password", operation_id="change_password")
async def change_password(
    *,
    body: PasswordChange,
    request: Request,
    response: Response,
    caller: CurrentUser,
    logins: LoginsDep,
    container: ContainerDep,
) -> UserInfo:
    """Change the caller's password. Ends all their logins but this one, and their keys."""
    user = await logins.change_password(
        caller.user_id,
        body.old_password.get_secret_value(),
        body.new_password.get_secret_value(),
        address=_address(request),
        keep_keys=body.keep_keys,
    )
    if caller.via == "cookie":
        set_login_cookie(request, response, container.tokens, user)
    return UserInfo.of(user)


def _address(request: Request) -> str | None:
    """Where the request comes from; behind a proxy we trust, where the proxy says it does."""
    return None if request.client is None else request.client.host
