"""`/api/v1/chat`: a message, and its answer in one response."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from dataagent_core.runs.types import Run
from dataagent_server.api.deps import ContainerDep, CurrentUser, RunsDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.api.streaming import run_while_connected
from dataagent_server.deps.chat import RunAnswer, read_answer_until_closing, start_run
from dataagent_server.models.chat import CancelResponse, ChatAccepted, ChatRequest, ChatResponse
from dataagent_server.models.fields import PathId

router = APIRouter(prefix="/chat", tags=["chat"], route_class=PrivateRoute)
IsAwaited = Annotated[
    bool,
    Query(description="False: answer 202 once the message is stored and its run has begun."),
]
_ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {"model": ChatAccepted, "description": "The run has begun (`wait=false`)"}
}


@router.post("", operation_id="chat", response_model=ChatResponse, responses=_ACCEPTED)
async def chat(
    body: ChatRequest,
    request: Request,
    user: CurrentUser,
    container: ContainerDep,
    wait: IsAwaited = True,
) -> Response:
    """Send a message and wait for the run's end, or until it waits for an approval.

    A caller that disconnects does not stop the run, and can read it later.
    """
    with container.capacity.slot(user.user_id):
        started = await start_run(container, user, body.session_id, body, creates_session=True)
        if not wait:
            return _accepted(started.run)
        reading = read_answer_until_closing(container, started)
        answer = await run_while_connected(request.receive, reading)
    return _chat_response(started.run.session_id, started.run.run_id, answer)


@router.post("/{session_id}/cancel", operation_id="cancel_chat")
async def cancel_chat(session_id: PathId, user: CurrentUser, runs: RunsDep) -> CancelResponse:
    """Cancel the active run of a session; 404 if there is none."""
    return CancelResponse.of(await runs.cancel_session(session_id, owner=user.user_id))


def _accepted(run: Run) -> Response:
    body = ChatAccepted.of(run).model_dump_json()
    return Response(body, status_code=202, media_type="application/json")


def _chat_response(session_id: str, run_id: str, answer: RunAnswer) -> Response:
    """A `ChatResponse` around events that are JSON already."""
    head = orjson.dumps({"session_id": session_id, "run_id": run_id, "status": answer.status})
    events = b",".join(entry.wire for entry in answer.entries)
    body = b'%s,"events":[%s]}' % (head[:-1], events)
    return Response(body, media_type="application/json")
