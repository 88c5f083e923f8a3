"""ASGI middleware of every request: its id and log line, CORS, and the limit of its body.

Outermost first: `RequestContext`, `CrossOrigin`, `BodyLimit`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dataagent_core.app.observers import Observers
from dataagent_core.errors import DataAgentError
from dataagent_core.telemetry import accepted_request_id, bind_request_id, unbind_request_id
from dataagent_server.api.errors import envelope, internal_error

access_log = logging.getLogger("dataagent_server.access")
logger = logging.getLogger(__name__)
_OPENING = frozenset({"http.response.start", "websocket.accept", "websocket.http.response.start"})
_BODY_SECONDS = 60.0
_DRAIN_SECONDS = 10.0
_MAX_DRAIN = 64 * 1024 * 1024
_MAX_DIGITS = 18
_PROBES = ("/api/v1/health", "/metrics")
_NO_ROUTE = "(none)"
HEADERS: Iterable[tuple[str, str]] = (
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Frame-Options", "DENY"),
    ("Cache-Control", "no-store"),
)
"""Default headers of every response. Only the web app's files may be cached."""


class CrossOrigin(CORSMiddleware):
    """CORS for the paths that begin with `prefix`; elsewhere other origins read nothing."""

    def __init__(self, app: ASGIApp, *, prefix: str, **options: Any) -> None:
        super().__init__(app, **options)
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or socket."""
        if scope.get("path", "").startswith(self._prefix):
            await super().__call__(scope, receive, send)
        else:
            await self.app(scope, receive, send)


class RequestContext:
    """Gives a request its id, logs its outcome, and answers 500 to uncaught errors."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or socket."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, _explain_failed_start(scope, send))
            return
        headers = Headers(scope=scope)
        request_id = accepted_request_id(headers.get("x-request-id"))
        client: tuple[str, int] | None = scope.get("client")
        token = bind_request_id(request_id, address=client[0] if client else None)
        exchange = _Exchange(scope, send, request_id)
        try:
            with _span(scope, headers) as span:
                await self._app(scope, receive, exchange.send)
                exchange.describe(span, scope)
        except asyncio.CancelledError:
            raise
        except Exception:
            await exchange.answer_uncaught(scope, receive)
        finally:
            exchange.count(scope)
            exchange.log(scope)
            unbind_request_id(token)


def _explain_failed_start(scope: Scope, send: Send) -> Send:
    """`send` for startup: a failure with a known reason is reported without a traceback."""

    async def explain(message: Message) -> None:
        reason: DataAgentError | None = getattr(scope["app"].state, "refusal", None)
        if message["type"] == "lifespan.startup.failed" and reason is not None:
            message = {**message, "message": f"DataAgent does not start. {reason.message}"}
        await send(message)

    return explain


class _Exchange:
    """One request and its response."""

    def __init__(self, scope: Scope, send: Send, request_id: str) -> None:
        self._state: dict[str, Any] = scope.setdefault("state", {})
        self._send = send
        self._request_id = request_id
        self._started_at = time.perf_counter()
        self._answered_at: float | None = None
        self._status: int | None = None

    async def send(self, message: Message) -> None:
        if message["type"] in _OPENING:
            self._status = message.get("status", 101)
            self._answered_at = time.perf_counter()
            message.setdefault("headers", [])
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self._request_id
            for name, value in HEADERS:
                headers.setdefault(name, value)
            if "principal" in self._state and "no-store" not in headers["Cache-Control"]:
                headers["Cache-Control"] = "no-store"  # it is private
        await self._send(message)

    async def answer_uncaught(self, scope: Scope, receive: Receive) -> None:
        """Log an uncaught error; answer unless the response has begun."""
        logger.exception("request failed")
        if self._status is None and scope["type"] == "http":
            await internal_error()(scope, receive, self.send)

    def describe(self, span: Any, scope: Scope) -> None:  # OpenTelemetry's, or None
        """Set the route and status on a span."""
        if span is not None:
            route = route_template(scope)
            span.update_name(f"{scope['method']} {route}")
            span.set_attribute("http.route", route)
            span.set_attribute("http.response.status_code", self._status or 0)

    def count(self, scope: Scope) -> None:
        """Count the request in the metrics, once the app is open."""
        observers = _observers(scope)
        if observers is not None:
            answered_at = self._answered_at or time.perf_counter()
            observers.metrics.request_ended(
                scope.get("method", "WEBSOCKET"),
                route_template(scope),
                self._status or 499,  # the caller left before there was an answer
                seconds_to_answer=answered_at - self._started_at,
            )

    def log(self, scope: Scope) -> None:
        is_probe = scope["path"].startswith(_PROBES)
        access_log.log(
            logging.DEBUG if is_probe else logging.INFO,
            "%s %s",
            scope.get("method", "WEBSOCKET"),
            scope["path"],
            extra={
                "status": self._status,
                "duration_ms": round((time.perf_counter() - self._started_at) * 1000, 1),
                "request_id": self._request_id,
            },
        )


def _observers(scope: Scope) -> Observers | None:
    """The app's observers; None before it is open."""
    container = getattr(scope["app"].state, "container", None)
    return None if container is None else container.core.observers


def _span(scope: Scope, headers: Headers) -> AbstractContextManager[Any]:
    """A request's span. A socket has none: it may last for days, and each run has its own.

    Both join the trace that the caller names, if any.
    """
    observers = _observers(scope)
    if observers is None or scope["path"].startswith(_PROBES):
        return nullcontext()
    if scope["type"] != "http":
        return observers.traces.join(headers)
    named = {"http.request.method": scope["method"]}
    return observers.traces.span(scope["method"], named, kind="server", headers=headers)


def route_template(scope: Scope) -> str:
    """The route's template, such as `/api/v1/runs/{run_id}`; never the actual path."""
    # a route's own path lacks the prefixes of its routers; FastAPI puts the whole in the scope
    included = scope.get("fastapi", {}).get("effective_route_context")
    template = getattr(included, "path_format", None)
    return template or getattr(scope.get("route"), "path", None) or _NO_ROUTE


class BodyLimit:
    """Refuses a body over the limit with 413 before it is parsed, and a slow one with 408.

    Routes that receive files have limits of their own.
    """

    def __init__(
        self, app: ASGIApp, max_bytes: int, max_bytes_at: Mapping[str, int] | None = None
    ) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._max_bytes_at = max_bytes_at or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        max_bytes = self._max_bytes_at.get(scope["path"], self._max_bytes)
        declared = Headers(scope=scope).get("content-length", "0")
        if len(declared) > _MAX_DIGITS or not declared.isdecimal():
            declared = "9" * _MAX_DIGITS
        message = f"The body has more than {max_bytes} bytes, the limit of this route."
        if int(declared) > max_bytes:
            await _drain(receive)
            refusal = envelope(413, "too_large", message)
            await refusal(scope, receive, send)
            return
        await self._app(scope, _CountedBody(receive, max_bytes, message), send)


class _CountedBody:
    """`receive` with a limit on the body's bytes and time."""

    def __init__(self, receive: Receive, max_bytes: int, message: str) -> None:
        self._receive = receive
        self._left = max_bytes
        self._message = message
        self._is_complete = False

    async def __call__(self) -> Message:
        if self._is_complete:
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), _BODY_SECONDS)
        except TimeoutError:
            raise HTTPException(408, "The body did not arrive in time.") from None
        self._left -= len(message.get("body", b""))
        self._is_complete = not message.get("more_body", False)
        if self._left < 0:
            await _drain(self._receive, is_complete=self._is_complete)
            raise HTTPException(413, self._message)
        return message


async def _drain(receive: Receive, *, is_complete: bool = False) -> None:
    """Read the rest of a refused body, within limits: a client reads its answer after writing."""
    left = _MAX_DRAIN
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while not is_complete and left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                is_complete = not message.get("more_body", False)
