"""Sessions and their messages, as they go over the wire."""

from __future__ import annotations

from typing import Any

from dataagent_core.session.types import Message, MessageStatus, Role, Session
from dataagent_server.models.fields import Name, RequestModel, ResponseModel, UtcTime


class SessionCreate(RequestModel):
    """What a caller may say about a session it creates."""

    assistant_id: Name | None = None


class SessionInfo(ResponseModel):
    """A conversation."""

    session_id: str
    thread_id: str
    user_id: str
    assistant_id: str
    title: str
    created_at: UtcTime
    last_active: UtcTime
    metadata: dict[str, Any]

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
