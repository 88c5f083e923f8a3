"""`/api/chat`: a message in, the answer out as Server-Sent Events, for the web app."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header
from starlette.responses import Response

from dataagent_server.api.deps import ContainerDep, CurrentUser, SessionsDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.api.sse import EVENT_STREAM, EventStream, cursor
from dataagent_server.api.web.chat_events import chat_text
from dataagent_server.api.web.chat_stream import ChatStream
from dataagent_server.models.fields import PathId, Seq
from dataagent_server.models.webchat import WebChatRequest

router = APIRouter(prefix="/chat", tags=["web chat"], route_class=PrivateRoute)
LastEventId = Annotated[
    str | None, Header(description="The `id` of the last event seen, by a client that comes back.")
]


@router.post("", operation_id="web_chat", response_class=Response, responses=EVENT_STREAM)
async def web_chat(
    body: WebChatRequest,
    user: CurrentUser,
    container: ContainerDep,
    last_event_id: LastEventId = None,
) -> EventStream:
    """Send a message; the stream has the run's events and ends with `done`.

    With `Last-Event-ID` no run is started: the stream goes on with the run of the same
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
    """A conversation's events after a `seq`, then those to come. Starts nothing."""
    start = cursor(after, last_event_id)
    session = await sessions.get_by_thread(thread_id, owner=user.user_id)
    bursts = container.core.runs.follow(session.session_id, owner=user.user_id, after=start)
    return EventStream(
        bursts, container, session_id=session.session_id, after=start, text=chat_text
    )
