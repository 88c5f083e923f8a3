"""Builds the call log's row from the details of a call. Pure.

No argument's value, no result and no text of a server gets into a row: an error is a code and a
sentence of ours; arguments are a digest, and for names of the tool's schema the kind and size of
the value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, cast

import orjson

from dataagent_core.mcp.gateway.attempts import Attempts
from dataagent_core.mcp.gateway.call_log import CallRow
from dataagent_core.mcp.types import (
    CallCode,
    Caller,
    CallFailure,
    CallStatus,
    CatalogueTool,
    JsonObject,
    SchemaFault,
    ServerSpec,
)

METHOD = "tools/call"
_STATUSES: dict[CallCode, CallStatus] = {
    "MCP_TOOL_FORBIDDEN": "denied",
    "MCP_TOOL_NOT_FOUND": "denied",
    "MCP_DEFINITION_CHANGED": "denied",
    "MCP_RATE_LIMITED": "denied",
    "MCP_INVALID_ARGUMENT": "invalid",
    "MCP_INVALID_OUTPUT": "invalid",
    "MCP_TIMEOUT": "timeout",
    "MCP_SERVER_UNAVAILABLE": "unavailable",
    "MCP_AUTH_REQUIRED": "unavailable",
    "MCP_RESULT_TOO_LARGE": "error",
    "MCP_TOOL_ERROR": "error",
    "MCP_CANCELLED": "cancelled",
}
_SENTENCES: dict[CallCode, str] = {
    "MCP_TOOL_FORBIDDEN": "The caller may not use this tool.",
    "MCP_TOOL_NOT_FOUND": "The caller has no such tool.",
    "MCP_DEFINITION_CHANGED": "The tool's definition has changed and waits for approval.",
    "MCP_RATE_LIMITED": "Too many calls in a minute.",
    "MCP_INVALID_ARGUMENT": "The arguments do not fit the tool's schema",
    "MCP_INVALID_OUTPUT": "The result does not fit the tool's schema",
    "MCP_TIMEOUT": "No answer came in time.",
    "MCP_SERVER_UNAVAILABLE": "The server was not available.",
    "MCP_AUTH_REQUIRED": "The server does not accept its credentials.",
    "MCP_RESULT_TOO_LARGE": "The result was larger than allowed.",
    "MCP_TOOL_ERROR": "The tool reported an error.",
    "MCP_CANCELLED": "The call was cancelled.",
}
_MOST_TEXT = 500
_PLAIN: dict[type[object], str] = {
    bool: "boolean",
    int: "number",
    float: "number",
    type(None): "null",
}
_SIZED: dict[type[object], str] = {str: "string", dict: "object", list: "array", tuple: "array"}


@dataclass(slots=True)
class CallDetails:
    """What becomes known of a call while it runs."""

    tool: CatalogueTool | None = None
    spec: ServerSpec | None = None
    agent_id: str | None = None
    failure: CallFailure | None = None
    attempts: Attempts = field(default_factory=Attempts)
    input_valid: bool | None = None
    output_valid: bool | None = None
    result_bytes: int | None = None
    duration_ms: float = 0.0
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    trace_id: str = ""
    span_id: str = ""

    def note_span(self, span: Any) -> None:
        """Store the ids of the span the call runs in, if it is traced."""
        if span is None:
            return
        context = span.get_span_context()
        self.trace_id, self.span_id = f"{context.trace_id:032x}", f"{context.span_id:016x}"

    def describe(self, span: Any) -> None:
        """Set the span's attributes: the tool's owner and the connection."""
        if span is None:
            return
        if self.tool is not None:
            span.update_name(f"{METHOD} {self.tool.name}")
            span.set_attribute("gen_ai.tool.name", self.tool.name)
            span.set_attribute("dataagent.mcp.server_id", self.tool.server_id)
            span.set_attribute("dataagent.mcp.schema_version", self.tool.schema_version)
        if self.agent_id is not None:
            span.set_attribute("gen_ai.agent.id", self.agent_id)
        if self.attempts.protocol_version is not None:
            span.set_attribute("mcp.protocol.version", self.attempts.protocol_version)
        if self.input_valid is not None:
            span.set_attribute("dataagent.mcp.input_valid", self.input_valid)
        span.set_attribute("dataagent.mcp.attempts", self.attempts.made)


def span_attributes(call_id: str, caller: Caller) -> dict[str, str]:
    """Return the span's initial attributes: the row's id and the caller."""
    return {
        "mcp.method.name": METHOD,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.agent.id": caller.agent_id,
        "gen_ai.conversation.id": caller.session_id,
        "session.id": caller.session_id,
        "user.id": caller.user_id,
        "dataagent.mcp.call_id": call_id,
    }


class CallIds:
    """Creates ids that are unique across processes, but not secret."""

    def __init__(self) -> None:
        self._random = Random()  # noqa: S311 an id opens nothing

    def new(self) -> str:
        """Return the next id."""
        return f"{self._random.getrandbits(104):026x}"


def trace_of(call_id: str, caller: Caller, details: CallDetails) -> str:
    """Return the trace a call belongs to, for its row and for the server."""
    return details.trace_id or caller.trace_id or caller.run_id or call_id


def call_row(call_id: str, caller: Caller, arguments: JsonObject, details: CallDetails) -> CallRow:
    """Return the row of a call that has ended."""
    tool, failure = details.tool, details.failure
    return CallRow(
        call_id=call_id,
        trace_id=trace_of(call_id, caller, details),
        span_id=details.span_id or call_id[:16],
        tenant_id=caller.tenant_id,
        user_id=caller.user_id,
        session_id=caller.session_id,
        run_id=caller.run_id,
        agent_id=details.agent_id or caller.agent_id,
        api_key_id=caller.api_key_id,
        server_id=tool.server_id if tool is not None else "",
        tool_id=None if tool is None else tool.tool_id,
        tool_name="" if tool is None else tool.name,
        schema_version=None if tool is None else tool.schema_version,
        definition_hash=None if tool is None else tool.definition_hash,
        protocol_version=details.attempts.protocol_version,
        connection_generation=details.attempts.generation or None,
        started_at=details.started_at,
        ended_at=details.started_at + timedelta(milliseconds=details.duration_ms),
        duration_ms=round(details.duration_ms, 3),
        queue_ms=round(details.attempts.queue_ms, 3),
        attempts=details.attempts.made,
        input_valid=details.input_valid,
        output_valid=details.output_valid,
        status="ok" if failure is None else status_of(failure),
        error_code=None if failure is None else failure.code,
        error_message=None if failure is None else _error_message(failure),
        args_digest=digest(arguments),
        args_redacted=redact(arguments, tool),
        result_bytes=details.result_bytes,
    )


def status_of(failure: CallFailure) -> CallStatus:
    """Return the log's status of a call that has ended."""
    return _STATUSES[failure.code]


def digest(arguments: JsonObject) -> str:
    """Return a hash that tells the arguments of calls apart without showing them."""
    try:
        text = orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS, default=str)
    except (TypeError, ValueError):
        text = repr(arguments).encode(errors="replace")
    return hashlib.sha256(text).hexdigest()


def redact(arguments: JsonObject, tool: CatalogueTool | None) -> dict[str, str]:
    """Replace the arguments' values by kinds and sizes, under names of the schema.

    A name the schema does not have may be anything, so such are only counted, under `…`.
    """
    declared = None if tool is None else tool.definition.input_schema.get("properties")
    names = cast("Container[str]", declared if isinstance(declared, dict) else ())  # JSON
    shown = {name: _kind(value) for name, value in arguments.items() if name in names}
    others = len(arguments) - len(shown)
    return {**shown, "…": f"{others} more"} if others else shown


def _kind(value: Any) -> str:
    """Return the JSON kind of a value, and its size where it has one."""
    kind = cast("type[object]", type(value))  # JSON of any shape
    if kind in _SIZED:
        return f"{_SIZED[kind]} ({len(value)})"
    return _PLAIN.get(kind, "other")


def _error_message(failure: CallFailure) -> str:
    """Return a sentence of ours; of faults their places and rules, in the schema's words."""
    sentence = _SENTENCES[failure.code]
    if failure.faults:
        sentence = f"{sentence}: {'; '.join(map(_fault_summary, failure.faults[:5]))}."
    return sentence[:_MOST_TEXT]


def _fault_summary(fault: SchemaFault) -> str:
    """Return place and rule; the message only if it names a field of the schema and no value."""
    said = fault.message if fault.rule == "required" else fault.rule
    return f"{fault.path or '/'} {said}"
