"""What every kind of run store decides in the same way. Pure functions, no storage.

The stores in this folder call these and keep what they return.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import orjson

from dataagent_core.errors import (
    AlreadyDecided,
    RequestNotFound,
    SessionBusy,
    SessionNotFound,
    StaleAttempt,
)
from dataagent_core.hitl import ActionRequest, Decision
from dataagent_core.runs.types import Approval, Ending, NewRun, Run
from dataagent_core.session.types import Message
from dataagent_core.storage.text import storable

CLOSING_DECISION = Decision("reject")
"""What an undecided request gets when its run ends."""


def initial_run(new: NewRun, *, worker: str | None, lease_until: datetime | None) -> Run:
    """The run as `open` keeps it: running and leased with a worker, queued without."""
    return Run(
        run_id=new.run_id,
        session_id=new.session_id,
        user_id=new.user_id,
        assistant_id=new.assistant_id,
        status="running" if worker else "queued",
        attempt=1 if worker else 0,
        created_at=new.created_at,
        message_id=new.message_id,
        answer_id=new.answer_id,
        client_message_id=new.client_message_id,
        started_at=new.created_at if worker else None,
        lease_owner=worker,
        lease_until=lease_until if worker else None,
        input=new.input,
    )


def initial_messages(new: NewRun) -> tuple[Message, Message]:
    """The user's message and the empty answer to it."""
    question = Message(
        message_id=new.message_id,
        session_id=new.session_id,
        role="user",
        content=storable(new.content),
        created_at=new.created_at,
        run_id=new.run_id,
        metadata=new.metadata,
    )
    answer = Message(
        message_id=new.answer_id,
        session_id=new.session_id,
        role="assistant",
        content="",
        created_at=new.created_at,
        run_id=new.run_id,
        status="running",
    )
    return question, answer


def no_session_error(session_id: str) -> SessionNotFound:
    """The error for a session that is gone."""
    return SessionNotFound(f"There is no session {session_id!r}.")


def busy_error(session_id: str, run_id: str) -> SessionBusy:
    """The error for a second run in one session."""
    return SessionBusy(
        f"Session {session_id!r} is still answering. Wait for the answer or cancel it.",
        details={"run_id": run_id},
    )


def stale_error(run: Run) -> StaleAttempt:
    """The error for a write of an attempt that is over."""
    return StaleAttempt(
        f"Attempt {run.attempt} of run {run.run_id!r} is over: "
        "the run has ended or another process took it."
    )


def is_claimable(run: Run, at: datetime) -> bool:
    """Whether a worker may take the run: queued, or no lease on it is alive."""
    if run.status == "queued":
        return True
    return run.is_active and (run.lease_until is None or run.lease_until < at)


def is_same_end(kept: Run, run: Run, ending: Ending) -> bool:
    """Whether an ended run was ended by this attempt with this ending."""
    return (
        kept.attempt == run.attempt
        and kept.status == ending.status
        and kept.ended_at == ending.ended_at
    )


def as_json(decision: Decision) -> dict[str, Any]:
    """A decision as it comes back from a store: what JSON makes of it."""
    return orjson.loads(orjson.dumps(decision.to_dict(), default=str))


def check_decided(
    kept: Approval | None, run_id: str, request_id: str, decision: Decision
) -> Approval:
    """The outcome of `decide`, from what is kept after it.

    Raises:
        RequestNotFound: nothing is kept.
        AlreadyDecided: another answer is.
    """
    if kept is None:
        raise RequestNotFound(f"Run {run_id!r} has no request {request_id!r}.")
    if kept.decision is None or as_json(kept.decision) != as_json(decision):
        raise AlreadyDecided(f"Request {request_id!r} has another answer already.")
    return kept


def oldest_first(approvals: Iterable[Approval]) -> list[Approval]:
    """Approvals in the order they are shown."""
    return sorted(approvals, key=lambda approval: (approval.created_at, approval.request_id))


def statuses_by_agent(active: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """The statuses of runs by their assistant."""
    found: dict[str, set[str]] = {}
    for assistant_id, status in active:
        found.setdefault(assistant_id, set()).add(status)
    return {assistant_id: frozenset(statuses) for assistant_id, statuses in found.items()}


def restore_action(request_id: str, action: dict[str, Any]) -> ActionRequest:
    """An action from its kept form (`ActionRequest.to_dict`)."""
    return ActionRequest.from_dict(action, request_id)
