"""Migrates the database's tables, at start-up and from `dataagent-server migrate`.

Processes that start together are safe: one migrates, the others wait and find nothing to do. The
steps are in `migrations/versions/`; LangGraph's savers migrate their own checkpoint tables. Alembic
is imported only when there is something to do.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from dataagent_core.errors import BadInput, Misconfigured, StorageUnavailable

if TYPE_CHECKING:
    from collections.abc import Generator

    from alembic.config import Config

    from dataagent_core.storage.database import Database

_SCRIPTS = Path(__file__).parent / "migrations"
_POSTGRES_LOCK = 0x0DA7A_A6E27
_LOCK_SECONDS = 120
logger = logging.getLogger(__name__)


async def migrate(db: Database) -> None:
    """Create or upgrade the tables. Existing data stays.

    Raises:
        StorageUnavailable: the database does not answer, or another process holds the migration
            for two minutes.
        Misconfigured: a newer version of DataAgent wrote them.
    """
    await db.write(_upgrade)


async def migrate_to(db: Database, revision: str) -> None:
    """Migrate the tables to a version, up or down. Down drops what later versions added.

    Raises:
        BadInput: there is no such version; the message lists those there are.
        StorageUnavailable: as `migrate`.
    """
    known = versions()
    if revision not in known:
        raise BadInput(f"There is no version {revision!r} of the tables. There are: {known}.")
    await db.write(lambda connection: _move(connection, revision))


async def revision_of(db: Database) -> str | None:
    """Return the version of the tables; None if there are none."""
    return await db.read(_current)


async def pending(db: Database) -> bool:
    """Whether the database lacks a migration of this version: then it is not ready."""
    return await db.read(_is_behind)


@cache
def versions() -> list[str]:
    """Return all known versions of the tables, oldest first."""
    return sorted(path.name[:4] for path in (_SCRIPTS / "versions").glob("[0-9]*_*.py"))


def steps_after(revision: str | None) -> list[str]:
    """Return the steps a start would run on tables of this version, a line each, oldest first."""
    from alembic.script import ScriptDirectory

    steps = list(ScriptDirectory(str(_SCRIPTS)).walk_revisions())[::-1]
    done = 0 if revision is None else versions().index(revision) + 1
    return [f"{step.revision} {(step.doc or '').rstrip('.')}" for step in steps[done:]]


def check_known(revision: str | None) -> None:
    """Refuse tables of an unknown version.

    Raises:
        Misconfigured: names both versions and what to do.
    """
    if revision is not None and revision not in versions():
        raise Misconfigured(
            f"The database was written by a newer version of DataAgent (its tables are at "
            f"{revision}; this one knows them up to {versions()[-1]}).",
            details={"hint": "upgrade DataAgent, or choose another data directory with --home."},
        )


def _upgrade(connection: Connection) -> None:
    with _alone(connection):
        current = _current(connection)
        check_known(current)
        if current != versions()[-1]:
            from alembic import command

            logger.info("the tables are brought from %s to %s", current, versions()[-1])
            command.upgrade(_config(connection), "head")


def _move(connection: Connection, revision: str) -> None:
    from alembic import command

    with _alone(connection):
        current = _current(connection)
        known = versions()
        is_down = current in known and known.index(revision) < known.index(current)
        (command.downgrade if is_down else command.upgrade)(_config(connection), revision)


def _is_behind(connection: Connection) -> bool:
    return _current(connection) != versions()[-1]


def _current(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _config(connection: Connection) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


@contextmanager
def _alone(connection: Connection) -> Generator[None]:
    """Lock out other processes. SQLite needs no lock: a writing unit has the file to itself."""
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
