"""Conversations: sessions as the web app shows them."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, StringConstraints

from dataagent_core.session import Session
from dataagent_core.session.types import TITLE_LENGTH
from dataagent_server.models.fields import RequestModel, ResponseModel, SafeText, UtcTime

Title = Annotated[SafeText, StringConstraints(min_length=1, max_length=TITLE_LENGTH, pattern=r"\S")]
"""A title as a user gives it: not blank."""


class ConversationCreate(RequestModel):
    """What a caller may say about a conversation it begins."""

    model_config = ConfigDict(json_schema_extra={"example": {"title": "Sales by region"}})

    title: Title | None = None


class ConversationUpdate(RequestModel):
    """Another title."""

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
