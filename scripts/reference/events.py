"""docs/reference/events.md, from the event classes and the socket's protocol."""

from __future__ import annotations

import inspect
import json
import typing
from dataclasses import MISSING, Field, fields
from typing import Any, cast

from pydantic import BaseModel

from dataagent_core.events import (
    EVENT_CLASSES,
    AnyEvent,
    ArtifactEvent,
    DoneEvent,
    ErrorEvent,
    FileOperationEvent,
    HITLRequestEvent,
    TextEvent,
    ThinkingEvent,
    TodoUpdateEvent,
    ToolCallEvent,
    ToolResultEvent,
    event_to_wire,
)
from dataagent_core.hitl import ActionRequest
from dataagent_server.api.web.chat import chat_event
from dataagent_server.ws import protocol
from scripts.reference.settings import kind
from scripts.reference.tables import code, in_cell, table

_INTRO = """\
# Events

What a run says, in order, each with a `seq` that counts up in its session. This page is generated
from the code: `make docs` writes it. [The ledger](../concepts/ledger.md) describes their storage.

The WebSocket, `GET /api/v1/sessions/{session_id}/events`, stored history, `dataagent --json` and
the Python client carry all of them in one form:
`{"event_type", "data", "timestamp", "seq", "run_id"}`.
`POST /api/chat` gives some other names and fields, which stand below.
"""
_AT = 1772357400.0
_EXAMPLES: tuple[AnyEvent, ...] = (
    TextEvent(content="The USA leads with 523.06.", timestamp=_AT),
    ThinkingEvent(content="→ sql: sales by country", timestamp=_AT),
    ToolCallEvent(
        tool_name="sql_db_query",
        tool_args={"query": "SELECT count(*) FROM Invoice"},
        tool_call_id="call_1",
        timestamp=_AT,
    ),
    ToolResultEvent(tool_call_id="call_1", tool_name="sql_db_query", result="1 row", timestamp=_AT),
    HITLRequestEvent(
        request_id="call_2",
        action=ActionRequest(
            name="write_file", args={"file_path": "/report.md"}, request_id="call_2"
        ),
        expires_at=_AT + 300,
        timestamp=_AT,
    ),
    TodoUpdateEvent(todos=[{"content": "Add them up", "status": "in_progress"}], timestamp=_AT),
    FileOperationEvent(operation="write", file_path="/report.md", timestamp=_AT),
    ArtifactEvent(
        artifact_id="a1",
        kind="table",
        title="Sales by country",
        url="/api/v1/artifacts/a1",
        timestamp=_AT,
    ),
    ErrorEvent(error="The model does not answer.", error_code="model_unavailable", timestamp=_AT),
    DoneEvent(token_usage={"input_tokens": 512, "output_tokens": 64}, timestamp=_AT),
)


def page() -> str:
    """The whole page."""
    parts = [_INTRO, "## Of a run\n"]
    parts += [_event(each) for each in examples()]
    parts += ["## What a socket says besides\n", _FRAMES_INTRO, *_frames()]
    parts += ["## What a client may say\n", _CLIENT_INTRO]
    parts += [_command(each) for each in typing.get_args(protocol.Command)]
    return "\n".join(parts)


_FRAMES_INTRO = """\
These have no `seq`: they are about the connection, not the run.
"""
_CLIENT_INTRO = """\
A text frame on `/ws/chat/{session_id}`: `{"type": …, "payload": {…}}`. What makes no sense is
answered with `error`; the connection lives on.
"""


def examples() -> list[AnyEvent]:
    """One event of each class there is.

    Raises:
        KeyError: a class has no example here.
    """
    by_class = {type(each): each for each in _EXAMPLES}
    return [by_class[each] for each in EVENT_CLASSES]


def _event(sample: AnyEvent) -> str:
    event = type(sample)
    hints = typing.get_type_hints(event)
    own = [each for each in fields(event) if each.name not in ("event_type", "timestamp")]
    rows = [(code(each.name), in_cell(kind(hints[each.name])), _default(each)) for each in own]
    lines = [f"### {event.event_type}", "", inspect.getdoc(event) or "", ""]
    lines += table(["field", "kind", "default"], rows)
    wire = json.loads(event_to_wire(sample, seq=1, run_id="run_1"))
    lines += ["", "```json", json.dumps(wire, ensure_ascii=False), "```", ""]
    name, data = chat_event(sample)
    if name != event.event_type or data.keys() != sample.data().keys():
        listed = ", ".join(f"`{each}`" for each in data)
        lines += [f"On `/api/chat`: `{name}` with {listed}.", ""]
    return "\n".join(lines)


def _default(field: Field[Any]) -> str:
    if field.default is MISSING:
        return code("{}") if field.default_factory is not MISSING else "required"
    return "" if field.default is None else code(json.dumps(field.default))


def _frames() -> list[str]:
    rows: list[tuple[str, str]] = []
    for name, function in vars(protocol).items():
        if name.endswith("_frame") and not name.startswith("_"):
            rows.append(
                (code(name.removesuffix("_frame")), in_cell(inspect.getdoc(function) or ""))
            )
    return [*table(["`event_type`", "when"], rows), ""]


def _command(command: type[BaseModel]) -> str:
    name: str = cast(Any, command).command  # each of the union has it
    rows = [
        (code(field), in_cell(kind(each.annotation)), "yes" if each.is_required() else "")
        for field, each in command.model_fields.items()
    ]
    lines = [f"### {name}", "", inspect.getdoc(command) or "", ""]
    return "\n".join([*lines, *table(["payload", "kind", "required"], rows), ""])
