"""`/mcp`: who may come in, and from where.

The caller is known before anything is read, as at every other address. A request that a web page
sent is let in only from pages that are trusted, or from this machine: a page whose name was pointed
at the server (DNS rebinding) has an address of its own in `Host` and `Origin`.

Who keeps the door: it is opened when the first visitor knocks, and closed with the server.

The MCP library takes a second to load, which nobody should wait for who does not use it. Above:
`main.py` and `route.py`. Below: `endpoint.py`, which is loaded here and nowhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from dataagent_core.errors import Denied
from dataagent_core.identity import Principal
from dataagent_server.api.deps import CurrentUser, container_of
from dataagent_server.api.route import PrivateRoute
from dataagent_server.auth.credentials import is_same_origin, is_unforgeable_host
from dataagent_server.deps.container import Container

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from dataagent_server.mcp.endpoint import McpEndpoint


class LazyMcpEndpoint:
    """Has the door, once somebody came."""

    def __init__(
        self, container: Container, make_server: Callable[[], Server[Any]] | None = None
    ) -> None:
        """`make_server` puts another server than ours behind the door."""
        self._container = container
        self._make_server = make_server
        self._endpoint: asyncio.Future[McpEndpoint] | None = None
        self._holding: asyncio.Task[None] | None = None
        self._leaving = asyncio.Event()

    async def answer(self, caller: Principal) -> Response:
        """The response to a request of the caller's."""
        if self._endpoint is None:
            self._endpoint = asyncio.get_running_loop().create_future()
            self._holding = asyncio.create_task(self._hold(self._endpoint), name="mcp-door")
        endpoint = await asyncio.shield(self._endpoint)
        return endpoint.answer(caller)

    async def aclose(self) -> None:
        """Close the door and every session behind it."""
        self._leaving.set()
        if self._holding is not None:
            await self._holding

    async def _hold(self, opened: asyncio.Future[McpEndpoint]) -> None:
        """Open the door and close it: both have to happen in the same task."""
        try:
            library = await asyncio.to_thread(import_module, "dataagent_server.mcp.endpoint")
            server = self._make_server() if self._make_server else None
            async with library.open_endpoint(self._container, server) as endpoint:
                opened.set_result(endpoint)
                await self._leaving.wait()
        except Exception as error:
            if opened.done():
                raise
            opened.set_exception(error)


@asynccontextmanager
async def open_lazy_endpoint(container: Container) -> AsyncGenerator[LazyMcpEndpoint]:
    """The keeper of a server's door."""
    endpoint = LazyMcpEndpoint(container)
    try:
        yield endpoint
    finally:
        await endpoint.aclose()


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
