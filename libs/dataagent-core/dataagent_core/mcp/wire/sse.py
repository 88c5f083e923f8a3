"""The HTTP+SSE transport of 2024: results arrive on one event stream, requests leave as POSTs.

The SDK's `sse_client` ends the session for all callers at an event of more than 1 MiB and at a
refused POST, and sends one POST at a time. Here an oversized message fails the call it answers, a
refused POST fails its request, and POSTs do not wait for each other.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import httpx2
from anyio.abc import TaskGroup, TaskStatus
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared._httpx_utils import request_within_origin, stream_within_origin
from mcp.shared.message import SessionMessage
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from dataagent_core.mcp.wire import failures
from dataagent_core.mcp.wire.frames import OversizedMessage, SseEvent, SseParser
from dataagent_core.mcp.wire.interface import OpenFailed, SessionSignals, WireLimits

_BUFFERED = 64
_Item = SessionMessage | Exception
_HEADERS = {"accept": "text/event-stream", "cache-control": "no-store"}


@asynccontextmanager
async def sse_transport(
    url: str, client: httpx2.AsyncClient, *, signals: SessionSignals, limits: WireLimits
) -> AsyncGenerator[TransportStreams]:
    """Connect, and yield the streams of messages.

    Raises:
        OpenFailed: there is no event stream, or it does not say where to post.
    """
    async with stream_within_origin(client, "GET", url, headers=_HEADERS) as response:
        await _check(response)
        inbox, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](
            _BUFFERED
        )
        write_stream, outbox = anyio.create_memory_object_stream[SessionMessage](_BUFFERED)
        session = _SseSession(url, client, inbox, signals, limits)
        async with inbox, read_stream, write_stream, outbox, anyio.create_task_group() as group:
            endpoint = await group.start(session.read, response)
            group.start_soon(session.write, outbox, endpoint, group)
            try:
                yield read_stream, write_stream
            finally:
                group.cancel_scope.cancel()


async def _check(response: httpx2.Response) -> None:
    if response.status_code >= 400:
        error = _error_in(await response.aread())
        is_auth = error.code in (failures.UNAUTHORIZED, failures.FORBIDDEN)
        raise OpenFailed(error.message, is_auth=is_auth, status=response.status_code)
    if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        raise OpenFailed("The server does not answer with an event stream.")


class _SseSession:
    """The state shared by the two halves of the connection."""

    def __init__(
        self,
        url: str,
        client: httpx2.AsyncClient,
        inbox: MemoryObjectSendStream[_Item],
        signals: SessionSignals,
        limits: WireLimits,
    ) -> None:
        self._url = url
        self._client = client
        self._inbox = inbox
        self._signals = signals
        self._limits = limits
        self._waiting: set[RequestId] = set()

    async def read(self, response: httpx2.Response, *, task_status: TaskStatus[str]) -> None:
        """Forward messages until the stream ends, which ends the session."""
        has_endpoint = False
        events = SseParser(self._limits.max_message_bytes)
        async with self._inbox:
            try:
                async for chunk in response.aiter_raw():
                    for event in events.feed(chunk):
                        if isinstance(event, SseEvent) and event.name == "endpoint":
                            if not has_endpoint:
                                task_status.started(_endpoint(self._url, event.data))
                                has_endpoint = True
                        else:
                            await self._receive(event)
            except (httpx2.StreamError, httpx2.TransportError):
                pass  # ends like a stream that the server closed
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return
        if not has_endpoint:
            raise OpenFailed("The server's event stream ended before it said where to post.")
        self._signals.note_lost("The server closed the event stream.")

    async def _receive(self, event: SseEvent | OversizedMessage) -> None:
        if isinstance(event, OversizedMessage):
            request_id = event.request_id(self._waiting)
            if request_id is not None:
                await self._fail(request_id, _TOO_LARGE)
            return
        if event.name != "message" or not event.data:
            return
        try:
            message = jsonrpc_message_adapter.validate_json(event.data, by_name=False)
        except ValidationError as error:
            await self._inbox.send(error)
            return
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self._waiting.discard(message.id)
        await self._inbox.send(SessionMessage(message))

    async def write(
        self, outbox: MemoryObjectReceiveStream[SessionMessage], endpoint: str, group: TaskGroup
    ) -> None:
        """Post messages: requests each in a task of their own, the rest in order."""
        async for item in outbox:
            if isinstance(item.message, JSONRPCRequest):
                self._waiting.add(item.message.id)
                group.start_soon(self._post, item, endpoint)
            else:
                await self._post(item, endpoint)

    async def _post(self, item: SessionMessage, endpoint: str) -> None:
        message = item.message
        body = message.model_dump(by_alias=True, mode="json", exclude_unset=True)
        response = await request_within_origin(self._client, "POST", endpoint, json=body)
        if isinstance(message, JSONRPCRequest) and not response.is_success:
            await self._fail(message.id, _error_in(response.content))

    async def _fail(self, request_id: RequestId, error: ErrorData) -> None:
        self._waiting.discard(request_id)
        reply = JSONRPCError(jsonrpc="2.0", id=request_id, error=error)
        try:
            await self._inbox.send(SessionMessage(reply))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return


_TOO_LARGE = ErrorData(
    code=failures.TOO_LARGE, message="The server's answer is larger than allowed."
)


def _endpoint(url: str, data: bytes) -> str:
    """Return the address for messages, which must be on the origin the user chose."""
    base = httpx2.URL(url)
    try:
        target = base.join(data.decode("utf-8"))
    except (UnicodeDecodeError, httpx2.InvalidURL) as error:
        raise OpenFailed("The server's address for messages cannot be understood.") from error
    if (target.scheme, target.host, target.port) != (base.scheme, base.host, base.port):
        raise OpenFailed("The server's address for messages is not its own.")
    return str(target)


def _error_in(body: bytes) -> ErrorData:
    try:
        message = jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValidationError:
        message = None
    if isinstance(message, JSONRPCError):
        return message.error
    return ErrorData(code=failures.HTTP_ERROR, message="The server refused the message.")
