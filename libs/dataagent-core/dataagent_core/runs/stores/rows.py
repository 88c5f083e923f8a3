"""Rows of the SQL tables ↔ runs, events and approvals. Pure; nothing is executed here.

Above: `sql.py`. A batch's events are lines of one text, so that reading them back is a split.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Row

from dataagent_core.hitl import Decision
from dataagent_core.runs.stores import rules
from dataagent_core.runs.types import Approval, Batch, Entry, Run, entries_of
from dataagent_core.session.types import Message

AnyRow = Row[*tuple[Any, ...]]


def run_row(run: Run) -> dict[str, Any]:
    """A run that is opened, as it is inserted."""
    return {
        "run_id": run.run_id,
        "session_id": run.session_id,
        "active_session": run.session_id,
        "user_id": run.user_id,
        "assistant_id": run.assistant_id,
        "status": run.status,
        "attempt": run.attempt,
        "message_id": run.message_id,
        "answer_id": run.answer_id,
        "client_message_id": run.client_message_id,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "lease_owner": run.lease_owner,
        "lease_until": run.lease_until,
        "cancel_requested": False,
        "input": run.input,
    }


def run_of(row: AnyRow | None) -> Run | None:
    """The run in a row, if there is one."""
    return None if row is None else Run(*row)


def message_row(message: Message) -> dict[str, Any]:
    """A message as it is inserted."""
    return {
        "message_id": message.message_id,
        "session_id": message.session_id,
        "run_id": message.run_id,
        "role": message.role,
        "content": message.content,
        "status": message.status,
        "created_at": message.created_at,
        "metadata": message.metadata,
    }


def batch_row(batch: Batch) -> dict[str, Any]:
    """A stretch of events as it is inserted."""
    return {
        "session_id": batch.session_id,
        "last_seq": batch.last_seq,
        "first_seq": batch.first_seq,
        "run_id": batch.run_id,
        "attempt": batch.attempt,
        "events": b"\n".join(batch.wires).decode(),
    }


def entries_from(rows: Iterable[AnyRow], after: int) -> list[Entry]:
    """The entries of some batches after a `seq`."""
    found: list[Entry] = []
    for row in rows:
        wires = row.events.encode().split(b"\n")
        skip = max(0, after + 1 - row.first_seq)
        found += entries_of(wires[skip:], row.first_seq + skip, row.run_id)
        after = max(after, row.last_seq)
    return found


def approval_row(approval: Approval) -> dict[str, Any]:
    """A request as it is inserted."""
    return {
        "run_id": approval.run_id,
        "request_id": approval.request_id,
        "session_id": approval.session_id,
        "action": approval.action.to_dict(),
        "allowed": list(approval.allowed),
        "created_at": approval.created_at,
        "expires_at": approval.expires_at,
    }


def approval_of(row: AnyRow) -> Approval:
    """The request in a row, with its decision if there is one."""
    return Approval(
        request_id=row.request_id,
        run_id=row.run_id,
        session_id=row.session_id,
        action=rules.restore_action(row.request_id, row.action),
        allowed=tuple(row.allowed),
        created_at=row.created_at,
        expires_at=row.expires_at,
        decision=None if row.decision is None else Decision.from_dict(row.decision),
    )
