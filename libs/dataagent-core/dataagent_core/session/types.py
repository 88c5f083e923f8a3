"""A conversation and what was said in it, as plain data."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import orjson

Role = Literal["user", "assistant", "system"]
MessageStatus = Literal["running", "complete", "cancelled", "failed"]
DEFAULT_TITLE = "New Conversation"


def now() -> datetime:
    """The current time in UTC, to the millisecond: what every store keeps."""
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def new_thread_id() -> str:
    """A fresh `thread_id`: 8 hex digits, which may be another session's."""
    return secrets.token_hex(4)


@dataclass(slots=True)
class Session:
    """A user's conversation with an agent. `thread_id` is the short public name of it."""

    session_id: str
    user_id: str
    assistant_id: str
    created_at: datetime = field(default_factory=now)
    last_active: datetime = field(default_factory=now)
    state: dict[str, Any] = field(default_factory=dict[str, Any])
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    thread_id: str = field(default_factory=new_thread_id)
    title: str = DEFAULT_TITLE


def metadata_bytes(session: Session) -> int:
    """How much of a user's share a session takes before anything is said in it."""
    return len(orjson.dumps(session.metadata, default=str)) if session.metadata else 0


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a session. The assistant's is written by its run alone."""

    message_id: str
    session_id: str
    role: Role
    content: str
    created_at: datetime = field(default_factory=now)
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    run_id: str | None = None
    status: MessageStatus = "complete"
