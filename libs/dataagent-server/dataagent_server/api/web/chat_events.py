"""A ledger entry → an event of `/api/chat`, by the names the web chat uses. Pure.

`text` is `text_delta`, `tool_call` is `tool_call_start`, `tool_result` is `tool_call_result`; the
others keep their names. Data has the web chat's fields, `seq` and `run_id`, and what the event says
besides. Above: `chat_stream.py`, which sends it.
"""

from __future__ import annotations

from typing import Any, assert_never

import orjson

from dataagent_core.events import (
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
)
from dataagent_core.runs.types import Entry


def chat_text(entry: Entry) -> bytes:
    """An entry as a server-sent event."""
    name, data = chat_event(entry.event)
    body = orjson.dumps({**data, "seq": entry.seq, "run_id": entry.run_id})
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (entry.seq, name.encode(), body)


def chat_event(event: AnyEvent) -> tuple[str, dict[str, Any]]:
    """The name and the data of an event."""
    match event:
        case TextEvent():
            final = {"is_final": True} if event.is_final else {}
            return "text_delta", {"text": event.content, **final, **_speaker(event)}
        case ThinkingEvent():
            return "thinking", {"content": event.content, **_speaker(event)}
        case ToolCallEvent():
            return "tool_call_start", {
                "id": event.tool_call_id,
                "name": event.tool_name,
                "args": event.tool_args,
                **_speaker(event),
            }
        case ToolResultEvent():
            return "tool_call_result", {
                "id": event.tool_call_id,
                "name": event.tool_name,
                "status": event.status,
                "output": event.result,
            }
        case ErrorEvent():
            return "error", {
                "message": event.error,
                "error_code": event.error_code,
                "recoverable": event.recoverable,
            }
        case (
            DoneEvent()
            | HITLRequestEvent()
            | TodoUpdateEvent()
            | FileOperationEvent()
            | ArtifactEvent()
        ):
            return event.event_type, event.data()
        case _:
            assert_never(event)


def _speaker(event: TextEvent | ThinkingEvent | ToolCallEvent) -> dict[str, str | bool]:
    """Which agent it is, and whether it is the one that answers; nothing if none was chosen."""
    if event.agent is None:
        return {}
    return {"agent": event.agent, **({"is_main": True} if event.is_main else {})}
