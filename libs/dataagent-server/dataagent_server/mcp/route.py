"""The route `/mcp`: the caller is authenticated, foreign pages are refused, the endpoint answers.

A request of a web page is accepted from trusted origins and from this machine only: a page whose
name was pointed at the server (DNS rebinding) shows its own name in `Host` and `Origin`.

The endpoint opens at the first request, because the MCP library takes a second to load.
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
    """The MCP endpoint, opened by its first request."""

    def __init__(
        self, container: Container, make_server: Callable[[], Server[Any]] | None = None
    ) -> None:
        """`make_server` replaces our MCP server."""
        self._container = container
        self._make_server = make_server
        self._endpoint: asyncio.Future[McpEndpoint] | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    async def answer(self, caller: Principal) -> Response:
        """The response to a request of the caller's."""
        if self._endpoint is None:
            self._endpoint = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._serve(self._endpoint), name="mcp-endpoint")
        endpoint = await asyncio.shield(self._endpoint)
        return endpoint.answer(caller)

    async def aclose(self) -> None:
        """Close the endpoint and all its sessions."""
        self._closing.set()
        if self._task is not None:
            await self._task

    async def _serve(self, opened: asyncio.Future[McpEndpoint]) -> None:
        """Open the endpoint and close it, in one task as its task groups require."""
        try:
            library = await asyncio.to_thread(import_module, "dataagent_server.mcp.endpoint")
            server = self._make_server() if self._make_server else None
            async with library.open_endpoint(self._container, server) as endpoint:
                opened.set_result(endpoint)
                await self._closing.wait()
        except Exception as error:
            if opened.done():
                raise
            opened.set_exception(error)


@asynccontextmanager
async def open_lazy_endpoint(container: Container) -> AsyncGenerator[LazyMcpEndpoint]:
    """The endpoint of a server, closed at the end."""
    endpoint = LazyMcpEndpoint(container)
    try:
        yield endpoint
    finally:
        await endpoint.aclose()


router = APIRouter(route_class=PrivateRoute)


def refuse_foreign_page(request: Request) -> None:
    """Accept programs, trusted origins and pages of this machine.

    Raises:
        Denied: a page of another site sent the request.
    """
    origin, host = request.headers.get("origin"), request.headers.get("host")
    trusted = container_of(request).settings.trusted_origins
    if origin is None or origin in trusted or "*" in trusted:
        return
    if is_same_origin(origin, host) and is_unforgeable_host(host):
        return
    raise Denied(
        "A page of another site sent this request. Name its origin in DATAAGENT_CORS_ORIGINS to "
        "allow it."
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
    operation_id="mcp_endpoint",
    include_in_schema=False,
    response_model=None,
    dependencies=[Depends(refuse_foreign_page)],
)
