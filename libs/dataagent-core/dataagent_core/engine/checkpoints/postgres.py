"""LangGraph's PostgreSQL saver over one pool, a saver object per run."""

from __future__ import annotations

import asyncio
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool
from sqlalchemy.engine import URL

from dataagent_core.engine.checkpoints.savers import CachingSerialiser, Checkpoints, FencedSaver
from dataagent_core.errors import StorageUnavailable

Pool = AsyncConnectionPool[AsyncConnection[DictRow]]
_LOCK = 0x0DA7A_C8EC4
_LOCK_SECONDS = 120
_PAUSE_SECONDS = 0.1


async def _lock(connection: AsyncConnection[DictRow]) -> None:
    """Take the lock by asking again and again.

    A statement that waits for it would keep the holder's CREATE INDEX CONCURRENTLY from ending.
    """
    for _ in range(int(_LOCK_SECONDS / _PAUSE_SECONDS)):
        answer = await connection.execute("SELECT pg_try_advisory_lock(%s) AS is_ours", (_LOCK,))
        row = await answer.fetchone()
        if row is not None and row["is_ours"]:
            return
        await asyncio.sleep(_PAUSE_SECONDS)
    raise StorageUnavailable("Another process is still making the tables of threads.")


class _PostgresSaver(FencedSaver, AsyncPostgresSaver):
    """LangGraph's, behind the fence."""


class PostgresCheckpoints(Checkpoints):
    """Threads in the PostgreSQL database that holds everything else."""

    def __init__(self, url: URL, *, pool_size: int) -> None:
        # rows are dicts by its kwargs
        self._pool: Pool = AsyncConnectionPool(  # pyright: ignore[reportAttributeAccessIssue]
            url.set(drivername="postgresql").render_as_string(hide_password=False),
            min_size=1,
            max_size=pool_size,
            open=False,
            timeout=30,
            kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
            check=AsyncConnectionPool.check_connection,
        )
        self._serialiser = CachingSerialiser()

    async def setup(self) -> None:
        """Open the pool and create LangGraph's tables, one process at a time.

        Raises:
            StorageUnavailable: another process does so for two minutes.
        """
        await self._pool.open()
        async with self._pool.connection() as connection:
            await _lock(connection)
            try:
                await AsyncPostgresSaver(connection).setup()
            finally:
                await connection.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))

    def saver(self) -> BaseCheckpointSaver[Any]:
        """A saver with a lock of its own over the shared pool."""
        return _PostgresSaver(self._pool, serde=self._serialiser)

    async def close(self) -> None:
        """Close the pool."""
        await self._pool.close()
