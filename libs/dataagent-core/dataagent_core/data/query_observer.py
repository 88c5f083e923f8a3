"""Records statements after they ran: an audit entry, a span and their duration."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from dataagent_core.audit import AuditLog, AuditOutcome
from dataagent_core.data.types import QueryOutcome, Reader
from dataagent_core.errors import DataAgentError, Denied, Invalid, QueryTimedOut
from dataagent_core.telemetry import Metrics, Traces


@dataclass(slots=True)
class ObservedQuery:
    """A running statement; the caller sets its outcome."""

    source_name: str
    requested_sql: str
    reader: Reader
    session_id: str | None
    run_id: str | None
    impersonator_id: str | None = None  # who reads with the rights of `reader`
    statement: str | None = None  # as the driver gets it; None until it is allowed to run
    row_count: int | None = None


class QueryObserver:
    """Records statements in audit, metrics and traces; without them it does nothing."""

    def __init__(
        self,
        audit: AuditLog | None = None,
        metrics: Metrics | None = None,
        traces: Traces | None = None,
    ) -> None:
        self._audit = audit
        self._metrics = metrics
        self._traces = traces or Traces()

    @contextmanager
    def query(
        self,
        source_name: str,
        sql: str,
        reader: Reader,
        *,
        session_id: str | None = None,
        run_id: str | None = None,
        impersonator_id: str | None = None,
    ) -> Generator[ObservedQuery]:
        """Observe a statement from its plan to its rows; errors pass through."""
        watched = ObservedQuery(source_name, sql, reader, session_id, run_id, impersonator_id)
        started = time.perf_counter()
        problem: BaseException | None = None
        try:
            with self._span(watched) as span:
                try:
                    yield watched
                finally:
                    self._describe(span, watched)
        except BaseException as error:
            problem = error
            raise
        finally:
            self._ended(watched, problem, time.perf_counter() - started)

    def _span(self, watched: ObservedQuery) -> AbstractContextManager[Any]:
        named = {"db.namespace": watched.source_name}
        return self._traces.span(f"sql.query {watched.source_name}", named, kind="client")

    def _describe(self, span: Any, watched: ObservedQuery) -> None:  # OpenTelemetry's, or None
        if span is None:
            return
        self._traces.set_content(span, "db.query.text", watched.statement or watched.requested_sql)
        if watched.row_count is not None:
            span.set_attribute("db.response.returned_rows", watched.row_count)

    def _ended(self, watched: ObservedQuery, problem: BaseException | None, seconds: float) -> None:
        outcome = _outcome(problem)
        if self._metrics is not None:
            self._metrics.query_ended(outcome, seconds)
        if self._audit is None:
            return
        details: dict[str, object] = {
            "statement": watched.statement or watched.requested_sql,
            "ran": watched.statement is not None,
            "rows": watched.row_count,
            "milliseconds": round(seconds * 1000, 1),
        }
        if watched.impersonator_id is not None:
            details["as_user"] = watched.reader.user_id
        if problem is not None:
            details["reason"] = _reason(problem)
        self._audit.note(
            "sql.query",
            _AUDITED.get(outcome, "failed"),
            target=watched.source_name,
            user_id=watched.impersonator_id or watched.reader.user_id,
            session_id=watched.session_id,
            run_id=watched.run_id,
            details=details,
        )


_AUDITED: dict[QueryOutcome, AuditOutcome] = {"success": "success", "denied": "denied"}


def _outcome(problem: BaseException | None) -> QueryOutcome:
    match problem:
        case None:
            return "success"
        case asyncio.CancelledError():
            return "cancelled"
        case Denied() | Invalid():
            return "denied"
        case QueryTimedOut():
            return "timeout"
        case _:
            return "error"


def _reason(problem: BaseException) -> str:
    if isinstance(problem, DataAgentError):
        return f"{problem.code}: {problem.message}"
    return type(problem).__name__
