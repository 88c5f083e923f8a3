"""Structured logs, request ids and the scrubbing of secrets."""

from dataagent_core.telemetry.logs import JsonFormatter, configure_logging
from dataagent_core.telemetry.request_id import (
    accepted_request_id,
    bind_request_id,
    current_request_id,
    new_request_id,
    unbind_request_id,
)
from dataagent_core.telemetry.scrub import Scrubber

__all__ = [
    "JsonFormatter",
    "Scrubber",
    "accepted_request_id",
    "bind_request_id",
    "configure_logging",
    "current_request_id",
    "new_request_id",
    "unbind_request_id",
]
