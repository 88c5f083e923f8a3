"""The SQL statements of a run's life, built once. Data for `sql.py`; nothing is executed here.

Every write of an attempt carries `FENCE`: it changes nothing once the run has ended or a newer
attempt owns it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sqlalchemy import JSON, bindparam, case, func, insert, or_, select, update
from sqlalchemy.dialects import mysql, sqlite

from dataagent_core.runs.types import ACTIVE, ANSWERED_BY, Run
from dataagent_core.session.types import DEFAULT_TITLE
from dataagent_core.storage.prepared_statement import PreparedStatement
from dataagent_core.storage.tables import (
    UtcTime,
    approvals,
    event_batches,
    messages,
    runs,
    sessions,
)

_SQL_NULL_JSON = JSON(none_as_null=True)
_IS_ACTIVE = or_(*(runs.c.status == status for status in sorted(ACTIVE)))
_IS_RUN = runs.c.run_id == bindparam("key")
FENCE = _IS_RUN & (runs.c.attempt == bindparam("fence")) & _IS_ACTIVE

# -- runs ---------------------------------------------------------------------------------------

_RUN = select(*(runs.c[f.name] for f in fields(Run)))
GET = _RUN.where(_IS_RUN)
ACTIVE_RUN = _RUN.where(runs.c.active_session == bindparam("session_id"))
ACTIVE_OF_USER = _RUN.where(
    runs.c.active_session.is_not(None), runs.c.user_id == bindparam("user_id")
)
_ANSWERS = func.coalesce(runs.c.input[ANSWERED_BY].as_string(), runs.c.assistant_id)
ACTIVE_AGENTS = select(_ANSWERS, runs.c.status).where(runs.c.active_session.is_not(None)).distinct()
BY_CLIENT_ID = _RUN.where(
    runs.c.session_id == bindparam("session_id"),
    runs.c.client_message_id == bindparam("client_message_id"),
)
_IS_VISIBLE = sessions.c.deleted_at.is_(None)  # not put away
FIND = _RUN.join(sessions, sessions.c.session_id == runs.c.session_id).where(_IS_RUN, _IS_VISIBLE)
_VISIBLE_SESSION = (sessions.c.session_id == bindparam("session_id")) & _IS_VISIBLE
SESSION_EXISTS = select(sessions.c.session_id).where(_VISIBLE_SESSION)
SET_TITLE = PreparedStatement(
    update(sessions)
    .where(sessions.c.session_id == bindparam("key"), sessions.c.title == DEFAULT_TITLE)
    .values(title=bindparam("new_title"))
)
INSERT_RUN = PreparedStatement(insert(runs).inline())
INSERT_MESSAGE = PreparedStatement(insert(messages).inline())

CLAIM = (
    update(runs)
    .where(
        _IS_RUN,
        _IS_ACTIVE,
        or_(
            runs.c.status == "queued",
            runs.c.lease_until.is_(None),
            runs.c.lease_until < bindparam("at"),
        ),
    )
    .values(
        status=case((runs.c.status == "queued", "running"), else_=runs.c.status),
        attempt=runs.c.attempt + 1,
        lease_owner=bindparam("worker"),
        lease_until=bindparam("until"),
        started_at=func.coalesce(runs.c.started_at, bindparam("started", type_=UtcTime())),
    )
)
SET_STATUS = (
    update(runs).where(FENCE, runs.c.status != "queued").values(status=bindparam("new_status"))
)
HAND_OVER = update(runs).where(FENCE).values(input=bindparam("new_input", type_=JSON()))
REQUEST_CANCEL = update(runs).where(_IS_RUN, _IS_ACTIVE).values(cancel_requested=True)

_THESE_RUNS = runs.c.run_id.in_(bindparam("run_ids", expanding=True))
_LEASED_TO = runs.c.lease_owner == bindparam("worker")
RENEW = (
    update(runs).where(_THESE_RUNS, _LEASED_TO, _IS_ACTIVE).values(lease_until=bindparam("until"))
)
HELD = select(runs.c.run_id, runs.c.cancel_requested).where(_THESE_RUNS, _LEASED_TO, _IS_ACTIVE)
_LEASED = _RUN.where(_IS_ACTIVE, runs.c.lease_owner.is_not(None)).order_by(runs.c.created_at)
LEASE_ENDED = _LEASED.where(runs.c.lease_until < bindparam("at"))
LEASED_TO_OTHERS = _LEASED.where(runs.c.lease_owner != bindparam("worker"))

QUEUED = (
    _RUN.where(
        runs.c.active_session.is_not(None),
        runs.c.status == "queued",
        runs.c.created_at < bindparam("before"),
    )
    .order_by(runs.c.created_at)
    .limit(bindparam("most"))
)

# -- the end ------------------------------------------------------------------------------------

CLOSE_RUN = PreparedStatement(
    update(runs)
    .where(FENCE)
    .values(
        status=bindparam("new_status"),
        ended_at=bindparam("at"),
        active_session=None,
        lease_owner=None,
        lease_until=None,
        token_usage=bindparam("usage", type_=_SQL_NULL_JSON),
        error=bindparam("failure", type_=_SQL_NULL_JSON),
    )
)
CLOSE_ANSWER = PreparedStatement(
    update(messages)
    .where(messages.c.message_id == bindparam("answer"))
    .values(content=bindparam("text"), status=bindparam("new_status"))
)
TOUCH_SESSION = PreparedStatement(
    update(sessions)
    .where(sessions.c.session_id == bindparam("key"))
    .values(last_active=bindparam("at"), bytes_used=sessions.c.bytes_used + bindparam("more_bytes"))
)
CLOSE_APPROVALS = PreparedStatement(
    update(approvals)
    .where(approvals.c.run_id == bindparam("key"), approvals.c.decided_at.is_(None))
    .values(decision=bindparam("answer"), decided_at=bindparam("at"))
)

# -- events -------------------------------------------------------------------------------------

# shared locks: a takeover or an end waits until the batches judged by this are committed
FENCES = PreparedStatement(
    select(runs.c.run_id, runs.c.attempt)
    .where(_THESE_RUNS, _IS_ACTIVE)
    .order_by(runs.c.run_id)
    .with_for_update(read=True)
)
LAST_SEQ = select(func.max(event_batches.c.last_seq)).where(
    event_batches.c.session_id == bindparam("session_id")
)
# of a session that is seen, with a shared lock: it is put away before this run is in, or after
OPENED_AFTER = PreparedStatement(
    select(LAST_SEQ.scalar_subquery())
    .where(_VISIBLE_SESSION)
    .with_for_update(read=True, of=sessions)
)
_newest = (  # of each session by its key: a grouped maximum would read all its batches
    select(event_batches.c.last_seq)
    .where(event_batches.c.session_id == sessions.c.session_id)
    .order_by(event_batches.c.last_seq.desc())
    .limit(1)
    .scalar_subquery()
)
LAST_SEQS = select(sessions.c.session_id, _newest).where(
    sessions.c.session_id.in_(bindparam("session_ids", expanding=True)), _IS_VISIBLE
)
_BATCH = select(
    event_batches.c.first_seq,
    event_batches.c.last_seq,
    event_batches.c.run_id,
    event_batches.c.events,
).order_by(event_batches.c.last_seq)
_AFTER = (event_batches.c.session_id == bindparam("session_id")) & (
    event_batches.c.last_seq > bindparam("after")
)
_next = event_batches.alias("next")
_NEXT_SEQ = (
    select(_next.c.first_seq)
    .where(
        _next.c.session_id == bindparam("session_id"),
        _next.c.last_seq > bindparam("after"),
    )
    .order_by(_next.c.last_seq)
    .limit(1)
    .scalar_subquery()
)
# counted from the first batch there is, so that a trimmed beginning does not look like the end
READ = _BATCH.where(_AFTER, event_batches.c.first_seq < _NEXT_SEQ + bindparam("window"))
_ITS_SESSION = select(runs.c.session_id).where(runs.c.run_id == bindparam("run_id"))
# by the session's key: an index of its own would cost every write of running text
READ_RUN = _BATCH.where(
    event_batches.c.session_id == _ITS_SESSION.scalar_subquery(),
    event_batches.c.run_id == bindparam("run_id"),
)

READ_RUNS = _BATCH.where(
    event_batches.c.session_id == bindparam("session_id"),
    event_batches.c.run_id.in_(bindparam("run_ids", expanding=True)),
)

# -- approvals ----------------------------------------------------------------------------------

_APPROVAL = select(
    approvals.c.request_id,
    approvals.c.run_id,
    approvals.c.session_id,
    approvals.c.action,
    approvals.c.allowed,
    approvals.c.created_at,
    approvals.c.expires_at,
    approvals.c.decision,
)
APPROVALS = _APPROVAL.where(approvals.c.run_id == bindparam("key")).order_by(
    approvals.c.created_at, approvals.c.request_id
)
PENDING_APPROVALS = APPROVALS.where(approvals.c.decided_at.is_(None))
_IS_REQUEST = (approvals.c.run_id == bindparam("key")) & (
    approvals.c.request_id == bindparam("request")
)
APPROVAL = _APPROVAL.where(_IS_REQUEST)
DECIDE = (
    update(approvals)
    .where(_IS_REQUEST, approvals.c.decided_at.is_(None))
    .values(decision=bindparam("answer"), decided_at=bindparam("at"))
)


def insert_unless_known(dialect: str, table: Any) -> PreparedStatement:
    """An INSERT that leaves a row whose primary key exists as it is.

    A writer that lost its connection at the commit may send the same rows again.
    """
    if dialect == "mysql":
        key = next(iter(table.primary_key.columns))
        return PreparedStatement(mysql.insert(table).on_duplicate_key_update({key.name: key}))
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql

        return PreparedStatement(postgresql.insert(table).on_conflict_do_nothing())
    return PreparedStatement(sqlite.insert(table).on_conflict_do_nothing())
