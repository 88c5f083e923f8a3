"""One message over a WebSocket, and its events to the end, across lost connections.

A lost connection is opened again with `?after=` and the last event seen. Until the server has
acknowledged the message it is sent again with the same `client_message_id`, so that a lost
acknowledgement never starts a second run. The run of a message that was sent before is read from
its beginning.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from dataagent_client.errors import (
    ApiError,
    ConnectionFailed,
    EventsLost,
    UnavailableError,
    error_from_close,
    error_from_frame,
    error_from_response,
)
from dataagent_client.event_stream import RunLookup, has_ended
from dataagent_client.http import Backoff
from dataagent_client.wire import (
    AcceptedFrame,
    ConnectedFrame,
    ErrorFrame,
    Frame,
    GapFrame,
    Received,
    UnknownFrame,
    client_frame,
    parse_frame,
    socket_url,
)
from dataagent_protocol.events import DoneEvent

_LARGEST_FRAME = 64 * 1024**2
_QUIET_SECONDS = 1.0  # a run that says nothing for so long may have ended before we came
_LOST = (ConnectionClosed, InvalidHandshake, OSError, TimeoutError, EOFError)


@dataclass(frozen=True, slots=True)
class SocketEndpoint:
    """Where the socket is and how it is opened."""

    base_url: str
    credentials: Callable[[], Mapping[str, str]]
    timeout_seconds: float
    backoff: Backoff


@dataclass(slots=True)
class RunProgress:
    """What is known of the run so far. Pure: frames in, events of the run out.

    `cursor` is the last `seq` seen. Events that come before the acknowledgement are held until it
    says which run is ours.
    """

    cursor: int | None = None
    run_id: str | None = None
    held: list[Received] = field(default_factory=list[Received])

    def take(self, frame: Frame) -> list[Received]:
        """The events of our run that the frame brings, each exactly once.

        Raises:
            ApiError: the message was refused.
            EventsLost: some events are gone for good.
        """
        match frame:
            case Received():
                return self._received(frame)
            case ConnectedFrame():
                if self.cursor is None:
                    self.cursor = frame.last_seq
            case AcceptedFrame():
                self.run_id = frame.run_id
                held, self.held = self.held, []
                return [item for item in held if item.run_id == frame.run_id]
            case ErrorFrame():
                if self.run_id is None:
                    raise error_from_frame(frame.error_code, frame.message)
            case GapFrame():
                raise EventsLost(frame.first_seq, frame.last_seq, frame.snapshot)
            case UnknownFrame():
                self.cursor = max(self.cursor or 0, frame.seq or 0) or self.cursor
        return []

    def _received(self, item: Received) -> list[Received]:
        if self.cursor is not None and item.seq <= self.cursor:
            return []
        self.cursor = item.seq
        if self.run_id is None:
            self.held.append(item)
            return []
        return [item] if item.run_id == self.run_id else []


class SocketChat:
    """Sends one message and reads its run."""

    def __init__(
        self,
        endpoint: SocketEndpoint,
        session_id: str,
        payload: Mapping[str, Any],
        *,
        sent_before: RunLookup | None,
    ) -> None:
        """`sent_before` are the runs to look into if the message may have been sent before."""
        self._endpoint = endpoint
        self._session_id = session_id
        self._message = client_frame("chat", dict(payload))
        self._progress = RunProgress()
        self._failures = 0
        self._sent_before = sent_before
        self._active_run: str | None = None  # the one that was under way when we came
        self._maybe_ended: str | None = None  # our run, while it may be one that has ended before
        self._whole: AsyncGenerator[Received] | None = None

    async def events(self) -> AsyncGenerator[Received]:
        """The run's events, ending with its `DoneEvent`.

        Raises:
            ApiError: the server refused the connection or the message.
            ConnectionFailed: the connection was lost and could not be opened again.
            EventsLost: the server no longer has what was missed.
        """
        async with aclosing(self._live()) as items:
            async for item in items:
                yield item
        if self._whole is not None:
            async with aclosing(self._whole) as items:
                async for item in items:
                    yield item

    async def _live(self) -> AsyncGenerator[Received]:
        """What connections bring, to the end or until the run is to be read as a whole."""
        while True:
            try:
                async with self._connect() as socket, aclosing(self._listen(socket)) as items:
                    async for item in items:
                        yield item
                        if isinstance(item.event, DoneEvent):
                            return
                return
            except UnavailableError as error:  # said in a message, before the run existed
                await self._pause(error)
            except _LOST as error:
                await self._pause(_client_error(error))

    def _connect(self) -> connect:
        endpoint = self._endpoint
        return connect(
            socket_url(endpoint.base_url, self._session_id, after=self._progress.cursor),
            additional_headers=dict(endpoint.credentials()),
            open_timeout=endpoint.timeout_seconds,
            close_timeout=1,
            max_size=_LARGEST_FRAME,
        )

    async def _listen(self, socket: ClientConnection) -> AsyncGenerator[Received]:
        while (sent := await self._receive(socket)) is not None:
            frame = parse_frame(sent)
            items = self._progress.take(frame)
            if isinstance(frame, Received | AcceptedFrame):  # the line is good for something
                self._failures = 0
            if isinstance(frame, AcceptedFrame) and self._is_earlier(frame.run_id):
                return
            for item in items:
                self._maybe_ended = None
                yield item
            if isinstance(frame, ConnectedFrame) and self._progress.run_id is None:
                self._active_run = self._active_run or frame.active_run
                with suppress(ConnectionClosed):  # what has arrived is still to be read
                    await socket.send(self._message)

    def _is_earlier(self, run_id: str) -> bool:
        """Whether our run was under way when we came; if not, it may have ended before that."""
        runs = self._sent_before
        if runs is None:
            return False
        self._maybe_ended = run_id
        if run_id == self._active_run:
            self._whole = runs.run_events(run_id)
        return self._whole is not None

    async def _receive(self, socket: ClientConnection) -> str | bytes | None:
        """What is sent next; None if our run has ended before, so that nothing of it will come."""
        runs, run_id = self._sent_before, self._maybe_ended
        if runs is None or run_id is None:
            return await socket.recv()
        try:
            async with asyncio.timeout(_QUIET_SECONDS):
                return await socket.recv()
        except TimeoutError:
            self._maybe_ended = None
        if not await has_ended(runs, run_id):
            return await socket.recv()
        self._whole = runs.run_events(run_id)
        return None

    async def _pause(self, error: ApiError | ConnectionFailed) -> None:
        """Wait before the next attempt, or raise if another would not help."""
        self._failures += 1
        if isinstance(error, ApiError) and not isinstance(error, UnavailableError):
            raise error
        retry_after = error.retry_after if isinstance(error, ApiError) else None
        pause = self._endpoint.backoff.pause(self._failures, retry_after=retry_after)
        if pause is None:
            raise error
        await asyncio.sleep(pause)


def _client_error(error: Exception) -> ApiError | ConnectionFailed:
    """What a failed or lost connection means to the caller."""
    refusal: ApiError | None = None
    if isinstance(error, InvalidStatus):
        response = error.response
        headers = {name.lower(): value for name, value in response.headers.raw_items()}
        refusal = error_from_response(response.status_code, headers, bytes(response.body or b""))
    elif isinstance(error, ConnectionClosed) and error.rcvd is not None:
        refusal = error_from_close(error.rcvd.code, error.rcvd.reason)
    if refusal is not None:
        refusal.__cause__ = error
        return refusal
    failed = ConnectionFailed(f"The connection to the server was lost: {error or 'no answer'}.")
    failed.__cause__ = error
    return failed
