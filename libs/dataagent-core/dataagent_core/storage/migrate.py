"""Brings the database's tables up to date, at start-up and from `dataagent-server migrate`.

Processes that start together are safe: one migrates, the others wait and find nothing to do. The
steps are in `migrations/versions/`; LangGraph's checkpoint tables are its savers' own affair.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from dataagent_core.errors import BadInput, StorageUnavailable

if TYPE_CHECKING:
    from collections.abc import Generator

    from dataagent_core.storage.database import Database

_SCRIPTS = Path(__file__).parent / "migrations"
_POSTGRES_LOCK = 0x0DA7A_A6E27
_LOCK_SECONDS = 120


async def migrate(db: Database) -> None:
    """Create or upgrade the tables. Existing data stays.

    Raises:
        StorageUnavailable: the database does not answer, or another process holds the migration
            for two minutes.
    """
    await db.write(_upgrade)


async def migrate_to(db: Database, revision: str) -> None:
    """Bring the tables to a version, up or down. Down drops what later versions added.

    Raises:
        BadInput: there is no such version; the message lists those there are.
        StorageUnavailable: as `migrate`.
    """
    known = _revisions()
    if revision not in known:
        raise BadInput(f"There is no version {revision!r} of the tables. There are: {known}.")
    await db.write(lambda connection: _move(connection, revision))


async def revision_of(db: Database) -> str | None:
    """The version the tables have; None if there are none."""
    return await db.read(lambda c: MigrationContext.configure(c).get_current_revision())


async def pending(db: Database) -> bool:
    """Whether the database lacks a migration of this version: then it is not ready."""
    return await db.read(_is_behind)


def _upgrade(connection: Connection) -> None:
    with _alone(connection):
        if _is_behind(connection):
            command.upgrade(_config(connection), "head")


def _move(connection: Connection, revision: str) -> None:
    with _alone(connection):
        current = MigrationContext.configure(connection).get_current_revision()
        known = _revisions()
        is_down = current in known and known.index(revision) < known.index(current)
        (command.downgrade if is_down else command.upgrade)(_config(connection), revision)


def _revisions() -> list[str]:
    """All versions, the oldest first."""
    steps = ScriptDirectory(str(_SCRIPTS)).walk_revisions()
    return [step.revision for step in steps][::-1]


def _is_behind(connection: Connection) -> bool:
    return MigrationContext.configure(connection).get_current_revision() != _head()


@cache
def _head() -> str | None:
    return ScriptDirectory(str(_SCRIPTS)).get_current_head()


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


@contextmanager
def _alone(connection: Connection) -> Generator[None]:
    """Keep other processes out. SQLite needs nothing: a writing unit has the file for itself."""
    match connection.dialect.name:
        case "postgresql":  # released with the transaction
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _POSTGRES_LOCK})
            yield
        case "mysql" | "mariadb":  # by name: DDL commits, so a transaction would not hold
            with _named_lock(connection):
                yield
        case _:
            yield


@contextmanager
def _named_lock(connection: Connection) -> Generator[None]:
    database = connection.engine.url.database or ""
    lock = {"name": f"dataagent.migrate.{sha256(database.encode()).hexdigest()[:16]}"}
    taken = connection.execute(
        text("SELECT GET_LOCK(:name, :seconds)"), {**lock, "seconds": _LOCK_SECONDS}
    ).scalar()
    if taken != 1:
        raise StorageUnavailable("Another process is still migrating the database.")
    try:
        yield
    finally:
        connection.execute(text("SELECT RELEASE_LOCK(:name)"), lock)
