"""Structured logs, metrics and traces; on whose behalf work is done; the scrubbing of secrets."""

from dataagent_core.telemetry.context import (
    RequestContext,
    accepted_request_id,
    bind_request_id,
    bind_run,
    bind_user,
    current_context,
    current_request_id,
    new_request_id,
    unbind_request_id,
)
from dataagent_core.telemetry.logs import JsonFormatter, Scrubber, configure_logging, known_secrets
from dataagent_core.telemetry.metrics import Metrics
from dataagent_core.telemetry.spans import CANCELLED, RunTrace
from dataagent_core.telemetry.traces import Traces, open_traces

__all__ = [
    "CANCELLED",
    "JsonFormatter",
    "Metrics",
    "RequestContext",
    "RunTrace",
    "Scrubber",
    "Traces",
    "accepted_request_id",
    "bind_request_id",
    "bind_run",
    "bind_user",
    "configure_logging",
    "current_context",
    "current_request_id",
    "known_secrets",
    "new_request_id",
    "open_traces",
    "unbind_request_id",
]
