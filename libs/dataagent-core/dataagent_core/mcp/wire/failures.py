"""Converts errors of the SDK and of our transports to failed calls.

Our transports answer in place of a server that cannot: with a JSON-RPC error of one of our codes,
so that a broken request fails itself and not its session.
"""

from __future__ import annotations

from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
from pydantic import ValidationError

from dataagent_core.mcp.types import CallCode, CallFailed, CallFailure
from dataagent_core.mcp.wire.interface import SessionLost

UNREACHABLE: Final = 70_001
"""The request was never sent: the server cannot be reached."""
BROKEN: Final = 70_002
"""The request was sent and its response did not arrive."""
TOO_LARGE: Final = 70_003
UNAUTHORIZED: Final = 70_004
FORBIDDEN: Final = 70_005
RATE_LIMITED: Final = 70_006
SESSION_GONE: Final = 70_007
HTTP_ERROR: Final = 70_008
NOT_OPEN: Final = 70_009
"""The address is not allowed."""

_CODES: dict[int, tuple[CallCode, bool]] = {
    UNREACHABLE: ("MCP_SERVER_UNAVAILABLE", True),
    BROKEN: ("MCP_SERVER_UNAVAILABLE", True),
    CONNECTION_CLOSED: ("MCP_SERVER_UNAVAILABLE", True),
    SESSION_GONE: ("MCP_SERVER_UNAVAILABLE", True),
    NOT_OPEN: ("MCP_SERVER_UNAVAILABLE", False),
    REQUEST_TIMEOUT: ("MCP_TIMEOUT", True),
    TOO_LARGE: ("MCP_RESULT_TOO_LARGE", False),
    UNAUTHORIZED: ("MCP_AUTH_REQUIRED", False),
    FORBIDDEN: ("MCP_AUTH_REQUIRED", False),
    RATE_LIMITED: ("MCP_RATE_LIMITED", True),
    HTTP_ERROR: ("MCP_SERVER_UNAVAILABLE", True),
}
_NEVER_SENT = frozenset({UNREACHABLE, NOT_OPEN})
_MARKS_LOSS = frozenset({UNREACHABLE, BROKEN, CONNECTION_CLOSED, SESSION_GONE})
_MOST_TEXT = 500
_SSE_LIMIT = "Server-sent event exceeded"


def is_loss(error: MCPError) -> bool:
    """Whether the error means that the session is lost."""
    return error.code in _MARKS_LOSS


def is_suspicious(error: MCPError) -> bool:
    """Whether other calls would fail the same way, so that the session should be probed."""
    return error.code in _MARKS_LOSS or error.code == UNAUTHORIZED


def call_failed(error: MCPError | ValidationError) -> CallFailed:
    """Return the failed call for an error of the SDK."""
    if isinstance(error, ValidationError):
        return failed("MCP_INVALID_OUTPUT", "The server's answer does not follow the protocol.")
    if error.code == CONNECTION_CLOSED and _SSE_LIMIT in error.message:
        return failed("MCP_RESULT_TOO_LARGE", "The server's answer is larger than allowed.")
    code, is_retryable = _CODES.get(error.code, ("MCP_TOOL_ERROR", False))
    message = error.message[:_MOST_TEXT] or "The server answered with an error."
    was_sent = error.code not in _NEVER_SENT
    kind = SessionLost if is_loss(error) else CallFailed
    return kind(CallFailure(code, message, is_retryable), was_sent=was_sent)


def failed(
    code: CallCode, message: str, *, is_retryable: bool = False, was_sent: bool = True
) -> CallFailed:
    """Return a failed call."""
    return CallFailed(CallFailure(code, message, is_retryable), was_sent=was_sent)


def error_body(code: int, message: str) -> dict[str, Any]:
    """Return a JSON-RPC error; the SDK fills in the request's id."""
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
