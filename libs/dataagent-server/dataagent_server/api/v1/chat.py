"""`/api/v1/chat`: one message, one answer."""

from __future__ import annotations

import orjson
from fastapi import APIRouter
from starlette.responses import Response

from dataagent_server.api.route import PrivateRoute
from dataagent_server.deps.chat import Answer, answer_of, session_for, start_run
from dataagent_server.deps.providers import ContainerDep, CurrentUser, RunsDep
from dataagent_server.models.chat import CancelResponse, ChatRequest, ChatResponse
from dataagent_server.models.fields import PathId

router = APIRouter(prefix="/chat", tags=["chat"], route_class=PrivateRoute)


@router.post("", operation_id="chat", response_model=ChatResponse)
async def chat(request: ChatRequest, user: CurrentUser, container: ContainerDep) -> Response:
    """Send a message and wait for the run's end, or until it waits for an approval.

    A caller that leaves does not stop the run.
    """
    with container.capacity.slot():
        session = await session_for(container, user, request)
        started = await start_run(container, user, session.session_id, request)
        answer = await answer_of(container.core.runs, started)
    return _chat_response(session.session_id, started.run.run_id, answer)


@router.post("/{session_id}/cancel", operation_id="cancel_chat")
async def cancel_chat(session_id: PathId, user: CurrentUser, runs: RunsDep) -> CancelResponse:
    """Stop what runs in a session."""
    return CancelResponse.of(await runs.cancel_session(session_id, owner=user.user_id))


def _chat_response(session_id: str, run_id: str, answer: Answer) -> Response:
    """A `ChatResponse` around events that are JSON already."""
    head = orjson.dumps({"session_id": session_id, "run_id": run_id, "status": answer.status})
    events = b",".join(entry.wire for entry in answer.entries)
    body = b'%s,"events":[%s]}' % (head[:-1], events)
    return Response(body, media_type="application/json")
