"""The SQL database: one interface for SQLite, PostgreSQL and MySQL.

A unit of work is a function of a SQLAlchemy `Connection`: `await db.write(unit)` runs it in a
transaction, `await db.read(unit)` outside one. It may run again after a lost connection or a
deadlock, so its effects stay inside the database. Text with NUL or a lone surrogate, which not
every database can store, is refused from users and repaired (`storable`) when a model or a tool
produced it.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import TypeVar

from sqlalchemy import Connection, insert, make_url, text, update
from sqlalchemy.engine import URL
from sqlalchemy.exc import IntegrityError

from dataagent_core.errors import Misconfigured
from dataagent_core.storage.tables import storage_checks


def storable(text: str) -> str:
    """Return the text with NUL and lone surrogates replaced."""
    if is_storable(text):
        return text
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")


def is_storable(text: str) -> bool:
    """Whether the text can be stored, or be a stored id."""
    if "\x00" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


T = TypeVar("T")
Unit = Callable[[Connection], T]
_WRITABLE_SECONDS = 1.0

_DRIVERS = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+asyncpg",
    "postgres": "postgresql+asyncpg",
    "mysql": "mysql+asyncmy",
    "mariadb": "mysql+asyncmy",
}
_EXTRAS = {"postgresql": "postgres", "mysql": "mysql"}


class Database(ABC):
    """An open database. Close it."""

    url: URL
    on_commit: Callable[[float], None] | None = (
        None  # called with each transaction's seconds, in any thread
    )
    can_settle: bool = False  # whether `settle` makes durable what was committed without it
    _writable_until: float = 0.0

    @abstractmethod
    async def write(self, unit: Unit[T], *, is_durable: bool = True) -> T:
        """Run the unit in a transaction, and return its value once that is committed.

        What is not `is_durable` survives the death of this process all the same; only a failing
        machine may lose it, and never something durable that came after it.

        Raises:
            StorageUnavailable: the database does not answer.
        """

    @abstractmethod
    async def read(self, unit: Unit[T]) -> T:
        """Run the unit for reading.

        Raises:
            StorageUnavailable: the database does not answer.
        """

    async def settle(self) -> None:  # noqa: B027 nothing to wait for unless it `can_settle`
        """Wait until all commits survive a crash of the machine, if the database `can_settle`.

        Raises:
            StorageUnavailable: the disk does not take it.
        """

    async def scrub(self) -> None:  # noqa: B027 a server's files are its operator's
        """Remove copies of deleted or overwritten data from our files, if there are such."""

    @abstractmethod
    async def close(self) -> None:
        """Finish accepted work and release all connections."""

    async def ping(self) -> None:
        """Raise `StorageUnavailable` unless the database responds."""
        await self.read(_select_one)

    async def check_writable(self) -> None:
        """Commit a small write, at most once a second, so it may be called often.

        Raises:
            StorageFull: there is no space for it.
            StorageUnavailable: the database does not answer, or takes no writes.
        """
        if time.monotonic() < self._writable_until:
            return
        with suppress(IntegrityError):  # another process wrote the first row at this moment
            await self.write(_write_check, is_durable=False)
        self._writable_until = time.monotonic() + _WRITABLE_SECONDS

    @property
    def dialect(self) -> str:
        """`sqlite`, `postgresql` or `mysql`."""
        return self.url.get_backend_name()


def _select_one(connection: Connection) -> None:
    connection.execute(text("SELECT 1"))


def _write_check(connection: Connection) -> None:
    moment = {"checked_at": datetime.now(UTC)}
    if not connection.execute(update(storage_checks), moment).rowcount:
        connection.execute(insert(storage_checks), {"name": "write", **moment})


def normalise_url(url: str | URL) -> URL:
    """Return the URL with the driver we use.

    Raises:
        Misconfigured: no such kind of database.
    """
    try:
        parsed = make_url(url)
        backend = parsed.drivername.split("+")[0]
        return parsed.set(drivername=_DRIVERS[backend])
    except Exception as error:
        raise Misconfigured(
            "DATAAGENT_DATABASE_URL is not a database we know. "
            "Use sqlite:///path, postgresql://… or mysql://…."
        ) from error


def open_database(url: str | URL, *, pool_size: int = 10, max_overflow: int = 20) -> Database:
    """Open the database at a URL. Connections are made on first use.

    Raises:
        Misconfigured: no such kind of database, or its driver is not installed.
    """
    parsed = normalise_url(url)
    backend = parsed.get_backend_name()
    if backend == "sqlite":
        from dataagent_core.storage.sqlite import SqliteDatabase

        return SqliteDatabase(parsed)
    from dataagent_core.storage.pooled import PooledDatabase

    try:
        return PooledDatabase(parsed, pool_size=pool_size, max_overflow=max_overflow)
    except ModuleNotFoundError as error:
        raise Misconfigured(
            f"The driver for {backend} is not installed: {error.name}. "
            f"Run: pip install 'dataagent-core[{_EXTRAS[backend]}]'"
        ) from error
