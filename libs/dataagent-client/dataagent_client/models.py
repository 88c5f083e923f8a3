"""What the REST door answers, as dataclasses. Parsing is pure; unknown fields are ignored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from dataagent_client.parsing import JsonDict, apply_parser, make_parser
from dataagent_client.wire import Received, received_from
from dataagent_protocol.events import TextEvent
from dataagent_protocol.hitl import ActionRequest

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A stretch of a list, and how long the list is."""

    items: list[T]
    total: int


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A conversation."""

    session_id: str
    thread_id: str
    user_id: str
    assistant_id: str
    title: str
    created_at: datetime
    last_active: datetime
    metadata: JsonDict = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class MessageInfo:
    """One message of a conversation. `status`: complete, cancelled, failed, running."""

    message_id: str
    session_id: str
    role: str
    content: str
    status: str
    created_at: datetime
    run_id: str | None = None
    metadata: JsonDict = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """A call that waits for a decision."""

    request_id: str
    action: ActionRequest
    allowed: tuple[str, ...]
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One message being answered, or answered."""

    run_id: str
    session_id: str
    assistant_id: str
    status: str
    attempt: int
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    token_usage: dict[str, int] | None = None
    error: JsonDict | None = None
    pending: tuple[PendingApproval, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatResult:
    """A run that was waited for. `status` is `waiting` when it needs an approval to go on."""

    session_id: str
    run_id: str
    status: str
    events: tuple[Received, ...]

    @property
    def text(self) -> str:
        """The main agent's answer."""
        pieces = (item.event for item in self.events)
        texts = (event for event in pieces if isinstance(event, TextEvent))
        return "".join(event.content for event in texts if event.subagent is None)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A message that is kept; its run has begun."""

    session_id: str
    run_id: str
    status: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """A run that was told to stop."""

    session_id: str
    run_id: str
    status: str


@dataclass(frozen=True, slots=True)
class Health:
    """The server's state. `raw` is all it said."""

    status: str
    version: str
    uptime: float
    raw: JsonDict


parse_session = make_parser(SessionInfo, "session")
parse_message = make_parser(MessageInfo, "message")
parse_accepted = make_parser(Accepted, "chat")
parse_cancelled = make_parser(Cancelled, "cancel")


def parse_run(data: object) -> RunInfo:
    """A run. Raises `ProtocolError` if it is none."""
    return apply_parser(_run, data, "run")


def parse_chat(data: object) -> ChatResult:
    """The answer of `POST /chat`. Raises `ProtocolError` if it is none."""
    return apply_parser(_chat, data, "chat answer")


def parse_health(data: object) -> Health:
    """The server's state. Raises `ProtocolError` if it is none."""
    return apply_parser(_health, data, "health")


def parse_page(data: object, parse_item: Callable[[object], T]) -> Page[T]:
    """A list `{"items", "total"}`. Raises `ProtocolError` if it is none."""
    return apply_parser(
        lambda d: Page([parse_item(item) for item in d["items"]], int(d["total"])), data, "list"
    )


def _time(value: Any) -> datetime:
    return datetime.fromisoformat(value)


def _time_or_none(value: Any) -> datetime | None:
    return None if value is None else _time(value)


def _run(data: JsonDict) -> RunInfo:
    return RunInfo(
        run_id=data["run_id"],
        session_id=data["session_id"],
        assistant_id=data["assistant_id"],
        status=data["status"],
        attempt=data["attempt"],
        created_at=_time(data["created_at"]),
        started_at=_time_or_none(data.get("started_at")),
        ended_at=_time_or_none(data.get("ended_at")),
        token_usage=data.get("token_usage"),
        error=data.get("error"),
        pending=tuple(_pending(item) for item in data.get("pending") or ()),
    )


def _pending(data: JsonDict) -> PendingApproval:
    action = data["action"]
    return PendingApproval(
        request_id=data["request_id"],
        action=ActionRequest(
            action["name"], action["args"], action.get("description", ""), data["request_id"]
        ),
        allowed=tuple(data["allowed"]),
        expires_at=_time_or_none(data.get("expires_at")),
    )


def _chat(data: JsonDict) -> ChatResult:
    found = (received_from(item) for item in data["events"])
    return ChatResult(
        session_id=data["session_id"],
        run_id=data["run_id"],
        status=data["status"],
        events=tuple(item for item in found if isinstance(item, Received)),
    )


def _health(data: JsonDict) -> Health:
    return Health(data["status"], data["version"], float(data["uptime"]), data)
