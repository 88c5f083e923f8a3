"""Rows of an older database outlive the step that renames columns and tables, up and down."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from dataagent_core.identity.tenants import TenantStore
from dataagent_core.identity.users import UserStore
from dataagent_core.session.stores.sql import SqlSessionStore
from dataagent_core.storage import Database, open_database
from dataagent_core.storage.migrate import migrate, migrate_to
from dataagent_core.storage.tables import metadata
from tests.requirements import requirement
from tests.services import fresh_database
from tests.tiers import SQL_STORES

_AT = "2026-01-02 03:04:05.678"
_ROWS = (
    "INSERT INTO users (user_id, username, role, status, created_at) "
    f"VALUES ('u1', 'dora', 'user', 'active', '{_AT}'), ('u2', 'eve', 'user', 'active', '{_AT}')",
    "INSERT INTO api_keys (key_id, user_id, name, prefix, key_hash, tool_scope, created_at) "
    f"VALUES ('k1', 'u1', 'laptop', 'da_1', 'hash', 'all', '{_AT}')",
    f"INSERT INTO login_links (token_hash, user_id, expires_at) VALUES ('t', 'u1', '{_AT}')",
    f"INSERT INTO login_addresses (user_id, address, last_at) VALUES ('u1', '::1', '{_AT}')",
    "INSERT INTO tenants (tenant_id, name, workspace_quota, features_enabled, created_at, "
    f"updated_at) VALUES ('acme', 'Acme', 7, '{{}}', '{_AT}', '{_AT}')",
    "INSERT INTO tenant_users (user_id, tenant_id, role, created_at) "
    f"VALUES ('u1', 'acme', 'admin', '{_AT}')",
    "INSERT INTO tenant_invitations (tenant_id, user_id, role, invited_by, created_at, expires_at) "
    f"VALUES ('acme', 'u2', 'member', 'u1', '{_AT}', '{_AT}')",
)
_OF_USER = ("api_keys", "login_links", "login_addresses")


@pytest.fixture(params=SQL_STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[str]:
    with fresh_database(request.param, tmp_path) as fresh:
        yield fresh


@pytest.fixture
async def older(url: str) -> AsyncGenerator[Database]:
    """A database of the version before, with a row in every table that is touched."""
    database = open_database(url)
    await migrate_to(database, "0007")
    await database.write(_write_rows)
    yield database
    await database.close()


def _write_rows(connection: Connection) -> None:
    for statement in _ROWS:
        connection.execute(text(statement))


def _columns(connection: Connection, table: str) -> set[str]:
    return {column["name"] for column in inspect(connection).get_columns(table)}


def _counts(connection: Connection) -> dict[str, int]:
    return {
        table: connection.execute(text(f"SELECT COUNT(*) FROM {table}")).scalar_one()
        for table in _OF_USER
    }


@pytest.mark.every_store
@requirement("R25.7", "S6.1", "S6.3")
async def test_users_are_found_by_id_with_all_that_is_theirs(older: Database) -> None:
    await migrate(older)

    assert await older.read(lambda c: _columns(c, "users")) == {
        *("id", "username", "password_hash", "role", "status", "created_at")
    }
    differences = await older.read(
        lambda c: list(compare_metadata(MigrationContext.configure(c), metadata))
    )
    assert differences == []
    users = UserStore(older)
    dora = await users.require("u1")
    assert (dora.user_id, dora.username) == ("u1", "dora")
    assert await older.read(_counts) == dict.fromkeys(_OF_USER, 1)

    await users.delete("u1")
    users.close()

    assert await older.read(_counts) == dict.fromkeys(_OF_USER, 0)  # by the foreign keys


@requirement("R35.2", "S6.3")
async def test_members_and_quotas_of_tenants_survive(older: Database) -> None:
    await migrate(older)

    store = TenantStore(older)
    tenant = await store.get("acme")
    [member], _ = await store.members("acme")
    assert tenant.workspace_quota == 7
    assert (member.user_id, member.role) == ("u1", "admin")
    quota = text("SELECT workspace_quota_bytes FROM tenants")
    assert await older.read(lambda c: c.execute(quota).scalar_one()) == 7


@pytest.mark.every_store
@requirement("S6.1")
async def test_sessions_are_shown_as_conversations(older: Database) -> None:
    await migrate(older)
    store = SqlSessionStore(older)
    shown = await store.create("u1", "agent", title="Sales")
    deleted = await store.create("u1", "agent")
    await store.soft_delete(deleted.session_id)

    def conversations(connection: Connection) -> list[dict[str, object]]:
        every = text("SELECT * FROM conversations ORDER BY is_deleted")
        return [dict(row) for row in connection.execute(every).mappings()]

    first, second = await older.read(conversations)
    assert list(first) == [
        *("id", "thread_id", "user_id", "title", "created_at", "updated_at", "is_deleted")
    ]
    assert (first["id"], first["thread_id"]) == (shown.session_id, shown.thread_id)
    assert (first["user_id"], first["title"]) == ("u1", "Sales")
    assert not first["is_deleted"]
    assert first["updated_at"] == first["created_at"]
    assert second["id"] == deleted.session_id
    assert second["is_deleted"]


@requirement("S6.3")
async def test_the_step_down_gives_the_names_back_and_the_step_up_again(older: Database) -> None:
    before = await older.read(_everything)
    await migrate(older)

    await migrate_to(older, "0007")

    assert await older.read(_everything) == before
    assert await older.read(lambda c: inspect(c).get_view_names()) == []
    await older.write(lambda c: c.execute(text("DELETE FROM users WHERE user_id = 'u1'")).close())
    assert await older.read(_counts) == dict.fromkeys(_OF_USER, 0)
    await migrate(older)
    [member], _ = await TenantStore(older).members("acme")
    assert member.user_id == "u1"


def _everything(connection: Connection) -> dict[str, list[object]]:
    tables = ("users", "tenants", "tenant_users", "tenant_invitations", *_OF_USER)
    return {
        table: [tuple(row) for row in connection.execute(text(f"SELECT * FROM {table}"))]
        for table in sorted(tables)
    }
