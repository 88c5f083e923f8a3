"""LangGraph's PostgreSQL saver over one pool, a saver object per run."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool
from sqlalchemy.engine import URL

from dataagent_core.engine.checkpoints.base import Checkpoints
from dataagent_core.engine.checkpoints.serialiser import RememberingSerialiser

Pool = AsyncConnectionPool[AsyncConnection[DictRow]]


class PostgresCheckpoints(Checkpoints):
    """Threads in the PostgreSQL database that holds everything else."""

    def __init__(self, url: URL, *, pool_size: int) -> None:
        self._pool: Pool = AsyncConnectionPool(  # pyright: ignore[reportAttributeAccessIssue] rows are dicts by its kwargs
            url.set(drivername="postgresql").render_as_string(hide_password=False),
            min_size=1,
            max_size=pool_size,
            open=False,
            timeout=30,
            kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
            check=AsyncConnectionPool.check_connection,
        )
        self._serialiser = RememberingSerialiser()

    async def setup(self) -> None:
        """Open the pool and create LangGraph's tables."""
        await self._pool.open()
        await AsyncPostgresSaver(self._pool).setup()

    def saver(self) -> BaseCheckpointSaver[Any]:
        """A saver with a lock of its own over the shared pool."""
        return AsyncPostgresSaver(self._pool, serde=self._serialiser)

    async def close(self) -> None:
        """Close the pool."""
        await self._pool.close()
