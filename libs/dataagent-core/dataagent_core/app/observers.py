"""The audit log, metrics and traces of a process, opened first and closed last."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass

from dataagent_core.audit import AuditLog
from dataagent_core.config import Settings
from dataagent_core.data.query_observer import QueryObserver
from dataagent_core.engine.factory import Middleware
from dataagent_core.middleware import CallAudit, CallObserver, CallTracing, ModelTracing
from dataagent_core.sandbox.observer import CodeObserver
from dataagent_core.storage import Database
from dataagent_core.telemetry import Metrics, Scrubber, Traces, known_secrets, open_traces


@dataclass(frozen=True, slots=True)
class Observers:
    """The observers, open."""

    audit: AuditLog
    metrics: Metrics
    traces: Traces

    @property
    def query_watch(self) -> QueryObserver:
        """The observer of statements on data sources."""
        return QueryObserver(self.audit, self.metrics, self.traces)

    @property
    def code_watch(self) -> CodeObserver:
        """The observer of code in sandboxes."""
        return CodeObserver(self.audit, self.metrics, self.traces)

    @property
    def of_calls(self) -> list[CallObserver]:
        """Observers of tool calls."""
        audit = CallAudit(self.audit, self.metrics)
        return [CallTracing(self.traces), audit] if self.traces.is_on else [audit]

    @property
    def around_models(self) -> list[Middleware]:
        """Middleware around model calls: none unless traces are on."""
        return [ModelTracing(self.traces)] if self.traces.is_on else []


async def open_observers(
    settings: Settings, database: Database, stack: AsyncExitStack
) -> Observers:
    """Open them over a database that is up to date; the stack closes them.

    Raises:
        Misconfigured: a tracer is on and its key or package is missing, or no port is free.
    """
    metrics = Metrics()
    database.on_commit = metrics.transaction_committed
    if settings.metrics_port is not None:
        stack.callback(metrics.serve(settings.metrics_host, settings.metrics_port))
    traces = open_traces(settings)
    stack.push_async_callback(traces.aclose)
    scrubber = Scrubber(known_secrets(settings))
    audit = AuditLog(database, scrubber, on_lost=metrics.audit_lost)
    audit.start()
    stack.push_async_callback(audit.aclose)
    return Observers(audit, metrics, traces)
