"""A tool that raises gives the model an error to read instead of ending the run.

LangChain's middleware of the same name does the catching (and lets cancellation and LangGraph's
control flow pass); here is what the model is told. Our own errors are written for readers and are
passed on; of any other only the kind is, because its text may hold host paths or secrets. List it
after the approvals.
"""

from __future__ import annotations

import logging
from typing import Any

from langchain.agents.middleware import ToolErrorMiddleware as LangChainToolErrors
from langchain.agents.middleware.types import ToolCallRequest

from dataagent_core.errors import DataAgentError

logger = logging.getLogger(__name__)


class ToolErrorMiddleware(LangChainToolErrors[Any, Any]):
    """Turns every exception of a tool into a `ToolMessage` with status `error`."""

    def __init__(self) -> None:
        super().__init__(on_error=explain_to_model)


def explain_to_model(error: Exception, request: ToolCallRequest) -> str:
    """What the model reads in place of a result."""
    tool = request.tool_call["name"]
    if isinstance(error, DataAgentError):
        logger.info("tool %s refused or failed: %s", tool, error.code)
        return f"Error: {error.message}"
    logger.error("tool %s raised", tool, exc_info=error)
    if isinstance(error, TimeoutError):
        return f"Error: {tool} took too long and was stopped. Try less at once."
    return (
        f"Error: {tool} failed with an internal error ({type(error).__name__}). "
        "Other arguments or another tool may help; the same call will probably fail again."
    )
