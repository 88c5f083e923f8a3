"""The run store of a kind, over the same database as the session stores of that kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_core.runs.store import RunStore
from dataagent_core.runs.stores.memory import MemoryRunStore
from dataagent_core.session.stores.factory import unusable_store_error
from dataagent_core.session.stores.memory import MemoryData

if TYPE_CHECKING:
    from dataagent_core.storage import Database
    from dataagent_core.storage.redis import RedisSpace


def open_run_store(
    kind: str,
    *,
    memory: MemoryData | None = None,
    database: Database | None = None,
    redis: RedisSpace | None = None,
) -> RunStore:
    """The run store of a kind: `memory`, `sqlite`, `mysql`, `postgres` or `redis`.

    `memory` is the data that the session stores share.

    Raises:
        Misconfigured: no such kind, or its database was not opened.
    """
    match kind:
        case "memory":
            return MemoryRunStore(memory or MemoryData())
        case "sqlite" | "mysql" | "postgres" if database is not None:
            from dataagent_core.runs.stores.sql import SqlRunStore

            return SqlRunStore(database)
        case "redis" if redis is not None:
            from dataagent_core.runs.stores.redis import RedisRunStore

            return RedisRunStore(redis)
        case _:
            raise unusable_store_error(kind)
