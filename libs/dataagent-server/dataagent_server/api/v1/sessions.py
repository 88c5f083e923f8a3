"""`/api/v1/sessions`: conversations, their messages and their events."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header
from starlette.responses import Response

from dataagent_core.runs.types import RunOptions
from dataagent_server.api.deps import ContainerDep, CurrentUser, RunsDep, SessionsDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.api.streaming import EVENT_STREAM, EventStream, cursor
from dataagent_server.deps.chat import DEFAULT_ASSISTANT
from dataagent_server.models.chat import ChatAccepted
from dataagent_server.models.fields import Limit, Offset, Page, PathId, Seq
from dataagent_server.models.sessions import (
    MessageInfo,
    SessionCompact,
    SessionCreate,
    SessionInfo,
)

router = APIRouter(prefix="/sessions", tags=["sessions"], route_class=PrivateRoute)


@router.get("", operation_id="list_sessions")
async def list_sessions(
    user: CurrentUser, sessions: SessionsDep, limit: Limit = 100, offset: Offset = 0
) -> Page[SessionInfo]:
    """The caller's sessions, the last active first."""
    found, total = await sessions.list(owner=user.user_id, limit=limit, offset=offset)
    return Page[SessionInfo](items=[SessionInfo.of(each) for each in found], total=total)


@router.post("", operation_id="create_session", status_code=201)
async def create_session(
    body: SessionCreate, user: CurrentUser, sessions: SessionsDep
) -> SessionInfo:
    """Create a session."""
    assistant_id = body.assistant_id or DEFAULT_ASSISTANT
    made = await sessions.create(user.user_id, assistant_id, metadata=body.metadata)
    return SessionInfo.of(made)


@router.get("/{session_id}", operation_id="get_session")
async def get_session(session_id: PathId, user: CurrentUser, sessions: SessionsDep) -> SessionInfo:
    """One of the caller's sessions."""
    return SessionInfo.of(await sessions.get(session_id, owner=user.user_id))


@router.delete("/{session_id}", operation_id="delete_session", status_code=204)
async def delete_session(session_id: PathId, user: CurrentUser, runs: RunsDep) -> None:
    """Delete one of the caller's sessions with its history and artefacts, and cancel its run."""
    await runs.delete_permanently(session_id, owner=user.user_id)


@router.post("/{session_id}/compact", operation_id="compact_session", status_code=202)
async def compact_session(
    session_id: PathId, body: SessionCompact, user: CurrentUser, runs: RunsDep
) -> ChatAccepted:
    """Summarise the older part of a conversation for the model, as a run of its own.

    The messages stay as they are. The run's answer is the summary the model continues from.
    """
    options = RunOptions(has_account=user.credential_ref is not None, role=user.role)
    started = await runs.compact(
        session_id, owner=user.user_id, keep=body.keep or "", options=options
    )
    return ChatAccepted.of(started.run)


@router.get("/{session_id}/messages", operation_id="list_messages")
async def list_messages(
    session_id: PathId,
    user: CurrentUser,
    sessions: SessionsDep,
    limit: Limit = 100,
    offset: Offset = 0,
) -> Page[MessageInfo]:
    """A page of a session's messages, oldest first."""
    found, total = await sessions.messages(
        session_id, owner=user.user_id, limit=limit, offset=offset
    )
    return Page[MessageInfo](items=[MessageInfo.of(each) for each in found], total=total)


@router.get(
    "/{session_id}/events",
    operation_id="session_events",
    response_class=Response,
    responses=EVENT_STREAM,
)
async def session_events(
    *,
    session_id: PathId,
    user: CurrentUser,
    sessions: SessionsDep,
    runs: RunsDep,
    container: ContainerDep,
    after: Seq = 0,
    last_event_id: Annotated[str | None, Header()] = None,
) -> EventStream:
    """A session's events after a `seq`, then new ones, as Server-Sent Events."""
    start = cursor(after, last_event_id)
    await sessions.get(session_id, owner=user.user_id)
    bursts = runs.follow(session_id, owner=user.user_id, after=start)
    return EventStream(bursts, container, session_id=session_id, after=start)
