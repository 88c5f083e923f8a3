"""The audit log, metrics and traces of a process, opened first and closed last."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass

from langchain.agents.middleware.types import ToolCallRequest

from dataagent_core.audit import AuditLog
from dataagent_core.config import Settings
from dataagent_core.data.query_observer import QueryObserver
from dataagent_core.engine.factory import Middleware
from dataagent_core.middleware import AuditMiddleware, McpCallTracing, TracingMiddleware
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
    def around_tools(self) -> list[Middleware]:
        """The middleware around approved tool calls."""
        followed: list[Middleware] = [McpCallTracing()] if self.traces.has_langsmith else []
        return [AuditMiddleware(self.audit, self.metrics), *followed]

    def tool_denied(self, request: ToolCallRequest) -> None:
        """Record a tool call that was refused."""
        AuditMiddleware(self.audit, self.metrics).denied(request)
        if self.traces.is_on:
            TracingMiddleware(self.traces).denied(request)

    @property
    def around_calls(self) -> list[Middleware]:
        """The middleware around all model and tool calls: none unless tracing is on."""
        return [TracingMiddleware(self.traces)] if self.traces.is_on else []


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
