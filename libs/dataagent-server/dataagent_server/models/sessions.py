"""Request and response models of sessions, conversations, messages and thread histories."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError

from dataagent_core.runs.history import History, HistoryItem
from dataagent_core.session.types import (
    DEFAULT_TITLE,
    TITLE_LENGTH,
    Message,
    MessageStatus,
    Role,
    Session,
)
from dataagent_server.models.chat import ApprovalInfo
from dataagent_server.models.fields import (
    Name,
    RequestModel,
    ResponseModel,
    SafeJson,
    SafeText,
    UtcTime,
)

_MAX_METADATA = 64 * 1024


def _small(value: dict[str, Any]) -> dict[str, Any]:
    """The object, if it has a size and numbers that every store can keep."""
    try:
        size = len(orjson.dumps(value))
    except TypeError:
        raise PydanticCustomError("number", "A whole number has at most 64 bits") from None
    if size > _MAX_METADATA:
        raise PydanticCustomError("size", "The metadata has more than 64 KiB as JSON")
    return value


class SessionCreate(RequestModel):
    """A session to create; `metadata` is stored and returned as it is."""

    model_config = ConfigDict(json_schema_extra={"example": {"metadata": {"ticket": "A-17"}}})

    assistant_id: Name | None = None
    metadata: Annotated[SafeJson, AfterValidator(_small)] | None = None


class SessionCompact(RequestModel):
    """What a summary must contain above all."""

    model_config = ConfigDict(json_schema_extra={"example": {"keep": "the definition of revenue"}})

    keep: Annotated[SafeText, StringConstraints(max_length=2000)] | None = None


class SessionInfo(ResponseModel):
    """A conversation."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    session_id: str
    thread_id: str = ""
    user_id: str
    assistant_id: str
    title: str = DEFAULT_TITLE
    created_at: UtcTime
    last_active: UtcTime
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])

    @classmethod
    def of(cls, session: Session) -> SessionInfo:
        """The public form of a session."""
        return cls(
            session_id=session.session_id,
            thread_id=session.thread_id,
            user_id=session.user_id,
            assistant_id=session.assistant_id,
            title=session.title,
            created_at=session.created_at,
            last_active=session.last_active,
            metadata=session.metadata,
        )


class MessageInfo(ResponseModel):
    """One message of a conversation."""

    message_id: str
    session_id: str
    run_id: str | None
    role: Role
    content: str
    status: MessageStatus
    created_at: UtcTime
    metadata: dict[str, Any]

    @classmethod
    def of(cls, message: Message) -> MessageInfo:
        """The public form of a message."""
        return cls(
            message_id=message.message_id,
            session_id=message.session_id,
            run_id=message.run_id,
            role=message.role,
            content=message.content,
            status=message.status,
            created_at=message.created_at,
            metadata=message.metadata,
        )


Title = Annotated[SafeText, StringConstraints(min_length=1, max_length=TITLE_LENGTH, pattern=r"\S")]
"""A title as a user gives it: not blank."""


class ConversationCreate(RequestModel):
    """A conversation to create."""

    model_config = ConfigDict(json_schema_extra={"example": {"title": "Sales by region"}})

    title: Title | None = None


class ConversationUpdate(RequestModel):
    """A new title."""

    model_config = ConfigDict(json_schema_extra={"example": {"title": "Sales in spring"}})

    title: Title


class ConversationInfo(ResponseModel):
    """A conversation; `id` is its session's, `thread_id` its short name."""

    id: str
    thread_id: str
    title: str
    created_at: UtcTime
    updated_at: UtcTime

    @classmethod
    def of(cls, session: Session) -> ConversationInfo:
        """A session as a conversation."""
        return cls(
            id=session.session_id,
            thread_id=session.thread_id,
            title=session.title,
            created_at=session.created_at,
            updated_at=session.last_active,
        )


class HistoryMessage(MessageInfo):
    """A message; an answer has its run's events, in wire form, and the approvals with decisions."""

    approvals: list[ApprovalInfo]
    events: list[dict[str, Any]]


class ThreadHistory(ResponseModel):
    """A page of a conversation's messages. Events after `last_seq` are still to come."""

    thread_id: str
    messages: list[HistoryMessage]
    total: int
    last_seq: int


def history_json(thread_id: str, history: History) -> bytes:
    """A `ThreadHistory` around events that are JSON already."""
    messages = b",".join(map(_message_json, history.items))
    rest = orjson.dumps({"total": history.total, "last_seq": history.last_seq})
    head = orjson.dumps({"thread_id": thread_id})
    return b'%s,"messages":[%s],%s' % (head[:-1], messages, rest[1:])


def _message_json(item: HistoryItem) -> bytes:
    head = MessageInfo.of(item.message).model_dump_json().encode()
    approvals = ",".join(ApprovalInfo.of(each).model_dump_json() for each in item.approvals)
    events = b",".join(entry.wire for entry in item.entries)
    return b'%s,"approvals":[%s],"events":[%s]}' % (head[:-1], approvals.encode(), events)
