"""LangGraph threads in the product's own database."""

from dataagent_core.engine.checkpoints.savers import Checkpoints, MemoryCheckpoints
from dataagent_core.storage import Database


def open_checkpoints(database: Database, *, pool_size: int = 10) -> Checkpoints:
    """The threads that belong to a database."""
    if database.dialect == "sqlite":
        from dataagent_core.engine.checkpoints.sqlite import SqliteCheckpoints

        return SqliteCheckpoints(database)
    if database.dialect == "postgresql":
        from dataagent_core.engine.checkpoints.postgres import PostgresCheckpoints

        return PostgresCheckpoints(database.url, pool_size=pool_size)
    from dataagent_core.engine.checkpoints.mysql import MysqlCheckpoints

    return MysqlCheckpoints(database.url, pool_size=pool_size)


__all__ = ["Checkpoints", "MemoryCheckpoints", "open_checkpoints"]
