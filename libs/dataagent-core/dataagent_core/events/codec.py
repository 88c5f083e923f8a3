"""Events to and from dictionaries and wire messages. Pure functions.

The flat form (`to_dict`) is for programs; the wire form wraps the same fields under `data` and
adds `seq` and `run_id`. Both come back through `event_from_dict`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, cast

import orjson

from dataagent_core.errors import UnknownEvent
from dataagent_core.events.types import EVENT_CLASSES, AnyEvent, HITLRequestEvent
from dataagent_core.hitl import ActionRequest

_BY_TYPE: dict[str, type[AnyEvent]] = {kind.event_type: kind for kind in EVENT_CLASSES}
_REQUIRED: dict[str, frozenset[str]] = {
    kind.event_type: frozenset(
        f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING
    )
    for kind in EVENT_CLASSES
}
_KNOWN: dict[str, frozenset[str]] = {
    kind.event_type: frozenset(f.name for f in fields(kind)) for kind in EVENT_CLASSES
}


def event_from_dict(data: Mapping[str, Any]) -> AnyEvent:
    """Rebuild an event from its flat or its wire form. Unknown fields are ignored.

    Raises:
        UnknownEvent: no such `event_type`, or a required field is missing.
    """
    event_type = data.get("event_type")
    kind = _BY_TYPE.get(event_type) if isinstance(event_type, str) else None
    if kind is None:
        raise UnknownEvent(f"Unknown event_type {event_type!r}. Known: {', '.join(_BY_TYPE)}.")
    own = data["data"] if isinstance(data.get("data"), Mapping) else data
    known = _KNOWN[kind.event_type]
    values = {name: value for name, value in own.items() if name in known}
    if "timestamp" in data:
        values["timestamp"] = data["timestamp"]
    missing = _REQUIRED[kind.event_type] - values.keys()
    if missing:
        raise UnknownEvent(f"A {kind.event_type!r} event needs {', '.join(sorted(missing))}.")
    if kind is HITLRequestEvent:
        _restore_request(values)
    return kind(**values)


def _restore_request(values: dict[str, Any]) -> None:
    action = values["action"]
    if not isinstance(action, ActionRequest):
        values["action"] = ActionRequest.from_dict(action, values["request_id"])
    if "allowed" in values:
        values["allowed"] = tuple(values["allowed"])


def event_to_wire(event: AnyEvent, *, seq: int, run_id: str) -> bytes:
    """The message every reader gets: `{event_type, data, timestamp, seq, run_id}` as JSON.

    Text that no JSON can carry (lone surrogates) is replaced, so that one bad character of a
    model or tool cannot stop an answer from being kept.
    """
    message = {
        "event_type": event.event_type,
        "data": event.data(),
        "timestamp": event.timestamp,
        "seq": seq,
        "run_id": run_id,
    }
    try:
        return orjson.dumps(message, default=str, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        return orjson.dumps(_storable(message), option=orjson.OPT_NON_STR_KEYS)


def _storable(value: Any) -> Any:
    """The nearest value JSON can carry: bad text repaired, other objects as text."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode("utf-8")
        case dict():
            fields = cast("dict[object, object]", value)  # of any shape
            return {str(_storable(k)): _storable(v) for k, v in fields.items()}
        case list() | tuple():
            # JSON of unknown shape
            return [_storable(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case bool() | int() | float() | None:
            return value if not isinstance(value, int) or abs(value) < 2**63 else str(value)
        case _:
            return _storable(str(value))
