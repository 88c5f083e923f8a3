"""Sessions and messages: types, stores and manager."""

from typing import TYPE_CHECKING, Any

from dataagent_core.session.manager import SessionManager, SessionResources, new_session_id
from dataagent_core.session.store import ConversationStore, MessageStore, SessionStore
from dataagent_core.session.stores.factory import SessionStoreFactory
from dataagent_core.session.stores.memory import MemoryMessageStore, MemorySessionStore
from dataagent_core.session.stores.sql import (
    MySQLMessageStore,
    MySQLSessionStore,
    PostgresMessageStore,
    PostgresSessionStore,
    SQLiteMessageStore,
    SQLiteSessionStore,
)
from dataagent_core.session.types import (
    DEFAULT_TITLE,
    Message,
    MessageStatus,
    Role,
    Session,
    now,
    title_of,
)

if TYPE_CHECKING:
    from dataagent_core.session.stores.redis import RedisMessageStore, RedisSessionStore

__all__ = [
    "DEFAULT_TITLE",
    "ConversationStore",
    "MemoryMessageStore",
    "MemorySessionStore",
    "Message",
    "MessageStatus",
    "MessageStore",
    "MySQLMessageStore",
    "MySQLSessionStore",
    "PostgresMessageStore",
    "PostgresSessionStore",
    "RedisMessageStore",
    "RedisSessionStore",
    "Role",
    "SQLiteMessageStore",
    "SQLiteSessionStore",
    "Session",
    "SessionManager",
    "SessionResources",
    "SessionStore",
    "SessionStoreFactory",
    "new_session_id",
    "now",
    "title_of",
]


def __getattr__(name: str) -> Any:  # Any: a class of the module's
    """Import Redis's stores on first use: its driver is an extra of the package."""
    if name in ("RedisMessageStore", "RedisSessionStore"):
        from dataagent_core.session.stores import redis

        return getattr(redis, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
