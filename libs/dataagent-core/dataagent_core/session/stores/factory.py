"""The session store of a kind, by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from dataagent_core.config.settings import SessionStoreKind
from dataagent_core.errors import Misconfigured
from dataagent_core.session.store import ConversationStore
from dataagent_core.session.stores.memory import MemoryData, MemorySessionStore

if TYPE_CHECKING:
    from dataagent_core.storage import Database
    from dataagent_core.storage.redis import RedisSpace

_OF_SERVERS = {"host", "port", "user", "password", "database", "pool_size", "max_overflow"}


class SessionStoreFactory:
    """Creates session stores."""

    @staticmethod
    def create(store_type: str, **kwargs: Any) -> ConversationStore:  # Any: by kind
        """A store of a kind, with connections of its own: `async with` it, or `close` it.

        Args:
            store_type: `memory`, `sqlite`, `mysql`, `postgres` or `redis`.
            kwargs: What the constructor of that kind takes: `path` for sqlite; `host`, `port`,
                `user`, `password`, `database`, `pool_size` and `max_overflow` for mysql and
                postgres; `url` and `prefix` for redis. Memory takes those of mysql, and needs none,
                so that one call serves both.

        Raises:
            ValueError: there is no such kind.
            TypeError: the kind takes no such keyword.
            Misconfigured: its driver is not installed.
        """
        match store_type:
            case "memory":
                if unknown := sorted(kwargs.keys() - _OF_SERVERS):
                    raise TypeError(f"A store in memory takes no {', '.join(unknown)}.")
                return MemorySessionStore()
            case "sqlite":
                from dataagent_core.session.stores.sql import SQLiteSessionStore

                return SQLiteSessionStore(**kwargs)
            case "mysql":
                from dataagent_core.session.stores.sql import MySQLSessionStore

                return MySQLSessionStore(**kwargs)
            case "postgres":
                from dataagent_core.session.stores.sql import PostgresSessionStore

                return PostgresSessionStore(**kwargs)
            case "redis":
                from dataagent_core.session.stores.redis import RedisSessionStore

                return RedisSessionStore(**kwargs)
            case _:
                raise ValueError(f"Unknown store type: {store_type}")


def open_session_store(
    kind: str,
    *,
    memory: MemoryData | None = None,
    database: Database | None = None,
    redis: RedisSpace | None = None,
) -> ConversationStore:
    """The store of a kind, as `DATAAGENT_SESSION_STORE` names it, over the opened database.

    Raises:
        Misconfigured: no such kind, or its database was not opened.
    """
    match kind:
        case "memory":
            return MemorySessionStore(memory)
        case "sqlite" | "mysql" | "postgres" if database is not None:
            from dataagent_core.session.stores.sql import SqlSessionStore

            return SqlSessionStore(database)
        case "redis" if redis is not None:
            from dataagent_core.session.stores.redis import RedisSessionStore

            return RedisSessionStore(space=redis)
        case _:
            raise unusable_store_error(kind)


def unusable_store_error(kind: str) -> Misconfigured:
    """The error for a kind that is unknown or lacks its database."""
    kinds = get_args(SessionStoreKind)
    if kind not in kinds:
        return Misconfigured(
            f"DATAAGENT_SESSION_STORE={kind!r} is no store. Use one of: {', '.join(kinds)}."
        )
    needed = "DATAAGENT_REDIS_URL" if kind == "redis" else "DATAAGENT_DATABASE_URL"
    return Misconfigured(f"DATAAGENT_SESSION_STORE={kind} needs {needed} to be set.")
