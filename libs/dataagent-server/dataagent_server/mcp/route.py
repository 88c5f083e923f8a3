"""`/mcp`: who may come in, and from where.

The caller is known before anything is read, as at every other address. A request that a web page
sent is let in only from pages that are trusted, or from this machine: a page whose name was pointed
at the server (DNS rebinding) has an address of its own in `Host` and `Origin`.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from dataagent_core.errors import Denied
from dataagent_server.api.deps import CurrentUser, container_of
from dataagent_server.api.route import PrivateRoute
from dataagent_server.auth.origin import is_same_origin, is_unforgeable_host
from dataagent_server.mcp.lazy_endpoint import LazyMcpEndpoint

router = APIRouter(route_class=PrivateRoute)


def refuse_foreign_page(request: Request) -> None:
    """Let programs in, and pages that are trusted or of this machine.

    Raises:
        Denied: a page of another site is behind the request.
    """
    origin, host = request.headers.get("origin"), request.headers.get("host")
    trusted = container_of(request).settings.trusted_origins
    if origin is None or origin in trusted or "*" in trusted:
        return
    if is_same_origin(origin, host) and is_unforgeable_host(host):
        return
    raise Denied(
        "A page of another site sent this request. Name its origin in DATAAGENT_CORS_ORIGINS if it "
        "may ask."
    )


def _endpoint(request: Request) -> LazyMcpEndpoint:
    return request.app.state.mcp


async def mcp_endpoint(
    user: CurrentUser, endpoint: Annotated[LazyMcpEndpoint, Depends(_endpoint)]
) -> Response:
    """Speak MCP over streamable HTTP."""
    return await endpoint.answer(user)


router.add_api_route(
    "/mcp",
    mcp_endpoint,
    methods=["GET", "POST", "DELETE"],
    operation_id="mcp_door",
    include_in_schema=False,
    response_model=None,
    dependencies=[Depends(refuse_foreign_page)],
)
