"""Why a session with a server ended, and what its connection is then. Above: `connection.py`."""

from __future__ import annotations

import logging

from dataagent_core.mcp.types import CallFailed, CallFailure, ServerSpec, ServerState
from dataagent_core.mcp.wire import OpenFailed

_log = logging.getLogger(__name__)
SESSION_BROKEN = CallFailure("MCP_SERVER_UNAVAILABLE", "The session broke.")


def failure_of(error: BaseException, spec: ServerSpec) -> CallFailure:
    """Why a session with a server could not be, or went on no longer."""
    match error:
        case OpenFailed():
            code = "MCP_AUTH_REQUIRED" if error.is_auth else "MCP_SERVER_UNAVAILABLE"
            return CallFailure(code, error.reason)
        case CallFailed():
            return error.failure
        case TimeoutError():
            return CallFailure("MCP_SERVER_UNAVAILABLE", "Connecting takes too long.")
        case _:
            _log.warning(
                "the session with MCP server %s ended: %s", spec.label, type(error).__name__
            )
            return SESSION_BROKEN


def state_after(failure: CallFailure | None) -> ServerState:
    """The state of a connection whose session ended so; None: nobody wanted it any more."""
    if failure is None:
        return "idle"
    return "auth_required" if failure.code == "MCP_AUTH_REQUIRED" else "backoff"
