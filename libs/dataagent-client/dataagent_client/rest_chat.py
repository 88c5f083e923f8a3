"""One message over REST, its events over SSE: the way where WebSockets do not pass.

`POST /chat` answers only when the run has ended or waits, so it is sent in the background while the
session's events are read from the last one before it. Both survive lost connections: the message is
sent again as the same message, the stream is taken up at its `seq`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from dataagent_client.wire import Received

if TYPE_CHECKING:
    from dataagent_client.client import DataAgentClient
    from dataagent_client.models import ChatResult, MessageInfo


class RestChat:
    """Sends one message and reads its run."""

    def __init__(
        self, client: DataAgentClient, session_id: str, message: str, options: dict[str, Any]
    ) -> None:
        self._client = client
        self._session_id = session_id
        self._message = message
        self._options = options
        self._run_ids: dict[str, bool] = {}  # runs seen, and whether they are ours

    async def events(self, *, is_new: bool) -> AsyncGenerator[Received]:
        """The run's events, ending with its `DoneEvent`. `is_new` says the session has none yet.

        Raises:
            ApiError, ConnectionFailed, EventsLost: as the two requests do.
        """
        after = 0 if is_new else await self._last_seq()
        started = asyncio.create_task(
            self._client.chat_sync(self._message, self._session_id, **self._options)
        )
        events = self._client.session_events(self._session_id, after=after)
        try:
            while True:
                item = await _next(events, started)
                if await self._is_ours(item.run_id):
                    yield item
        finally:
            started.cancel()
            await asyncio.gather(started, return_exceptions=True)
            await events.aclose()

    async def _last_seq(self) -> int:
        """The `seq` of the session's last event: its last run's `done`.

        0 while that run goes on: the message will be refused, or all events read.
        """
        latest = await self._latest()
        runs = [message.run_id for message in latest if message.run_id is not None]
        last = 0
        if runs and all(message.status != "running" for message in latest):
            async for item in self._client.run_events(runs[-1]):
                last = item.seq
        return last

    async def _is_ours(self, run_id: str) -> bool:
        """Whether the run answers our message, and not one that came in just before it."""
        if run_id not in self._run_ids:
            self._run_ids[run_id] = any(
                message.run_id == run_id and message.content == self._message
                for message in await self._latest()
            )
        return self._run_ids[run_id]

    async def _latest(self) -> list[MessageInfo]:
        """The session's last messages."""
        total = (await self._client.messages(self._session_id, limit=1)).total
        page = await self._client.messages(self._session_id, limit=4, offset=max(total - 4, 0))
        return page.items


async def _next(events: AsyncGenerator[Received], started: asyncio.Task[ChatResult]) -> Received:
    """The next event; the refusal of the message instead, as soon as it is known."""
    coming = asyncio.ensure_future(anext(events))
    try:
        await asyncio.wait({coming, started}, return_when=asyncio.FIRST_COMPLETED)
        if started.done():
            started.result()
        return await coming
    finally:
        if not coming.done():
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
