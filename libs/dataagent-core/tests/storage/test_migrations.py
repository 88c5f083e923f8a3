"""The tables are made at start, match what the stores expect, and keep what is in them."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from dataagent_core.errors import Misconfigured
from dataagent_core.session.stores.sql import SqlMessageStore, SqlSessionStore
from dataagent_core.storage import Database, open_database
from dataagent_core.storage import migrate as migrate_module
from dataagent_core.storage.migrate import migrate, migrate_to, pending
from dataagent_core.storage.tables import metadata
from tests.programs import quick
from tests.requirements import requirement
from tests.services import fresh_database
from tests.tiers import SQL_STORES

ROOT = Path(__file__).parents[4]
MIGRATE = """
import asyncio, sys
from dataagent_core.storage import open_database
from dataagent_core.storage.migrate import migrate

async def main():
    database = open_database(sys.argv[1])
    sys.stdin.readline()
    await migrate(database)
    await database.close()

asyncio.run(main())
"""


@pytest.fixture(params=SQL_STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[str]:
    with fresh_database(request.param, tmp_path) as fresh:
        yield fresh


@pytest.fixture
async def database(url: str) -> AsyncGenerator[Database]:
    opened = open_database(url)
    yield opened
    await opened.close()


def _tables(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names())


def _differences(connection: Connection) -> list[object]:
    return list(compare_metadata(MigrationContext.configure(connection), metadata))


@requirement("R25.5", "R25.6", "R25.7", "R26.2", "S6.1")
async def test_migrated_database_has_exactly_our_tables(database: Database) -> None:
    assert await pending(database) is True

    await migrate(database)

    assert await pending(database) is False
    assert await database.read(_tables) == {*metadata.tables, "alembic_version"}
    assert await database.read(_differences) == []


@requirement("R25.7")
async def test_migrating_again_keeps_the_data(database: Database) -> None:
    await migrate(database)
    session = await SqlSessionStore(database).create("alice", "agent")

    await migrate(database)

    assert await SqlSessionStore(database).get(session.session_id) == session


@requirement("R25.7")
async def test_what_sessions_of_an_older_version_hold_is_counted(database: Database) -> None:
    await migrate(database)
    store = SqlSessionStore(database)
    session = await store.create("alice", "agent")
    await SqlMessageStore(database).save_message(session.session_id, "user", "销售额?")
    await migrate_to(database, "0005")

    await migrate(database)

    assert await store.bytes_of_user("alice") == len("销售额?".encode())


@pytest.mark.slow
@requirement("R25.7")
async def test_processes_that_start_together_migrate_once(url: str, database: Database) -> None:
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-W", "error", "-c", MIGRATE, url),
            stdin=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        for _ in range(3)
    ]

    ends = await asyncio.gather(*(process.communicate(b"go\n") for process in processes))

    assert [process.returncode for process in processes] == [0, 0, 0], ends
    assert await pending(database) is False
    assert await database.read(_differences) == []


@requirement("R25.7")
async def test_migration_cut_short_goes_on_at_the_next_start(database: Database) -> None:
    await migrate(database)

    def cut(connection: Connection) -> None:
        connection.execute(text("DROP TABLE approvals"))
        connection.execute(text("DROP TABLE event_batches"))
        connection.execute(text("DROP TABLE workspace_usage"))
        connection.execute(text("DELETE FROM alembic_version"))

    await database.write(cut)
    await migrate(database)

    assert await database.read(_differences) == []


@requirement("S6.3")
async def test_alembic_command_finds_the_tables_in_step_with_the_code(
    url: str, database: Database
) -> None:
    await migrate(database)

    process = await asyncio.create_subprocess_exec(
        *(quick("python"), "-m", "alembic", "-c", "infra/alembic.ini", "check"),
        cwd=ROOT,
        env={**os.environ, "DATAAGENT_DATABASE_URL": url},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()

    assert process.returncode == 0, said.decode()


def test_the_versions_by_file_name_are_those_of_alembic() -> None:
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory(str(Path(migrate_module.__file__).parent / "migrations"))
    assert migrate_module.versions()[-1] == scripts.get_current_head()
    assert len(migrate_module.versions()) == len(list(scripts.walk_revisions()))


async def test_tables_of_a_newer_version_are_left_alone(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'd.db'}")
    try:
        await migrate(database)
        newer = text("UPDATE alembic_version SET version_num = '0099'")
        await database.write(lambda connection: connection.execute(newer).close())
        with pytest.raises(Misconfigured, match="newer version of DataAgent"):
            await migrate(database)
        assert await migrate_module.revision_of(database) == "0099"
    finally:
        await database.close()
