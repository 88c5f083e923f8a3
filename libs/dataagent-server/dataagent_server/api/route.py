"""How a route takes its request: who asks is known before the body is read, and JSON is strict.

FastAPI reads the body first and checks the caller after; `PrivateRoute` turns that round, so that
nobody unknown can make the server parse anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic_core import from_json

from dataagent_server.deps.providers import authenticate

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class StrictRequest(Request):
    """A request whose JSON keeps long numbers exact and has no half characters or deep nesting."""

    async def json(self) -> Any:
        """The body as JSON."""
        try:
            return from_json(await self.body(), allow_inf_nan=False)
        except ValueError:
            raise json.JSONDecodeError("not valid JSON", "", 0) from None


class PublicRoute(APIRoute):
    """A route for anyone."""

    def get_route_handler(self) -> Handler:
        """FastAPI's handler, on a strict request."""
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(StrictRequest(request.scope, request.receive))

        return strict


class PrivateRoute(PublicRoute):
    """A route for callers with a credential."""

    def get_route_handler(self) -> Handler:
        """As `PublicRoute`, after the caller is known."""
        handler = super().get_route_handler()

        async def private(request: Request) -> Response:
            await authenticate(request)
            return await handler(request)

        return private
