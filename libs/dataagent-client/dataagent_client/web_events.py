"""Events of the web app's own chat, which has other names for some, as core's events. Pure.

The server's `api/web/chat_events.py` the other way round: `text_delta` is `text`, `tool_call_start`
is `tool_call`, `tool_call_result` is `tool_result`. They come without the time they were made.
"""

from __future__ import annotations

from typing import Any

import orjson

from dataagent_client.errors import ProtocolError
from dataagent_client.sse import SseMessage
from dataagent_client.wire import Frame, UnknownFrame, received_from

_EVENTS = {"text_delta": "text", "tool_call_start": "tool_call", "tool_call_result": "tool_result"}
_CALL = {"id": "tool_call_id", "name": "tool_name", "args": "tool_args", "output": "result"}
_FIELDS: dict[str, dict[str, str]] = {
    "text_delta": {"text": "content"},
    "tool_call_start": _CALL,
    "tool_call_result": _CALL,
    "error": {"message": "error"},
}


def web_frame(message: SseMessage) -> Frame:
    """One message of the stream.

    Raises:
        ProtocolError: it is not JSON, or not an object.
    """
    try:
        data = orjson.loads(message.data)
    except orjson.JSONDecodeError as error:
        raise ProtocolError(f"The server sent something that is not JSON: {error}.") from error
    match data:
        case {"seq": int(), "run_id": str()}:
            # JSON
            return received_from(_flat(message.event, data))
        case dict():
            return UnknownFrame(message.event, None)
        case _:
            raise ProtocolError("The server sent a message that is not a JSON object.")


def _flat(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """The event as programs have it."""
    fields = _FIELDS.get(name, {})
    own = {fields.get(key, key): value for key, value in data.items()}
    return {**own, "event_type": _EVENTS.get(name, name)}
