"""`/api/v1/runs`: read, watch and cancel a run, and answer its approval requests."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header
from starlette.responses import Response

from dataagent_server.api.deps import ContainerDep, CurrentUser, RunsDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.api.streaming import EVENT_STREAM, EventStream, cursor, single_entry_bursts
from dataagent_server.hitl import decision_of
from dataagent_server.models.chat import ApprovalInfo, DecisionRequest, RunInfo
from dataagent_server.models.fields import PathId, Seq

router = APIRouter(prefix="/runs", tags=["runs"], route_class=PrivateRoute)


@router.get("/{run_id}", operation_id="get_run")
async def get_run(run_id: PathId, user: CurrentUser, runs: RunsDep) -> RunInfo:
    """A run, with the approvals it waits for."""
    view = await runs.get(run_id, owner=user.user_id)
    return RunInfo.of(view.run, view.pending)


@router.get(
    "/{run_id}/events",
    operation_id="run_events",
    response_class=Response,
    responses=EVENT_STREAM,
)
async def run_events(
    *,
    run_id: PathId,
    user: CurrentUser,
    runs: RunsDep,
    container: ContainerDep,
    after: Seq = 0,
    last_event_id: Annotated[str | None, Header()] = None,
) -> EventStream:
    """A run's events after a `seq`, until it ends, as Server-Sent Events."""
    start = cursor(after, last_event_id)
    run = (await runs.get(run_id, owner=user.user_id)).run
    bursts = single_entry_bursts(runs.read(run_id, after=start))
    return EventStream(bursts, container, session_id=run.session_id, after=start)


@router.post("/{run_id}/cancel", operation_id="cancel_run")
async def cancel_run(run_id: PathId, user: CurrentUser, runs: RunsDep) -> RunInfo:
    """Cancel a run. One that has ended stays as it is."""
    return RunInfo.of(await runs.cancel(run_id, owner=user.user_id))


@router.post("/{run_id}/decisions/{request_id}", operation_id="decide")
async def decide(
    run_id: PathId, request_id: PathId, body: DecisionRequest, user: CurrentUser, runs: RunsDep
) -> ApprovalInfo:
    """Answer an approval request. Repeating the same answer has no effect."""
    approval = await runs.decide(run_id, request_id, decision_of(body), owner=user.user_id)
    return ApprovalInfo.of(approval)
