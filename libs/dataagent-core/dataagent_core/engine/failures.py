"""An exception → what the user is told. The detail goes to the log, never to the client."""

from __future__ import annotations

import logging

from langgraph.errors import GraphRecursionError

from dataagent_core.errors import DataAgentError
from dataagent_core.events import ErrorEvent
from dataagent_core.models.failures import translate_error

logger = logging.getLogger(__name__)


def error_event(error: BaseException) -> ErrorEvent:
    """The event for a turn that failed."""
    if isinstance(error, Exception):
        error = translate_error(error) or error
    match error:
        case DataAgentError():
            logger.warning("turn failed: %s: %s", error.code, error.message)
            return ErrorEvent(
                error=error.message, error_code=error.code, recoverable=error.recoverable
            )
        case TimeoutError():
            logger.warning("turn timed out")
            return ErrorEvent(
                error="The turn took longer than allowed and was stopped.",
                error_code="run_timeout",
                recoverable=True,
            )
        case OSError():
            logger.warning("turn failed for want of a connection or a file", exc_info=error)
            return ErrorEvent(
                error="A connection or a file failed while the agent worked. Try again.",
                error_code="connection_lost",
                recoverable=True,
            )
        case GraphRecursionError():
            logger.warning("turn reached its step limit")
            return ErrorEvent(
                error="The agent reached its step limit without finishing. Try a smaller task.",
                error_code="step_limit",
                recoverable=True,
            )
        case _:
            logger.error("turn failed", exc_info=error)
            return ErrorEvent(
                error="Something went wrong inside; the log has the details.",
                error_code="internal",
                recoverable=False,
            )
