"""The stdio transport: one message a line, to and from a process of ours.

Lines have a limit: one above it fails the call it answers, and is never kept whole. Below:
`process.py` starts and ends the process, `frames.py` cuts the lines.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
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

from dataagent_core.mcp.types import ServerSpec
from dataagent_core.mcp.wire import failures
from dataagent_core.mcp.wire.confinement import Confined
from dataagent_core.mcp.wire.frames import Lines, Oversize
from dataagent_core.mcp.wire.port import Signals, WireLimits
from dataagent_core.mcp.wire.process import ServerProcess
from dataagent_core.mcp.wire.stderr import Stderr

_BUFFERED = 64
_Item = SessionMessage | Exception
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError)


@asynccontextmanager
async def stdio_transport(
    spec: ServerSpec,
    *,
    signals: Signals,
    stderr: Stderr,
    limits: WireLimits,
    confined: Confined | None = None,
) -> AsyncGenerator[TransportStreams]:
    """Streams of messages with a process that lives as long as the block.

    Raises:
        OpenFailed: the command cannot be started.
    """
    process = await ServerProcess.start(spec, stderr, confined)
    try:
        inbox, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](
            _BUFFERED
        )
        write_stream, outbox = anyio.create_memory_object_stream[SessionMessage](_BUFFERED)
        pipes = _Pipes(process, inbox, signals, limits)
        async with inbox, read_stream, write_stream, outbox, anyio.create_task_group() as group:
            group.start_soon(pipes.read)
            group.start_soon(pipes.write, outbox)
            try:
                yield read_stream, write_stream
            finally:
                group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await process.stop()


class _Pipes:
    """What passes between the process and the session."""

    def __init__(
        self,
        process: ServerProcess,
        inbox: MemoryObjectSendStream[_Item],
        signals: Signals,
        limits: WireLimits,
    ) -> None:
        self._process = process
        self._inbox = inbox
        self._signals = signals
        self._limits = limits
        self._waiting: set[RequestId] = set()

    async def read(self) -> None:
        """Pass on what the process says, until it says no more: that ends the session."""
        lines = Lines(self._limits.max_message_bytes)
        async with self._inbox:
            while data := await self._process.read():
                for line in lines.feed(data):
                    try:
                        await self._receive(line)
                    except _GONE:
                        return
        self._signals.note_lost(self._process.why_ended())

    async def _receive(self, line: bytes | Oversize) -> None:
        if isinstance(line, Oversize):
            request_id = line.request_id(self._waiting)
            if request_id is not None:
                await self._inbox.send(_too_large(request_id))
            return
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError as error:
            await self._inbox.send(error)
            return
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self._waiting.discard(message.id)
        await self._pass_on(SessionMessage(message))

    async def _pass_on(self, item: SessionMessage) -> None:
        """Hand a message in; only when there is no room is that worth a turn of the loop."""
        try:
            self._inbox.send_nowait(item)
        except anyio.WouldBlock:
            await self._inbox.send(item)

    async def write(self, outbox: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Hand over what leaves; a process that does not read any more ends the session."""
        try:
            async for item in outbox:
                if isinstance(item.message, JSONRPCRequest):
                    self._waiting.add(item.message.id)
                line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                await self._process.write(line.encode() + b"\n")
        except OSError:
            await self._inbox.aclose()
            self._signals.note_lost("The server's process does not read any more.")


def _too_large(request_id: RequestId) -> SessionMessage:
    error = ErrorData(
        code=failures.TOO_LARGE, message="The server's answer is larger than allowed."
    )
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request_id, error=error))
