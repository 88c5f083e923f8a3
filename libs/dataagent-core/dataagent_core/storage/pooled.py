"""PostgreSQL and MySQL/MariaDB through SQLAlchemy's async engine and a connection pool."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import create_async_engine

from dataagent_core.errors import StorageUnavailable
from dataagent_core.storage.database import Database, Unit

T = TypeVar("T")
logger = logging.getLogger(__name__)

_DEADLOCK_STATES = {"40001", "40P01"}
_DEADLOCK_NUMBERS = {1205, 1213}
_ATTEMPTS = 4


class PooledDatabase(Database):
    """A database server. Lost connections are replaced; deadlocks are tried again."""

    def __init__(self, url: URL, *, pool_size: int, max_overflow: int) -> None:
        self.url = url
        self._engine = create_async_engine(
            url,
            pool_size=pool_size,
            max_overflow=max_overflow,
            pool_recycle=3600,
            pool_timeout=30,
            pool_pre_ping=True,
            isolation_level="READ COMMITTED",
        )

    async def write(self, unit: Unit[T], *, is_durable: bool = True) -> T:
        """As `Database.write`. MySQL has no say in it per transaction: there all is durable."""
        may_lag = not is_durable and self.dialect == "postgresql"

        async def once() -> T:
            started = time.perf_counter()
            async with self._engine.begin() as connection:
                if may_lag:
                    await connection.exec_driver_sql("SET LOCAL synchronous_commit TO OFF")
                value = await connection.run_sync(unit)
            if self.on_commit is not None:
                self.on_commit(time.perf_counter() - started)
            return value

        return await _with_retries(once)

    async def read(self, unit: Unit[T]) -> T:
        """As `Database.read`."""

        async def once() -> T:
            async with self._engine.connect() as connection:
                return await connection.run_sync(unit)

        return await _with_retries(once)

    async def close(self) -> None:
        """As `Database.close`."""
        await self._engine.dispose()


async def _cancellable(work: Awaitable[T]) -> T:
    """Wait for work; a cancellation meanwhile is one, whatever the driver made of it.

    SQLAlchemy looks after a connection before it hands it out. If it is cancelled there while the
    server goes away, it raises what is wrong with the connection instead.
    """
    task = asyncio.current_task()
    asked = 0 if task is None else task.cancelling()
    try:
        return await work
    except Exception as error:
        if task is not None and task.cancelling() > asked:
            raise asyncio.CancelledError from error
        raise


async def _with_retries(once: Callable[[], Awaitable[T]]) -> T:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return await _cancellable(once())
        except DBAPIError as error:
            if _is_deadlock(error) and attempt < _ATTEMPTS:
                await asyncio.sleep(0.01 * attempt)
                continue
            if error.connection_invalidated or _is_outage(error):
                raise StorageUnavailable("The database does not answer.") from error
            raise
        except (OSError, PoolTimeout) as error:
            raise StorageUnavailable("The database does not answer.") from error
    raise StorageUnavailable("The database keeps refusing the transaction (deadlocks).")


def _is_deadlock(error: DBAPIError) -> bool:
    state = getattr(error.orig, "sqlstate", None)
    number = error.orig.args[0] if error.orig is not None and error.orig.args else None
    return state in _DEADLOCK_STATES or number in _DEADLOCK_NUMBERS


def _is_outage(error: DBAPIError) -> bool:
    state = str(getattr(error.orig, "sqlstate", None) or "")
    number = error.orig.args[0] if error.orig is not None and error.orig.args else None
    return state.startswith(("08", "57P")) or number in {2002, 2003, 2006, 2013, 1053, 1927}
