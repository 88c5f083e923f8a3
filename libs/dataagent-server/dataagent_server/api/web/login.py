"""`/login`: a one-time link becomes a login cookie."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse

from dataagent_core.errors import NotAuthenticated
from dataagent_core.telemetry import bind_user
from dataagent_server.api.route import PublicRoute
from dataagent_server.auth import set_login_cookie
from dataagent_server.deps.providers import ContainerDep

router = APIRouter(tags=["login"], include_in_schema=False, route_class=PublicRoute)


@router.get("/login", operation_id="login_by_link")
async def login_by_link(
    request: Request, container: ContainerDep, token: str = ""
) -> RedirectResponse:
    """Exchange a login link for a cookie and show the page."""
    user_id = await container.users.links.spend(token)
    user = None if user_id is None else await container.users.get(user_id)
    if user is None or not user.is_active:
        raise NotAuthenticated(
            "This login link was used already or is too old. Make another with "
            "`dataagent-server user link`."
        )
    bind_user(user.user_id, via="link")  # the audit log asks: the answer does not say who it is
    response = RedirectResponse("/", status_code=303)
    set_login_cookie(request, response, container.tokens, user)
    return response
