"""What a run emits: frozen dataclasses, distinguished by `event_type`, and their JSON forms.

The flat form (`to_dict`) is for programs; the wire form (`event_to_wire`) wraps the same fields
under `data` and adds `seq` and `run_id`. `event_from_dict` reads both.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal, cast, get_args

import orjson

from dataagent_protocol.errors import UnknownEvent
from dataagent_protocol.hitl import ALL_DECISIONS, ActionRequest, DecisionType

__all__ = [
    "EVENT_CLASSES",
    "AnyEvent",
    "ArtifactEvent",
    "ArtifactKind",
    "DoneEvent",
    "DoneReason",
    "ErrorEvent",
    "EventType",
    "ExecutionEvent",
    "FileOperation",
    "FileOperationEvent",
    "HITLRequestEvent",
    "TextEvent",
    "ThinkingEvent",
    "TodoUpdateEvent",
    "ToolCallEvent",
    "ToolResultEvent",
    "ToolStatus",
    "event_from_dict",
    "event_to_wire",
]

EventType = Literal[
    "text",
    "thinking",
    "tool_call",
    "tool_result",
    "hitl_request",
    "todo_update",
    "file_operation",
    "artifact",
    "error",
    "done",
]
ToolStatus = Literal["success", "error", "timeout", "denied"]
FileOperation = Literal["read", "write", "edit", "delete"]
ArtifactKind = Literal["table", "chart", "file"]
DoneReason = Literal[
    "completed", "user_cancelled", "rejected", "timeout", "failed", "shutdown", "budget"
]
JsonDict = dict[str, Any]  # JSON object whose shape belongs to a tool or a model


@dataclass(frozen=True, kw_only=True)
class ExecutionEvent:
    """Base of all events; only the subclasses below are instantiated.

    `event_type` is fixed for each class; if it is passed, it must be that one.
    """

    event_type: EventType
    timestamp: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        fixed = type(self).event_type
        if self.event_type != fixed:
            raise ValueError(
                f"A {type(self).__name__} has the event_type {fixed!r}, not {self.event_type!r}."
            )

    def to_dict(self) -> JsonDict:
        """Flat JSON form: `event_type`, `timestamp` and the event's own fields.

        A value that `json.dumps` cannot write (a path, a set) becomes the nearest that it can.
        """
        flat = {"event_type": self.event_type, "timestamp": self.timestamp, **self.data()}
        return {name: _writable(value) for name, value in flat.items()}

    def data(self) -> JsonDict:
        """The event's own fields, as under `data` on the wire."""
        return {name: getattr(self, name) for name in _own_fields(type(self))}


_OWN_FIELDS: dict[type[ExecutionEvent], tuple[str, ...]] = {}


def _own_fields(kind: type[ExecutionEvent]) -> tuple[str, ...]:
    names = _OWN_FIELDS.get(kind)
    if names is None:
        names = tuple(f.name for f in fields(kind) if f.name not in ("event_type", "timestamp"))
        _OWN_FIELDS[kind] = names
    return names


def _writable(value: Any) -> Any:  # from a model or a tool
    """The value as `json.dumps` accepts it; unchanged if it accepts it."""
    match value:
        case str() | int() | float() | None:
            return value
        case dict():
            entries = cast("dict[object, object]", value)
            return {_key(key): _writable(each) for key, each in entries.items()}
        case tuple():
            return tuple(_writable(each) for each in cast("tuple[object, ...]", value))
        case list() | set() | frozenset():
            return [_writable(each) for each in cast("Iterable[object]", value)]
        case _:
            return str(value)


def _key(key: object) -> str | int | float | None:
    return key if isinstance(key, str | int | float | None) else str(key)


@dataclass(frozen=True, kw_only=True)
class TextEvent(ExecutionEvent):
    """A piece of the answer. `is_final` marks a message's last piece; `agent` is its speaker.

    `is_main`: the agent answers the user itself; without it, a named agent is a sub-agent.
    """

    event_type: Literal["text"] = "text"
    content: str
    is_final: bool = False
    agent: str | None = None
    is_main: bool = False

    @property
    def subagent(self) -> str | None:
        """The sub-agent that says it; None for the agent that answers."""
        return None if self.is_main else self.agent


@dataclass(frozen=True, kw_only=True)
class ThinkingEvent(ExecutionEvent):
    """A piece of the model's reasoning; `agent` and `is_main` as of text."""

    event_type: Literal["thinking"] = "thinking"
    content: str
    agent: str | None = None
    is_main: bool = False

    @property
    def subagent(self) -> str | None:
        """The sub-agent that thinks it; None for the agent that answers."""
        return None if self.is_main else self.agent


@dataclass(frozen=True, kw_only=True)
class ToolCallEvent(ExecutionEvent):
    """A tool is about to run, with complete arguments; `agent` and `is_main` as of text."""

    event_type: Literal["tool_call"] = "tool_call"
    tool_name: str
    tool_args: JsonDict
    tool_call_id: str
    agent: str | None = None
    is_main: bool = False

    @property
    def subagent(self) -> str | None:
        """The sub-agent that calls it; None for the agent that answers."""
        return None if self.is_main else self.agent


@dataclass(frozen=True, kw_only=True)
class ToolResultEvent(ExecutionEvent):
    """A tool has ended, with a result or a failure."""

    event_type: Literal["tool_result"] = "tool_result"
    tool_call_id: str
    tool_name: str = ""
    result: Any  # text, or the JSON the tool returned
    status: ToolStatus = "success"


@dataclass(frozen=True, kw_only=True)
class HITLRequestEvent(ExecutionEvent):
    """A call waits for a person's decision until `expires_at` (epoch seconds)."""

    event_type: Literal["hitl_request"] = "hitl_request"
    request_id: str
    action: ActionRequest
    allowed: tuple[DecisionType, ...] = ALL_DECISIONS
    expires_at: float | None = None

    def data(self) -> JsonDict:
        """As the base, with the action as a plain object; with its id if that is another."""
        action = self.action.to_dict()
        if self.action.request_id != self.request_id:
            action["request_id"] = self.action.request_id
        return {
            "request_id": self.request_id,
            "action": action,
            "allowed": list(self.allowed),
            "expires_at": self.expires_at,
        }


@dataclass(frozen=True, kw_only=True)
class TodoUpdateEvent(ExecutionEvent):
    """The agent's whole plan, after a change."""

    event_type: Literal["todo_update"] = "todo_update"
    todos: list[JsonDict]


@dataclass(frozen=True, kw_only=True)
class FileOperationEvent(ExecutionEvent):
    """A file of the workspace was read or changed; `diff` is a unified diff."""

    event_type: Literal["file_operation"] = "file_operation"
    operation: FileOperation
    file_path: str
    metrics: dict[str, int] = field(default_factory=dict[str, int])
    diff: str | None = None
    status: ToolStatus = "success"


@dataclass(frozen=True, kw_only=True)
class ArtifactEvent(ExecutionEvent):
    """A table, chart or file was made and can be fetched."""

    event_type: Literal["artifact"] = "artifact"
    artifact_id: str
    kind: ArtifactKind
    title: str
    url: str
    preview: Any = None  # JSON; its shape depends on `kind`


@dataclass(frozen=True, kw_only=True)
class ErrorEvent(ExecutionEvent):
    """Something failed; a `DoneEvent` follows. `recoverable` invites a retry."""

    event_type: Literal["error"] = "error"
    error: str
    error_code: str = "error"
    recoverable: bool = False


@dataclass(frozen=True, kw_only=True)
class DoneEvent(ExecutionEvent):
    """The run has ended. Exactly one ends every run.

    `metadata["figures"]` says which figures of a data answer its results back, and which not;
    `metadata["budget"]` what was used up when the reason is `budget`.
    """

    event_type: Literal["done"] = "done"
    token_usage: dict[str, int] | None = None
    cancelled: bool = False
    reason: DoneReason = "completed"
    metadata: JsonDict | None = None


AnyEvent = (
    TextEvent
    | ThinkingEvent
    | ToolCallEvent
    | ToolResultEvent
    | HITLRequestEvent
    | TodoUpdateEvent
    | FileOperationEvent
    | ArtifactEvent
    | ErrorEvent
    | DoneEvent
)
EVENT_CLASSES: tuple[type[AnyEvent], ...] = get_args(AnyEvent)
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
    """The message every reader receives: `{event_type, data, timestamp, seq, run_id}` as JSON.

    Text that JSON cannot have (lone surrogates) is replaced, so that one bad character of a model
    or tool cannot prevent an answer from being stored.
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
    """The nearest JSON value: bad text repaired, other objects as text."""
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
