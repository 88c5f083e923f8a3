"""The session and message stores of a kind, by the name `DATAAGENT_SESSION_STORE` gives it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from dataagent_core.config.settings import SessionStoreKind
from dataagent_core.errors import Misconfigured
from dataagent_core.session.store import MessageStore, SessionStore
from dataagent_core.session.stores.memory import (
    MemoryData,
    MemoryMessageStore,
    MemorySessionStore,
)

if TYPE_CHECKING:
    from dataagent_core.storage import Database
    from dataagent_core.storage.redis import RedisSpace


@dataclass(frozen=True, slots=True)
class SessionStores:
    """Sessions and their messages, kept in the same place."""

    sessions: SessionStore
    messages: MessageStore


class SessionStoreFactory:
    """Makes stores over what was opened for them."""

    @staticmethod
    def create(
        kind: str,
        *,
        memory: MemoryData | None = None,
        database: Database | None = None,
        redis: RedisSpace | None = None,
    ) -> SessionStores:
        """The stores of a kind: `memory`, `sqlite`, `mysql`, `postgres` or `redis`.

        Raises:
            Misconfigured: no such kind, or what it needs was not opened.
        """
        match kind:
            case "memory":
                data = memory or MemoryData()
                return SessionStores(MemorySessionStore(data), MemoryMessageStore(data))
            case "sqlite" | "mysql" | "postgres" if database is not None:
                from dataagent_core.session.stores.sql import SqlMessageStore, SqlSessionStore

                return SessionStores(SqlSessionStore(database), SqlMessageStore(database))
            case "redis" if redis is not None:
                from dataagent_core.session.stores.redis import (
                    RedisMessageStore,
                    RedisSessionStore,
                )

                return SessionStores(RedisSessionStore(redis), RedisMessageStore(redis))
            case _:
                raise unusable(kind)


def unusable(kind: str) -> Misconfigured:
    """The error for a kind that is unknown or has nothing to keep things in."""
    kinds = get_args(SessionStoreKind)
    if kind not in kinds:
        return Misconfigured(
            f"DATAAGENT_SESSION_STORE={kind!r} is no store. Use one of: {', '.join(kinds)}."
        )
    needed = "DATAAGENT_REDIS_URL" if kind == "redis" else "DATAAGENT_DATABASE_URL"
    return Misconfigured(f"DATAAGENT_SESSION_STORE={kind} needs {needed} to be set.")
