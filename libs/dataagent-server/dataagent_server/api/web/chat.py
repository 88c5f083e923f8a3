"""`/api/chat`: a message in, its answer out as Server-Sent Events, for the web app.

Events have the web chat's names: `text` is `text_delta`, `tool_call` is `tool_call_start`,
`tool_result` is `tool_call_result`; the others keep theirs. Their data has the web chat's fields,
`seq` and `run_id`, and the event's own fields. A client that disconnects stops nothing, unless
`DATAAGENT_ON_DISCONNECT=cancel`, and continues with `Last-Event-ID`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence, Sized
from contextlib import suppress
from typing import Annotated, Any, Protocol

import orjson
from fastapi import APIRouter, Header
from starlette.responses import Response
from starlette.types import Scope

from dataagent_core.errors import RunNotFound
from dataagent_core.events import (
    AnyEvent,
    ErrorEvent,
    TextEvent,
    ThinkingEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from dataagent_core.identity import Principal
from dataagent_core.runs.types import Entry, Run
from dataagent_server.api.deps import ContainerDep, CurrentUser, SessionsDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.api.streaming import EVENT_STREAM, EventStream, cursor, single_entry_bursts
from dataagent_server.deps.chat import start_run
from dataagent_server.deps.container import Container
from dataagent_server.models.chat import WebChatRequest
from dataagent_server.models.fields import PathId, Seq


def chat_text(entry: Entry) -> bytes:
    """An entry as a server-sent event."""
    name, data = chat_event(entry.event)
    body = orjson.dumps({**data, "seq": entry.seq, "run_id": entry.run_id})
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (entry.seq, name.encode(), body)


def chat_event(event: AnyEvent) -> tuple[str, dict[str, Any]]:
    """The name and the data of an event; an event without names of its own here keeps its own."""
    match event:
        case TextEvent():
            final = {"is_final": True} if event.is_final else {}
            return "text_delta", {"text": event.content, **final, **_speaker(event)}
        case ThinkingEvent():
            return "thinking", {"content": event.content, **_speaker(event)}
        case ToolCallEvent():
            return "tool_call_start", {
                "id": event.tool_call_id,
                "name": event.tool_name,
                "args": event.tool_args,
                **_speaker(event),
            }
        case ToolResultEvent():
            return "tool_call_result", {
                "id": event.tool_call_id,
                "name": event.tool_name,
                "status": event.status,
                "output": event.result,
            }
        case ErrorEvent():
            return "error", {
                "message": event.error,
                "error_code": event.error_code,
                "recoverable": event.recoverable,
            }
        case _:
            return event.event_type, event.data()


def _speaker(event: TextEvent | ThinkingEvent | ToolCallEvent) -> dict[str, str | bool]:
    """The event's agent, and whether it is the answering one; empty if none was chosen."""
    if event.agent is None:
        return {}
    return {"agent": event.agent, **({"is_main": True} if event.is_main else {})}


class _Sockets(Protocol):
    """The open sockets (`ws/manager.py`)."""

    def of_session(self, session_id: str) -> Sized:
        """The sockets of a session."""
        ...


class ChatStream(EventStream):
    """Starts or finds the run of a message, and sends its events."""

    def __init__(
        self,
        request: WebChatRequest,
        container: Container,
        caller: Principal,
        last_event_id: str | None,
    ) -> None:
        """With a `last_event_id` no run is started: a client has reconnected."""
        super().__init__(_nothing(), container, session_id="", after=0, text=chat_text)
        self._request = request
        self._container = container
        self._caller = caller
        self._last_event_id = last_event_id
        self._run: Run | None = None

    async def _prepare(self) -> None:
        """Find the conversation and its run.

        Raises:
            SessionNotFound, RunNotFound: no such conversation, or no run to continue.
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
    """No events, for a client that has received everything."""
    for entries in ():
        yield entries


router = APIRouter(prefix="/chat", tags=["web chat"], route_class=PrivateRoute)
LastEventId = Annotated[
    str | None, Header(description="The `id` of the last event received, to continue after it.")
]


@router.post("", operation_id="web_chat", response_class=Response, responses=EVENT_STREAM)
async def web_chat(
    body: WebChatRequest,
    user: CurrentUser,
    container: ContainerDep,
    last_event_id: LastEventId = None,
) -> EventStream:
    """Send a message; the stream has the run's events and ends with `done`.

    With `Last-Event-ID` no run is started: the stream continues the run of the same
    `client_message_id`, or without one with what comes next in the conversation.
    """
    return ChatStream(body, container, user, last_event_id)


@router.get(
    "/{thread_id}/events",
    operation_id="web_chat_events",
    response_class=Response,
    responses=EVENT_STREAM,
)
async def web_chat_events(
    *,
    thread_id: PathId,
    user: CurrentUser,
    sessions: SessionsDep,
    container: ContainerDep,
    after: Seq = 0,
    last_event_id: LastEventId = None,
) -> EventStream:
    """A conversation's events after a `seq`, then new ones. Starts no run."""
    start = cursor(after, last_event_id)
    session = await sessions.get_by_thread(thread_id, owner=user.user_id)
    bursts = container.core.runs.follow(session.session_id, owner=user.user_id, after=start)
    return EventStream(
        bursts, container, session_id=session.session_id, after=start, text=chat_text
    )
