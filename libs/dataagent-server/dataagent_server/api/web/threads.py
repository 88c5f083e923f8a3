"""`/api/threads/{thread_id}/history`: a conversation's messages with their events."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from dataagent_server.api.deps import CurrentUser, RunsDep, SessionsDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.models.fields import Limit, PathId
from dataagent_server.models.sessions import ThreadHistory, history_json

router = APIRouter(prefix="/threads", tags=["conversations"], route_class=PrivateRoute)
Skipped = Annotated[
    int | None,
    Query(ge=0, lt=2**31, description="How many messages to skip; by default the last page."),
]


@router.get("/{thread_id}/history", operation_id="get_thread_history", response_model=ThreadHistory)
async def get_thread_history(
    *,
    thread_id: PathId,
    user: CurrentUser,
    sessions: SessionsDep,
    runs: RunsDep,
    limit: Limit = 1000,
    offset: Skipped = None,
) -> Response:
    """A conversation's messages, oldest first, each answer with its run's events and approvals.

    Continue from `last_seq` for new events.
    """
    session = await sessions.get_by_thread(thread_id, owner=user.user_id)
    history = await runs.history(session.session_id, owner=user.user_id, limit=limit, offset=offset)
    return Response(history_json(thread_id, history), media_type="application/json")
