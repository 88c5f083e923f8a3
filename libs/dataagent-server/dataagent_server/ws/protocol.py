"""Messages of the chat socket: the client's commands, and frames that are not run events.

`parse` turns a frame into a command or raises `BadInput`.
"""

from __future__ import annotations

import time
from typing import Any, ClassVar, Literal

import orjson
from pydantic import ValidationError
from pydantic_core import from_json

from dataagent_core.errors import BadInput, DataAgentError, LimitReached
from dataagent_core.events import ExecutionEvent
from dataagent_core.mcp.changes import McpChange
from dataagent_server.models.chat import ChatInput, DecisionRequest
from dataagent_server.models.common import WebSocketMessage
from dataagent_server.models.fields import Id, RequestModel, SafeText

CommandType = Literal["chat", "hitl_decision", "cancel", "ping", "auth"]


class ChatCommand(ChatInput):
    """Start a run with this message."""

    command: ClassVar[CommandType] = "chat"


class DecisionCommand(DecisionRequest):
    """Answer an approval request of the session's active run: the one that waits, or the named."""

    command: ClassVar[CommandType] = "hitl_decision"
    request_id: Id | None = None


class CancelCommand(RequestModel):
    """Stop the session's active run, or the one named."""

    command: ClassVar[CommandType] = "cancel"
    run_id: Id | None = None
    session_id: Id | None = None


class PingCommand(RequestModel):
    """Answer with `pong`."""

    command: ClassVar[CommandType] = "ping"


class AuthCommand(RequestModel):
    """Bring a credential that a browser could not put into the handshake."""

    command: ClassVar[CommandType] = "auth"
    api_key: SafeText | None = None
    token: SafeText | None = None


Command = ChatCommand | DecisionCommand | CancelCommand | PingCommand | AuthCommand
_COMMANDS: dict[str, type[Command]] = {
    kind.command: kind
    for kind in (ChatCommand, DecisionCommand, CancelCommand, PingCommand, AuthCommand)
}
_SHOWN = 40


def parse(frame: str | bytes | None, *, max_bytes: int) -> Command:
    """The command in a text frame.

    Raises:
        BadInput: not text, too long, not JSON, or not one of the commands.
    """
    if not isinstance(frame, str):
        raise BadInput("A message is a text frame with JSON, not a binary one.")
    if len(frame) > max_bytes or len(encoded := frame.encode()) > max_bytes:
        raise BadInput(f"A message has at most {max_bytes} bytes. Send less, or upload a file.")
    kind, payload = _envelope(encoded)
    try:
        return kind.model_validate(payload)
    except ValidationError as error:
        raise BadInput(f"{kind.command}: {_problem(error)}") from None


def _envelope(encoded: bytes) -> tuple[type[Command], dict[str, Any]]:
    try:
        message = WebSocketMessage.model_validate(from_json(encoded, allow_inf_nan=False))
    except ValidationError:
        raise BadInput('A message is {"type": …, "payload": {…}} and nothing else.') from None
    except ValueError:
        raise BadInput("The message is not valid JSON.") from None
    kind = _COMMANDS.get(message.type)
    if kind is None:
        known = ", ".join(_COMMANDS)
        raise BadInput(f"Unknown type {message.type[:_SHOWN]!r}. Use one of: {known}.")
    return kind, message.payload


def _problem(error: ValidationError) -> str:
    """The first problem, without the value that was sent."""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    where = ".".join(str(part)[:_SHOWN] for part in first["loc"])
    return f"{where}: {first['msg']}." if where else f"{first['msg']}."


def event_frame(event: ExecutionEvent) -> bytes:
    """An event of no stored run."""
    return _frame(event.event_type, event.data(), event.timestamp)


def connected_frame(session_id: str, last_seq: int, active_run: str | None) -> bytes:
    """The first message on a socket."""
    return _frame(
        "connected", {"session_id": session_id, "last_seq": last_seq, "active_run": active_run}
    )


def accepted_frame(run_id: str, message_id: str, client_message_id: str | None) -> bytes:
    """A chat message is committed and its run exists."""
    data = {"run_id": run_id, "message_id": message_id}
    if client_message_id is not None:
        data["client_message_id"] = client_message_id
    return _frame("accepted", data)


def mcp_changed_frame(change: McpChange) -> bytes:
    """An MCP server of the user's, or a shared one, was changed."""
    return _frame(
        "mcp_changed",
        {"server_id": change.server_id, "name": change.name, "what": change.what},
    )


def pong_frame() -> bytes:
    """The answer to a ping."""
    return _frame("pong", {})


def error_frame(error: DataAgentError, client_message_id: str | None = None) -> bytes:
    """A command failed; the connection stays open."""
    data: dict[str, Any] = {
        "error": error.message,
        "error_code": error.code,
        "recoverable": error.recoverable,
    }
    if isinstance(error, LimitReached) and error.retry_after_seconds is not None:
        data["retry_after"] = error.retry_after_seconds
    if client_message_id is not None:
        data["client_message_id"] = client_message_id
    return _frame("error", data)


def _frame(event_type: str, data: dict[str, Any], timestamp: float | None = None) -> bytes:
    moment = time.time() if timestamp is None else timestamp
    message = {"event_type": event_type, "data": data, "timestamp": moment}
    return orjson.dumps(message, default=str, option=orjson.OPT_NON_STR_KEYS)
