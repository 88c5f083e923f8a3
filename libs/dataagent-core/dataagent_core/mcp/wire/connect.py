"""Opens a session: picks the transport, negotiates the protocol, follows changes of the tools.

Streamable HTTP is the SDK's transport over our HTTP client (`http.py`); stdio and SSE are ours, for
the reasons given there. Cancellations are sent in the background, so that a caller can leave at
once although a hung server delays the messages before. The SDK's log lines hold arguments, results
and URLs with queries; each is replaced by one with its place, level and kind of exception.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import cache
from importlib.metadata import version
from types import TracebackType
from typing import Self

import anyio
import httpx2
from mcp.client._transport import Transport, TransportStreams, WriteStream
from mcp.client.client import Client
from mcp.client.session import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import Implementation, JSONRPCNotification, ToolListChangedNotification
from pydantic import ValidationError

from dataagent_core.errors import HostNotAllowed
from dataagent_core.mcp.types import ServerSpec
from dataagent_core.mcp.wire import failures
from dataagent_core.mcp.wire.confinement import ConfinedCommand
from dataagent_core.mcp.wire.http import ServerTransport, http_client
from dataagent_core.mcp.wire.interface import (
    McpSession,
    OpenFailed,
    SessionSignals,
    WireLimits,
    innermost,
)
from dataagent_core.mcp.wire.process import Stderr
from dataagent_core.mcp.wire.session import ElicitationRouter, SdkSession
from dataagent_core.mcp.wire.sse import sse_transport
from dataagent_core.mcp.wire.stdio import stdio_transport
from dataagent_core.network import HostPolicy

_CANCELLED = "notifications/cancelled"


@asynccontextmanager
async def cancelling_in_background(transport: Transport) -> AsyncGenerator[TransportStreams]:
    """Wrap a transport so that cancellations do not wait for the messages before them."""
    async with transport as (reading, writing):
        writer = _BackgroundCancellation(writing)
        try:
            yield reading, writer
        finally:
            await writer.end()


class _BackgroundCancellation:
    """Sends cancellations in tasks of their own and all else directly."""

    def __init__(self, inner: WriteStream[SessionMessage]) -> None:
        self._inner = inner
        self._sending: set[asyncio.Task[None]] = set()

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message; a cancellation in the background."""
        message = item.message
        if isinstance(message, JSONRPCNotification) and message.method == _CANCELLED:
            task = asyncio.create_task(self._send_cancellation(item))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)
        else:
            await self._inner.send(item)

    async def _send_cancellation(self, item: SessionMessage) -> None:
        try:
            await self._inner.send(item)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # the session has ended, and the call with it

    async def end(self) -> None:
        """Cancel what has not been sent yet."""
        for task in self._sending:
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


_LOGGERS = ("mcp", "client", "httpx2", "httpcore2")
"""`client` is how the library names the log of its session."""
_log = logging.getLogger(__name__)


class _Summary(logging.Handler):
    """Logs that the SDK logged something, without its words."""

    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0] if record.exc_info else None
        _log.log(
            logging.DEBUG if record.levelno < logging.ERROR else logging.WARNING,
            "the MCP library reports something",
            extra={
                "place": f"{record.name}:{record.lineno}",
                "library_level": record.levelname.lower(),
                "kind": kind.__name__ if kind else None,
            },
        )


@cache
def quiet_library() -> None:
    """Replace the handlers of the SDK's loggers, once."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers[:] = [_Summary()]
        logger.propagate = False
        logger.setLevel(logging.WARNING)


_NOT_STREAMABLE = frozenset({400, 404, 405, 406, 415})
_RELISTEN_SECONDS = 5.0
_FOLLOW_SECONDS = 2.0
_AUTH = frozenset({failures.UNAUTHORIZED, failures.FORBIDDEN})


@asynccontextmanager
async def connect(
    spec: ServerSpec,
    *,
    hosts: HostPolicy,
    signals: SessionSignals,
    stderr: Stderr,
    limits: WireLimits,
    confined: ConfinedCommand | None = None,
) -> AsyncGenerator[McpSession]:
    """Open a session for as long as the block lasts.

    Raises:
        OpenFailed: there is none to be had.
    """
    quiet_library()
    connector = _Connector(
        spec, hosts, signals=signals, stderr=stderr, limits=limits, confined=confined
    )
    async with AsyncExitStack() as stack:
        try:
            session = await connector.open(stack)
        except Exception as error:
            raise _open_failed(error, stderr, signals) from error
        yield session


class _Connector:
    """Opens a session with one server."""

    def __init__(
        self,
        spec: ServerSpec,
        hosts: HostPolicy,
        *,
        signals: SessionSignals,
        stderr: Stderr,
        limits: WireLimits,
        confined: ConfinedCommand | None,
    ) -> None:
        self._spec = spec
        self._confined = confined
        self._hosts = hosts
        self._signals = signals
        self._stderr = stderr
        self._limits = limits

    async def open(self, stack: AsyncExitStack) -> McpSession:
        """Enter the transport and the session on the stack."""
        if self._spec.command is not None:
            transport = stdio_transport(
                self._spec,
                signals=self._signals,
                stderr=self._stderr,
                limits=self._limits,
                confined=self._confined,
            )
            return await self._session(stack, transport)
        url = str(self._hosts.check_url(self._spec.url or "").url)
        if self._spec.transport == "sse":
            return await self._sse(stack, url)
        if self._spec.transport == "streamable_http":
            return await self._streamable(stack, url)
        return await self._with_sse_fallback(stack, url)

    async def _with_sse_fallback(self, stack: AsyncExitStack, url: str) -> McpSession:
        """Try streamable HTTP, and SSE if the server does not support it."""
        client, endpoint = self._client()
        async with AsyncExitStack() as attempt:
            try:
                session = await self._streamable(attempt, url, client)
            except Exception:
                if endpoint.last_refusal not in _NOT_STREAMABLE:
                    raise
            else:
                stack.push_async_exit(attempt.pop_all())
                return session
        return await self._sse(stack, url)

    async def _streamable(
        self, stack: AsyncExitStack, url: str, client: httpx2.AsyncClient | None = None
    ) -> McpSession:
        client = client or self._client()[0]
        await stack.enter_async_context(client)
        transport = streamable_http_client(
            url, http_client=client, max_sse_event_size=self._limits.max_message_bytes
        )
        return await self._session(stack, cancelling_in_background(transport))

    async def _sse(self, stack: AsyncExitStack, url: str) -> McpSession:
        client, _ = self._client()
        await stack.enter_async_context(client)
        transport = sse_transport(url, client, signals=self._signals, limits=self._limits)
        return await self._session(stack, cancelling_in_background(transport))

    def _client(self) -> tuple[httpx2.AsyncClient, ServerTransport]:
        return http_client(
            self._spec, hosts=self._hosts, signals=self._signals, limits=self._limits
        )

    async def _session(self, stack: AsyncExitStack, transport: Transport) -> McpSession:
        questions = ElicitationRouter(self._spec.name)
        client = Client(
            transport,
            cache=None,
            client_info=Implementation(name="dataagent", version=version("dataagent-core")),
            elicitation_callback=questions.answer,
            message_handler=self._receive,
        )
        await stack.enter_async_context(client)
        session = SdkSession(client, questions, self._signals, self._limits)
        if session.is_modern and _has_list_changed(client):
            follows = asyncio.Event()
            await stack.enter_async_context(_background(self._follow(client, follows)))
            with suppress(TimeoutError):  # so that nothing changes unseen after the first list
                async with asyncio.timeout(_FOLLOW_SECONDS):
                    await follows.wait()
            follows.set()
        return session

    async def _receive(self, message: IncomingMessage) -> None:
        """Handle notifications of the legacy protocol."""
        if isinstance(message, ToolListChangedNotification):
            self._signals.note_new_tools()

    async def _follow(self, client: Client, follows: asyncio.Event) -> None:
        """Follow notifications of the modern protocol, on a stream that is reopened when it
        ends.
        """
        while True:
            with suppress(MCPError, SubscriptionLost, TimeoutError):
                async with client.listen(tools_list_changed=True) as subscription:
                    if follows.is_set():  # a wake-up may stand for several: read what was missed
                        self._signals.note_new_tools()
                    follows.set()
                    async for _ in subscription:
                        self._signals.note_new_tools()
            follows.set()
            await asyncio.sleep(_RELISTEN_SECONDS)


def _has_list_changed(client: Client) -> bool:
    tools = client.server_capabilities.tools
    return tools is not None and bool(tools.list_changed)


@asynccontextmanager
async def _background(work: Coroutine[None, None, None]) -> AsyncGenerator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _open_failed(error: BaseException, stderr: Stderr, signals: SessionSignals) -> OpenFailed:
    """Return the reason without the SDK's wrapping."""
    cause = innermost(error)
    if isinstance(cause, OpenFailed):
        return cause
    if isinstance(cause, MCPError) and cause.code in _AUTH:
        return OpenFailed(cause.message, is_auth=True)
    is_over = isinstance(cause, MCPError) and signals.lost is not None
    reason = (signals.lost if is_over else None) or _reason(cause)
    said = stderr.last_line()[:300]
    return OpenFailed(f"{reason} It said: {said}" if said else reason)


def _reason(cause: BaseException) -> str:
    match cause:
        case HostNotAllowed():
            return str(cause)
        case MCPError():
            return f"{cause.message[:300].rstrip('.')}."
        case ValidationError():
            return "The server's first answer does not follow the protocol."
        case RuntimeError() if "protocol version" in str(cause):
            return "The server speaks no version of the protocol that we do."
        case _:
            return f"The session could not be opened ({type(cause).__name__})."
