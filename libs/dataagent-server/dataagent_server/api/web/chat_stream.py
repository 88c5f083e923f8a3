"""One turn on `/api/chat`: a slot, then the run, then its events until it ends.

The run belongs to nobody's connection: a client that leaves misses nothing by coming back with
`Last-Event-ID`, and stops nothing by staying away, unless `DATAAGENT_ON_DISCONNECT=cancel`. Above:
`chat.py`. Below: `api/sse.py` (slots, slow readers, heartbeats, shutdown), `deps/chat.py`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence, Sized
from contextlib import suppress
from typing import Protocol

from starlette.types import Scope

from dataagent_core.errors import RunNotFound
from dataagent_core.identity import Principal
from dataagent_core.runs.types import Entry, Run
from dataagent_server.api.sse import EventStream, cursor, single_entry_bursts
from dataagent_server.api.web.chat_events import chat_text
from dataagent_server.deps.chat import start_run
from dataagent_server.deps.container import Container
from dataagent_server.models.webchat import WebChatRequest


class _Sockets(Protocol):
    """The open sockets (`ws/manager.py`, which stands beside this room)."""

    def of_session(self, session_id: str) -> Sized:
        """Those on a session."""
        ...


class ChatStream(EventStream):
    """Starts the run of a message, or finds it again, and sends what it says."""

    def __init__(
        self,
        request: WebChatRequest,
        container: Container,
        caller: Principal,
        last_event_id: str | None,
    ) -> None:
        """With a `last_event_id` nothing is started: the client comes back."""
        super().__init__(_nothing(), container, session_id="", after=0, text=chat_text)
        self._request = request
        self._container = container
        self._caller = caller
        self._last_event_id = last_event_id
        self._run: Run | None = None

    async def _prepare(self) -> None:
        """Find the conversation and its run.

        Raises:
            SessionNotFound, RunNotFound: there is no such conversation, or nothing to go on with.
            Others: as `start_run`.
        """
        sessions, request = self._container.core.sessions, self._request
        owner = self._caller.user_id
        session_id = (await sessions.get_by_thread(request.thread_id, owner=owner)).session_id
        if self._last_event_id:
            after = cursor(0, self._last_event_id)
            client_id = request.client_message_id
            self._run = await self._runs.find_resumable(
                session_id, owner=owner, after=after, client_message_id=client_id
            )
        else:
            started = await start_run(self._container, self._caller, session_id, request.chat)
            self._run, after = started.run, started.after
        if self._run is not None:
            entries = self._runs.read(self._run.run_id, after=after)
            self._set_source(single_entry_bursts(entries), session_id, after)

    async def _on_disconnect(self, scope: Scope) -> None:
        sockets: _Sockets = scope["app"].state.connections
        if (
            self._run is not None
            and self._container.settings.on_disconnect == "cancel"
            and not self._container.closing.is_set()
            and not sockets.of_session(self._run.session_id)
        ):
            with suppress(RunNotFound):
                await self._runs.cancel(self._run.run_id, owner=self._caller.user_id)


async def _nothing() -> AsyncIterator[Sequence[Entry]]:
    """No events: what a client gets that has seen everything."""
    for entries in ():
        yield entries
