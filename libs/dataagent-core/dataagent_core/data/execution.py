"""Runs one statement to its end in a worker thread, and stops it in the engine when told to.

The caller is a task that may be cancelled at any moment; the thread and the engine then stop before
the cancellation goes on, so that nothing writes to a place that is being cleared. Above:
`service.py`. Below: `planning.py`, `engines/`, `results/`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from dataagent_core.data.engines.base import Engine, Statement, StatementInterrupted
from dataagent_core.data.planner import QueryPlan
from dataagent_core.data.results import ArtifactSlot, StoredResult, write_result
from dataagent_core.data.types import QueryLimits, SourceWarnings
from dataagent_core.errors import QueryFailed

_CUT = "The source cut a value that was too long."


class QueryExecution:
    """One statement on its way; `interrupt` may come before, during or after it runs."""

    def __init__(
        self,
        engine: Engine,
        plan: QueryPlan,
        *,
        limits: QueryLimits,
        time_zone: str,
        earlier: Sequence[str] = (),
    ) -> None:
        """`earlier` are warnings of the results that are read."""
        self._engine = engine
        self._plan = plan
        self._limits = limits
        self._time_zone = time_zone
        self._earlier = tuple(earlier)
        self._lock = threading.Lock()
        self._statement: Statement | None = None
        self._is_interrupted = False

    def write_to(self, slot: ArtifactSlot) -> StoredResult:
        """Run it and write the rows to a place. Blocks.

        Raises:
            Interrupted: `interrupt` came.
            QueryFailed, QueryTimedOut, SourceUnavailable, QuotaExceeded: as they say.
        """
        try:
            return self._write_to(slot)
        except QueryFailed as error:
            shown = self._plan.without_policy(error.message)
            if shown == error.message:
                raise
            raise QueryFailed(shown, details=error.details) from error

    def _write_to(self, slot: ArtifactSlot) -> StoredResult:
        with self._engine.statement(
            self._plan.sql_sent,
            timeout_seconds=self._limits.timeout_seconds,
            time_zone=self._time_zone,
        ) as statement:
            self._begin(statement)
            # Arrow's batches have no types
            return statement.read(  # pyright: ignore[reportUnknownMemberType]
                partial(self._kept, statement, statement.labels, slot)
            )

    def _kept(
        self, statement: Statement, labels: Sequence[str], slot: ArtifactSlot, batches: Any
    ) -> StoredResult:  # Any: see above
        return write_result(
            batches,
            labels,
            slot.path,
            limits=self._limits,
            on_bytes=slot.on_bytes,
            cut_before=self._plan.truncated_by,
            warnings=lambda: self._warnings(statement),
        )

    def _warnings(self, statement: Statement) -> SourceWarnings:
        said = statement.warnings
        sentences = said.sentences
        if self._plan.has_policy:  # an engine may warn of hidden rows, and quote them
            sentences = (_CUT,) if said.has_cut else ()
        return replace(said, sentences=tuple(dict.fromkeys((*self._earlier, *sentences))))

    def interrupt(self) -> None:
        """Stop it in the engine."""
        with self._lock:
            self._is_interrupted = True
            statement = self._statement
        if statement is not None:
            statement.interrupt()

    def _begin(self, statement: Statement) -> None:
        with self._lock:
            self._statement = statement
            if self._is_interrupted:
                raise StatementInterrupted
