"""A conversation and its messages: types, stores and manager."""

from dataagent_core.session.manager import Belongings, SessionManager, new_session_id
from dataagent_core.session.store import MessageStore, SessionStore
from dataagent_core.session.titles import title_of
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
    "Belongings",
    "Message",
    "MessageStatus",
    "MessageStore",
    "Role",
    "Session",
    "SessionManager",
    "SessionStore",
    "new_session_id",
    "now",
    "title_of",
]
