"""The events of a session or a run over SSE, resumed after a lost connection.

Each message's `id` is its `seq`; a reconnect sends the last one as `Last-Event-ID`. A message that
starts a run is sent again as the same message: the server recognises its `client_message_id`. The
parser follows the WHATWG rules that matter to a client: CR, LF and CRLF end lines, `data` lines are
joined by newlines, comments are ignored, and so is an `id` with NUL.
"""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol

from dataagent_client.errors import ConnectionFailed, EventsLost, UnavailableError, stream_error
from dataagent_client.http import Backoff, Http
from dataagent_client.models import RunInfo
from dataagent_client.wire import Frame, GapFrame, Received, UnknownFrame, parse_frame


@dataclass(frozen=True, slots=True)
class SseMessage:
    """One message. `last_id` is what `Last-Event-ID` says after it."""

    event: str
    data: str
    last_id: str


class SseParser:
    """Parses server-sent events from a stream of bytes, cut anywhere."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._buffer = ""
        self._data: list[str] = []
        self._event = ""
        self._last_id = ""
        self.retry_seconds: float | None = None

    def feed(self, chunk: bytes) -> list[SseMessage]:
        """The messages that are complete with this chunk."""
        self._buffer += self._decoder.decode(chunk)
        messages: list[SseMessage] = []
        for line in self._take_lines():
            message = self._line(line)
            if message is not None:
                messages.append(message)
        return messages

    def _take_lines(self) -> list[str]:
        text = self._buffer
        held = "\r" if text.endswith("\r") else ""  # may be half of a CRLF
        text = text[: len(text) - len(held)].replace("\r\n", "\n").replace("\r", "\n")
        *lines, rest = text.split("\n")
        self._buffer = rest + held
        return lines

    def _line(self, line: str) -> SseMessage | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._last_id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry_seconds = int(value) / 1000
        return None

    def _dispatch(self) -> SseMessage | None:
        event, data = self._event or "message", self._data
        self._event, self._data = "", []
        return SseMessage(event, "\n".join(data), self._last_id) if data else None


_Transient = ConnectionFailed | UnavailableError
_ENDED = ("done", "cancelled", "failed")


class RunLookup(Protocol):
    """Runs by their ids: the client."""

    async def run(self, run_id: str) -> RunInfo:
        """A run's status."""
        ...

    def run_events(self, run_id: str) -> AsyncGenerator[Received]:
        """A run's events to its end."""
        ...


async def has_ended(runs: RunLookup, run_id: str) -> bool:
    """Whether a run has ended."""
    return (await runs.run(run_id)).status in _ENDED


async def has_ended_by(runs: RunLookup, run_id: str, seq: int) -> bool:
    """Whether a run has ended, with no event after this one."""
    if not await has_ended(runs, run_id):
        return False
    async with aclosing(runs.run_events(run_id)) as items:
        return max([item.seq async for item in items]) <= seq


@dataclass(frozen=True, slots=True)
class EventSource:
    """A stream of events. A `message` starts its run, or is recognised as sent before.

    `frame` parses its messages. `is_over` tells whether a stream that ended without an event has no
    more to come; without it, more is always awaited.
    """

    path: str
    message: Mapping[str, Any] | None = None
    is_web: bool = False
    frame: Callable[[SseMessage], Frame] = lambda sent: parse_frame(sent.data)
    is_over: Callable[[], Awaitable[bool]] | None = None


class EventReader:
    """Reads a source from `after` on."""

    def __init__(self, http: Http, source: EventSource, *, after: int, backoff: Backoff) -> None:
        self._after = after
        self._http = http
        self._source = source
        self._cursor = after
        self._backoff = backoff
        self._failures = 0

    async def events(self) -> AsyncGenerator[Received]:
        """Events in order, each once, for as long as the caller reads and there are any.

        Raises:
            ApiError: the server refused.
            ConnectionFailed: the connection was lost and could not be opened again.
            EventsLost: the server no longer has what was missed.
        """
        while True:
            problem: _Transient = ConnectionFailed("The server ended the stream.")
            try:
                async with aclosing(self._connection()) as items:
                    async for item in items:
                        yield item
                if await self._is_at_end():
                    return
            except (ConnectionFailed, UnavailableError) as error:
                problem = error
            await self._pause(problem)

    async def _is_at_end(self) -> bool:
        """Whether a stream that ended is complete; after an event, `done` is still to come."""
        if self._source.is_over is None or self._cursor != self._after:
            return False
        return await self._source.is_over()

    async def _connection(self) -> AsyncGenerator[Received]:
        parser = SseParser()
        source = self._source
        is_first = source.message is not None and self._cursor == 0
        seen = {} if is_first else {"Last-Event-ID": str(self._cursor)}
        async with self._http.stream(
            source.path,
            method="GET" if source.message is None else "POST",
            body=source.message,
            params={"after": self._cursor} if source.message is None else None,
            headers={"accept": "text/event-stream", **seen},
            is_web=source.is_web,
        ) as chunks:
            async for chunk in chunks:
                for message in parser.feed(chunk):
                    if message.event == "stream_error":
                        raise stream_error(message.data)
                    for item in self._take(source.frame(message)):
                        yield item

    def _take(self, frame: Frame) -> list[Received]:
        match frame:
            case Received() if frame.seq > self._cursor:
                self._cursor = frame.seq
                self._failures = 0
                return [frame]
            case UnknownFrame(seq=int(seq)):
                self._cursor = max(self._cursor, seq)
            case GapFrame():
                raise EventsLost(frame.first_seq, frame.last_seq, frame.snapshot)
            case _:
                pass
        return []

    async def _pause(self, error: _Transient) -> None:
        self._failures += 1
        retry_after = None if isinstance(error, ConnectionFailed) else error.retry_after
        pause = self._backoff.pause(self._failures, retry_after=retry_after)
        if pause is None:
            raise error
        await asyncio.sleep(pause)
