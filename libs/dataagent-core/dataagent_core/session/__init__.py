"""A conversation and its messages: types, stores and manager."""

from dataagent_core.session.manager import SessionManager, new_session_id
from dataagent_core.session.store import MessageStore, SessionStore
from dataagent_core.session.types import (
    DEFAULT_TITLE,
    Message,
    MessageStatus,
    Role,
    Session,
    now,
)

__all__ = [
    "DEFAULT_TITLE",
    "Message",
    "MessageStatus",
    "MessageStore",
    "Role",
    "Session",
    "SessionManager",
    "SessionStore",
    "new_session_id",
    "now",
]
