"""The interface of run stores: runs, their events and their approvals.

Every store guarantees three things: `open` commits message and run together and allows one active
run a session; `append` and `close` refuse the writes of an attempt that no longer owns the run;
`close` writes the end exactly once. The functions below the interface are rules that all stores
share.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
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
from dataagent_core.runs.types import (
    Approval,
    Batch,
    Ending,
    Entry,
    NewRun,
    OpenedRun,
    Run,
    RunStatus,
)
from dataagent_core.session.types import Message
from dataagent_core.storage.database import storable


class RunStore(ABC):
    """Runs, events and approvals. Times are UTC; `worker` names a process."""

    @abstractmethod
    async def open(
        self, new: NewRun, *, worker: str | None, lease_until: datetime | None
    ) -> OpenedRun:
        """Commit the user's message, the run and its empty answer together.

        They are durable after `settle`; the run may begin before.

        With a `worker` the run starts as `running`, attempt 1, leased to it; without, as `queued`,
        attempt 0. A `client_message_id` seen before in this session returns the earlier run. The
        run's `title` becomes the session's while that has the default one.

        Raises:
            SessionNotFound: the session is deleted, possibly softly.
            SessionBusy: another run of the session is active.
        """

    async def settle(self) -> None:  # noqa: B027 nothing to wait for in most
        """Wait until the commits of `open` are durable. In most stores they already are."""

    @abstractmethod
    async def claim(
        self, run_id: str, *, worker: str, lease_until: datetime, at: datetime | None = None
    ) -> Run | None:
        """Take a queued run, or one whose lease has expired: next attempt, leased to `worker`.

        None if it has ended or another worker's lease is alive (at `at`, by default now).
        `waiting` runs can be claimed the same way; their status stays.
        """

    @abstractmethod
    async def append(self, batches: Sequence[Batch]) -> set[str]:
        """Store the batches in one transaction; return the run ids whose attempt was refused."""

    @abstractmethod
    async def close(self, run: Run, ending: Ending, last: Batch) -> bool:
        """Write the last events, the run's end and the answer's text together.

        Undecided approvals of the run are closed with it. False if the attempt was refused.
        """

    @abstractmethod
    async def set_status(self, run: Run, status: RunStatus) -> bool:
        """Move between `running` and `waiting`; False if the attempt was refused."""

    @abstractmethod
    async def hand_over(self, run: Run, agent_id: str) -> bool:
        """Record that another agent answers the run now; False if the attempt was refused."""

    @abstractmethod
    async def get(self, run_id: str) -> Run | None:
        """The run, or None."""

    @abstractmethod
    async def find(self, run_id: str) -> Run | None:
        """As `get`; None also if the run's session was soft-deleted."""

    @abstractmethod
    async def find_by_client_id(self, session_id: str, client_message_id: str) -> Run | None:
        """The run of a client's message in a session, or None."""

    @abstractmethod
    async def active_run(self, session_id: str) -> Run | None:
        """The session's active run, if any."""

    @abstractmethod
    async def active_of_user(self, user_id: str) -> list[Run]:
        """The user's active runs, in all sessions."""

    @abstractmethod
    async def active_agents(self) -> dict[str, frozenset[str]]:
        """The statuses of all active runs, by the agent that answers."""

    @abstractmethod
    async def request_cancel(self, run_id: str) -> None:
        """Mark an active run as cancelled, for whichever process owns it."""

    @abstractmethod
    async def renew(
        self, worker: str, run_ids: Collection[str], lease_until: datetime
    ) -> dict[str, bool]:
        """Extend the leases of the worker's runs, as far as they are still its own.

        Returns those runs, and whether each is to be cancelled.
        """

    @abstractmethod
    async def abandoned(self, at: datetime, *, not_worker: str | None = None) -> list[Run]:
        """Active leased runs whose lease ended before `at`; with `not_worker`, all of others."""

    @abstractmethod
    async def queued(self, before: datetime, *, limit: int) -> list[Run]:
        """Up to `limit` runs that wait for a worker since before a time, oldest first."""

    @abstractmethod
    async def read(self, session_id: str, *, after: int, limit: int = 500) -> list[Entry]:
        """Up to about `limit` entries of the session after a `seq`, in order (whole batches)."""

    @abstractmethod
    async def read_run(self, run_id: str) -> list[Entry]:
        """All entries of one run, in order."""

    @abstractmethod
    async def read_runs(self, session_id: str, run_ids: Sequence[str]) -> list[Entry]:
        """All entries of some runs of one session, in order."""

    @abstractmethod
    async def last_seq(self, session_id: str) -> int:
        """The session's highest `seq`, 0 if it has no events."""

    @abstractmethod
    async def last_seqs(self, session_ids: Collection[str]) -> dict[str, int]:
        """The highest `seq` of each of these sessions, at most a few hundred.

        Deleted and soft-deleted sessions are left out.
        """

    @abstractmethod
    async def add_approvals(self, run: Run, approvals: Sequence[Approval]) -> None:
        """Store approval requests and set the run to `waiting`. Known ids stay unchanged."""

    @abstractmethod
    async def approvals(self, run_id: str, *, pending_only: bool = False) -> list[Approval]:
        """The run's approval requests, oldest first."""

    @abstractmethod
    async def decide(self, run_id: str, request_id: str, decision: Decision) -> Approval:
        """Store a decision. The same decision twice is one.

        Raises:
            RequestNotFound: the run has no such request.
            AlreadyDecided: it has another decision, or the run has ended.
        """


CLOSING_DECISION = Decision("reject")
"""The decision of an undecided request when its run ends."""


def initial_run(new: NewRun, *, worker: str | None, lease_until: datetime | None) -> Run:
    """The run as `open` stores it: running and leased with a worker, queued without."""
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
    """The error for a missing session."""
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


def is_same_end(stored: Run, run: Run, ending: Ending) -> bool:
    """Whether an ended run was ended by this attempt with this ending."""
    return (
        stored.attempt == run.attempt
        and stored.status == ending.status
        and stored.ended_at == ending.ended_at
    )


def as_json(decision: Decision) -> dict[str, Any]:
    """A decision as a store returns it: in the types of JSON."""
    return orjson.loads(orjson.dumps(decision.to_dict(), default=str))


def check_decided(
    stored: Approval | None, run_id: str, request_id: str, decision: Decision
) -> Approval:
    """The outcome of `decide`, from the approval that is stored after it.

    Raises:
        RequestNotFound: there is none.
        AlreadyDecided: it has another decision.
    """
    if stored is None:
        raise RequestNotFound(f"Run {run_id!r} has no request {request_id!r}.")
    if stored.decision is None or as_json(stored.decision) != as_json(decision):
        raise AlreadyDecided(f"Request {request_id!r} has another answer already.")
    return stored


def oldest_first(approvals: Iterable[Approval]) -> list[Approval]:
    """Approvals in the order they are shown."""
    return sorted(approvals, key=lambda approval: (approval.created_at, approval.request_id))


def statuses_by_agent(active: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """The statuses of runs by their assistant."""
    by_agent: dict[str, set[str]] = {}
    for assistant_id, status in active:
        by_agent.setdefault(assistant_id, set()).add(status)
    return {assistant_id: frozenset(statuses) for assistant_id, statuses in by_agent.items()}


def restore_action(request_id: str, action: dict[str, Any]) -> ActionRequest:
    """An action from its stored form (`ActionRequest.to_dict`)."""
    return ActionRequest.from_dict(action, request_id)
