"""A session's or a run's events over SSE, taken up again where the connection was lost.

Each message's `id` is its `seq`; a reconnect sends the last one as `Last-Event-ID`. Starting a run
is not done here: this file only reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from dataagent_client.backoff import Backoff
from dataagent_client.errors import (
    ConnectionFailed,
    EventsLost,
    UnavailableError,
    stream_error,
)
from dataagent_client.http import Http
from dataagent_client.sse import SseParser
from dataagent_client.wire import Gap, Received, Unknown, parse_frame

_Passing = ConnectionFailed | UnavailableError


class EventStream:
    """Reads `path` (`sessions/{id}/events` or `runs/{id}/events`) from `after` on."""

    def __init__(self, http: Http, path: str, *, after: int, backoff: Backoff) -> None:
        self._http = http
        self._path = path
        self._cursor = after
        self._backoff = backoff
        self._failures = 0

    async def events(self) -> AsyncGenerator[Received]:
        """Events in order, each once, for as long as the caller reads.

        Raises:
            ApiError: the server refused.
            ConnectionFailed: the connection was lost and could not be opened again.
            EventsLost: the server no longer has what was missed.
        """
        while True:
            problem: _Passing = ConnectionFailed("The server ended the stream.")
            try:
                async with aclosing(self._connection()) as items:
                    async for item in items:
                        yield item
            except (ConnectionFailed, UnavailableError) as error:
                problem = error
            await self._pause(problem)

    async def _connection(self) -> AsyncGenerator[Received]:
        parser = SseParser()
        async with self._http.stream(
            self._path,
            params={"after": self._cursor},
            headers={"Last-Event-ID": str(self._cursor)},
        ) as chunks:
            async for chunk in chunks:
                for message in parser.feed(chunk):
                    if message.event == "stream_error":
                        raise stream_error(message.data)
                    for item in self._take(message.data):
                        yield item

    def _take(self, data: str) -> list[Received]:
        frame = parse_frame(data)
        match frame:
            case Received() if frame.seq > self._cursor:
                self._cursor = frame.seq
                self._failures = 0
                return [frame]
            case Unknown(seq=int(seq)):
                self._cursor = max(self._cursor, seq)
            case Gap():
                raise EventsLost(frame.first_seq, frame.last_seq, frame.snapshot)
            case _:
                pass
        return []

    async def _pause(self, error: _Passing) -> None:
        self._failures += 1
        retry_after = None if isinstance(error, ConnectionFailed) else error.retry_after
        pause = self._backoff.pause(self._failures, retry_after=retry_after)
        if pause is None:
            raise error
        await asyncio.sleep(pause)
