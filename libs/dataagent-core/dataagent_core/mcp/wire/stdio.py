"""The stdio transport: one message per line, to and from a process of ours.

The SDK's `stdio_client` starts the process itself, unconfined, and has no limit for a line. Here a
line above the limit fails the call it answers and is never stored whole. The sender writes directly
and the session's loop reads directly: with no task between them, a message costs no extra turn of
the event loop.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

import anyio
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from dataagent_core.mcp.types import ServerSpec
from dataagent_core.mcp.wire import failures
from dataagent_core.mcp.wire.confinement import ConfinedCommand
from dataagent_core.mcp.wire.frames import LineBuffer, OversizedMessage
from dataagent_core.mcp.wire.interface import SessionSignals, WireLimits
from dataagent_core.mcp.wire.process import ServerProcess, Stderr
from dataagent_core.workspace.workers import run_to_completion

_Item = SessionMessage | Exception


@asynccontextmanager
async def stdio_transport(
    spec: ServerSpec,
    *,
    signals: SessionSignals,
    stderr: Stderr,
    limits: WireLimits,
    confined: ConfinedCommand | None = None,
) -> AsyncGenerator[TransportStreams]:
    """Start a process for as long as the block lasts, and yield the streams of messages.

    Raises:
        OpenFailed: the command cannot be started.
    """
    process = await ServerProcess.start(spec, stderr, confined)
    waiting: set[RequestId] = set()
    try:
        yield (
            _StdoutReader(process, waiting, signals, limits),
            _StdinWriter(process, waiting, signals),
        )
    finally:
        with anyio.CancelScope(shield=True):
            await run_to_completion(
                process.stop()
            )  # the shield stops anyio's cancellations, not a task's


class _Pipe:
    """One direction between the process and the session."""

    def __init__(
        self, process: ServerProcess, waiting: set[RequestId], signals: SessionSignals
    ) -> None:
        self._process = process
        self._waiting = waiting
        self._signals = signals
        self._is_closed = False

    async def aclose(self) -> None:
        """Close the stream; the process is ended by `stdio_transport`."""
        self._is_closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


class _StdoutReader(_Pipe):
    """Reads messages; the end of the output ends the session."""

    def __init__(
        self,
        process: ServerProcess,
        waiting: set[RequestId],
        signals: SessionSignals,
        limits: WireLimits,
    ) -> None:
        super().__init__(process, waiting, signals)
        self._lines = LineBuffer(limits.max_message_bytes)
        self._here: deque[_Item] = deque()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _Item:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def receive(self) -> _Item:
        """Return the next message, or the error of a line that is none.

        Raises:
            anyio.EndOfStream: there will be none.
            anyio.ClosedResourceError: the stream is closed.
        """
        while not self._here:
            if self._is_closed:
                raise anyio.ClosedResourceError
            data = await self._process.read()
            if not data:
                self._signals.note_lost(self._process.exit_reason())
                raise anyio.EndOfStream
            self._here.extend(
                item for line in self._lines.feed(data) if (item := self._item(line)) is not None
            )
        return self._here.popleft()

    def _item(self, line: bytes | OversizedMessage) -> _Item | None:
        if isinstance(line, OversizedMessage):
            request_id = line.request_id(self._waiting)
            return None if request_id is None else _too_large(request_id)
        if not line.strip():
            return None
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError as error:
            return error
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self._waiting.discard(message.id)
        return SessionMessage(message)


class _StdinWriter(_Pipe):
    """Writes messages; a process that stops reading ends the session."""

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message; wait while the process has too much to read, except for a notification.

        Notifications are sent by callers who have left and must not wait.

        Raises:
            anyio.ClosedResourceError: the session is over.
            anyio.BrokenResourceError: the process does not read any more.
        """
        if self._is_closed:
            raise anyio.ClosedResourceError
        message = item.message
        if isinstance(message, JSONRPCRequest):
            self._waiting.add(message.id)
        line = message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        try:
            self._process.write(line)
            if not isinstance(message, JSONRPCNotification):
                await self._process.drain()
        except OSError:
            self._signals.note_lost("The server's process does not read any more.")
            raise anyio.BrokenResourceError from None


def _too_large(request_id: RequestId) -> SessionMessage:
    error = ErrorData(
        code=failures.TOO_LARGE, message="The server's answer is larger than allowed."
    )
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request_id, error=error))
