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

from dataagent_core.errors import (
    DataAgentError,
    Misconfigured,
    StorageFull,
    StorageUnavailable,
)
from dataagent_core.storage.database import Database, Unit

T = TypeVar("T")
logger = logging.getLogger(__name__)

# PostgreSQL's states and MySQL's numbers. What is in none of these, such as a missing table or a
# mistake in a statement, is a bug and reaches the caller as it is.
_DEADLOCKS = frozenset({"40001", "40P01", 1205, 1213})
_NO_SPACE = frozenset({"53100", 1021, 1114})
_NO_DATABASE = frozenset({"3D000", 1049})
_REFUSED_USER = frozenset({"28000", "28P01", 1044, 1045, 1698})
_REFUSED_STATEMENT = frozenset({"42501", 1142, 1143, 1227, 1370})
_OUTAGE_CLASSES = ("08", "53", "57P", "58")  # connection, resources, shutdown, system
_OUTAGES = frozenset(
    {
        *("25006",),  # read-only: a standby, or a server whose disk is nearly full
        *(1040, 1203, 1226),  # too many connections
        *(1053, 1077, 1079, 1927, 2002, 2003, 2006, 2013, 2055),  # shutdown, lost connection
        *(1290, 1792, 1836),  # read-only
    }
)
_ERRNO_NO_SPACE = "28"
_FILE_ERRORS = frozenset({3, 1026, 1030})  # MySQL could not write a file, for the reason it quotes
_ATTEMPTS = 4
_PORTS = {"postgresql": 5432, "mysql": 3306}


class PooledDatabase(Database):
    """A database server. Lost connections are replaced; deadlocks are retried."""

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
        """See `Database.write`. MySQL has no per-transaction durability: all is durable."""
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

        return await self._with_retries(once)

    async def read(self, unit: Unit[T]) -> T:
        """See `Database.read`."""

        async def once() -> T:
            async with self._engine.connect() as connection:
                return await connection.run_sync(unit)

        return await self._with_retries(once)

    async def close(self) -> None:
        """See `Database.close`."""
        await self._engine.dispose()

    async def _with_retries(self, once: Callable[[], Awaitable[T]]) -> T:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return await _cancellable(once())
            except Exception as error:
                if _code(error) in _DEADLOCKS and attempt < _ATTEMPTS:
                    await asyncio.sleep(0.01 * attempt)
                    continue
                failure = self._failure(error)
                if failure is None:
                    raise
                raise failure from error
        raise StorageUnavailable("The database keeps refusing the transaction (deadlocks).")

    def _failure(self, error: Exception) -> DataAgentError | None:
        """Translate an error by the server's own code; None if it is a bug."""
        code = _code(error)
        where = f"{self.url.host or 'localhost'}:{self.url.port or _PORTS[self.dialect]}"
        if code in _NO_DATABASE:
            hint = "create the database, or correct DATAAGENT_DATABASE_URL."
            return StorageUnavailable(
                f"There is no database {self.url.database!r} on the server at {where}.",
                details={"hint": hint},
            )
        if code in _REFUSED_USER:
            return StorageUnavailable(
                f"The database server at {where} refuses the user {self.url.username!r}.",
                details={"hint": "correct user and password in DATAAGENT_DATABASE_URL."},
            )
        if code in _REFUSED_STATEMENT:
            return Misconfigured(
                f"The database user {self.url.username!r} lacks a right on {self.url.database!r}.",
                details={"hint": "make it the owner of the database, or grant it all rights."},
            )
        if _is_full(error, code):
            return StorageFull(
                "The database cannot be written: its server's disk is full.",
                details={"hint": "make room on the database server's disk."},
            )
        return StorageUnavailable("The database does not answer.") if _is_outage(error) else None


async def _cancellable(work: Awaitable[T]) -> T:
    """Await work; report a cancellation meanwhile as one, whatever the driver raised.

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


def _code(error: Exception) -> str | int | None:
    """Return MySQL's number or PostgreSQL's state; None if the error has neither."""
    reason = error.orig if isinstance(error, DBAPIError) else None
    number = reason.args[0] if reason is not None and reason.args else None
    return number if isinstance(number, int) else getattr(reason, "sqlstate", None)


def _is_full(error: Exception, code: str | int | None) -> bool:
    is_file_error = code in _FILE_ERRORS and f"{_ERRNO_NO_SPACE} " in str(error)
    return code in _NO_SPACE or is_file_error


def _is_outage(error: Exception) -> bool:
    if isinstance(error, (OSError, PoolTimeout)):
        return True
    code = _code(error)
    is_lost = isinstance(error, DBAPIError) and error.connection_invalidated
    is_of_class = isinstance(code, str) and code.startswith(_OUTAGE_CLASSES)
    return is_lost or is_of_class or code in _OUTAGES
