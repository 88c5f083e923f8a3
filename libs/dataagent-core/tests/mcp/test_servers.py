"""Servers are stored by owner, with secrets that cannot be read back."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import Connection, text

from dataagent_core.errors import BadInput, Conflict, ServerNotFound, TooManyServers
from dataagent_core.mcp.servers.registration import NewServer
from dataagent_core.mcp.servers.server_store import ServerStore
from dataagent_core.mcp.types import ConnectionStatus
from dataagent_core.storage import Database
from tests.requirements import requirement

CANARY = "canary-7f1c-never-anywhere"


def own(name: str, user_id: str = "alice", **values: object) -> NewServer:
    fields = {"url": "https://mcp.example/x", **values}
    # fields of each type
    return NewServer(
        name=name,
        scope="user",
        user_id=user_id,
        **fields,  # pyright: ignore[reportArgumentType]
    )


def shared(name: str, **values: object) -> NewServer:
    fields = {"url": "https://shared.example/mcp", "scope": "global", **values}
    return NewServer(name=name, **fields)  # pyright: ignore[reportArgumentType] fields of each type


@requirement("R30.3", "M1.1")
async def test_a_registered_server_is_read_back_as_it_was_written(servers: ServerStore) -> None:
    new = NewServer(
        name="订单 orders",
        scope="user",
        user_id="alice",
        command="mcp-orders",
        args=("--region", "eu", "a b"),
        cwd="/srv",
        env={"TOKEN": SecretStr(CANARY)},
        call_timeout_seconds=5,
        max_concurrency=3,
    )

    made = await servers.create(new, by="alice")

    assert await servers.get(made.server_id) == made
    assert made.transport == "stdio"
    assert made.args == ("--region", "eu", "a b")
    assert made.env["TOKEN"].get_secret_value() == CANARY
    assert made.alias == "orders"
    assert (made.session_scope, made.on_change, made.call_timeout_seconds) == ("user", "accept", 5)
    assert await servers.list(user_id="alice") == [made]


async def test_a_server_outlives_the_process(database: Database, servers: ServerStore) -> None:
    made = await servers.create(own("docs", headers={"X-Key": SecretStr(CANARY)}), by="alice")

    assert await ServerStore(database).get(made.server_id) == made


@requirement("R30.5")
async def test_a_user_has_global_tenant_and_own_servers_and_the_nearest_wins(
    servers: ServerStore,
) -> None:
    await servers.create(shared("docs"), by="root")
    await servers.create(shared("search"), by="root")
    await servers.create(
        shared("search", scope="tenant", tenant_id="acme", url="https://acme.example/mcp"),
        by="root",
    )
    await servers.create(own("docs", url="https://alice.example/mcp"), by="alice")
    await servers.create(own("notes"), by="alice")

    async def seen(user_id: str, tenant_id: str | None) -> dict[str, str | None]:
        found = await servers.effective(user_id=user_id, tenant_id=tenant_id)
        return {spec.name: spec.url for spec in found}

    assert await seen("alice", "acme") == {
        "docs": "https://alice.example/mcp",
        "notes": "https://mcp.example/x",
        "search": "https://acme.example/mcp",
    }
    assert await seen("bob", None) == {
        "docs": "https://shared.example/mcp",
        "search": "https://shared.example/mcp",
    }


@requirement("P49")
async def test_what_one_user_changes_another_does_not_see(servers: ServerStore) -> None:
    bobs = await servers.create(own("docs", "bob"), by="bob")
    before = await servers.effective(user_id="bob", tenant_id=None)
    made = await servers.create(own("docs"), by="alice")
    await servers.update(made.server_id, {"url": "https://other.example/mcp"}, by="alice")
    await servers.delete(made.server_id)

    assert await servers.effective(user_id="bob", tenant_id=None) == before == [bobs]


async def test_a_name_is_taken_once_in_its_scope(servers: ServerStore) -> None:
    await servers.create(own("docs"), by="alice")
    with pytest.raises(Conflict, match="'docs'"):
        await servers.create(own("docs"), by="alice")
    await servers.create(own("docs", "bob"), by="bob")
    await servers.create(shared("docs"), by="root")


@requirement("R31.2")
async def test_servers_over_the_limit_are_refused_not_cut(servers: ServerStore) -> None:
    made = [servers.create(own(f"s{i}"), by="alice", most=3) for i in range(8)]

    ends = await asyncio.gather(*made, return_exceptions=True)

    refused = [end for end in ends if isinstance(end, TooManyServers)]
    assert len(refused) == 5
    assert refused[0].details == {"what": "mcp_servers", "limit": 3, "used": 3}
    assert await servers.count(user_id="alice") == 3
    await servers.create(own("first", "bob"), by="bob", most=3)


async def test_names_that_end_in_one_alias_get_aliases_of_their_own(servers: ServerStore) -> None:
    names = ["my docs", "my.docs", "my_docs", "数据", "x" * 90]
    made = [await servers.create(own(name), by="alice") for name in names]

    aliases = [spec.alias for spec in made]
    assert aliases[:3] == ["my_docs", "my_docs_2", "my_docs_3"]
    assert len({*aliases}) == 5
    assert all(0 < len(alias) <= 32 and "__" not in alias for alias in aliases)
    with pytest.raises(Conflict, match="alias"):
        await servers.create(own("other", alias="my_docs"), by="alice")


async def test_a_change_keeps_what_it_leaves_out(servers: ServerStore) -> None:
    made = await servers.create(
        own("docs", headers={"X-Key": SecretStr(CANARY), "X-Other": SecretStr("o")}), by="alice"
    )

    changed = await servers.update(made.server_id, {"call_timeout_seconds": 9.5}, by="alice")
    assert changed == replace(made, call_timeout_seconds=9.5, config_version=2)
    dropped = await servers.update(
        made.server_id, {"headers": {"X-Key": made.headers["X-Key"]}}, by="alice"
    )
    assert set(dropped.headers) == {"X-Key"}
    moved = await servers.update(
        made.server_id,
        {"url": None, "headers": {}, "command": "mcp-docs", "transport": "stdio"},
        by="alice",
    )
    assert (moved.command, moved.url, dict(moved.headers)) == ("mcp-docs", None, {})
    assert await servers.get(made.server_id) == moved


async def test_an_invalid_change_is_refused_and_changes_nothing(servers: ServerStore) -> None:
    made = await servers.create(own("docs"), by="alice")
    before = await servers.version()

    for changes in (
        {"url": None},
        {"command": "both"},
        {"transport": "stdio"},
        {"call_timeout_seconds": 0},
        {"call_timeout_seconds": float("nan")},
        {"max_concurrency": 0},
        {"alias": "a__b"},
        {"name": "a/b"},
        {"env": {"A": SecretStr("x")}},
        {"headers": {"": SecretStr("x")}},
    ):
        fields: Any = changes  # of each type
        with pytest.raises(BadInput):
            await servers.update(made.server_id, fields, by="alice")
    assert await servers.get(made.server_id) == made
    assert await servers.version() == before


async def test_a_server_that_is_gone_is_gone_with_its_secrets(
    servers: ServerStore, database: Database
) -> None:
    made = await servers.create(own("docs", headers={"X-Key": SecretStr(CANARY)}), by="alice")
    await servers.delete(made.server_id)

    for attempt in (
        servers.get(made.server_id),
        servers.delete(made.server_id),
        servers.update(made.server_id, {"disabled": True}, by="alice"),
        servers.find(scope="user", name="docs", user_id="alice"),
        servers.get("\x00"),
        servers.get("x" * 500),
    ):
        with pytest.raises(ServerNotFound):
            await attempt
    left = text("SELECT COUNT(*) FROM mcp_server_secrets")
    assert await database.read(lambda c: c.execute(left).scalar()) == 0
    await servers.note_status(made.server_id, ConnectionStatus("ready"))
    assert await servers.last_status(made.server_id) is None


async def test_all_of_a_user_who_is_gone_can_be_forgotten(servers: ServerStore) -> None:
    both = await servers.create(shared("docs"), by="root")
    await servers.create(own("a"), by="alice")
    await servers.create(own("b"), by="alice")
    kept = await servers.create(own("b", "bob"), by="bob")
    await servers.set_credentials(
        both.server_id, user_id="alice", headers={"X": SecretStr("1")}, env={}
    )
    assert await servers.owners() == {"alice", "bob"}

    assert await servers.delete_of_user("alice") == 2

    assert await servers.owners() == {"bob"}
    assert await servers.list(user_id="bob") == [kept]
    assert await servers.list(scope="global") == [both]


async def test_every_change_counts_the_version_up_and_nothing_else_does(
    servers: ServerStore,
) -> None:
    versions = [await servers.version()]

    async def note() -> None:
        versions.append(await servers.version())

    made = await servers.create(shared("docs"), by="root")
    await note()
    await servers.update(made.server_id, {"disabled": True}, by="root")
    await note()
    await servers.set_credentials(made.server_id, user_id="al", headers={}, env={})
    await note()
    await servers.delete(made.server_id)
    await note()
    assert versions == [versions[0] + i for i in range(5)]
    await servers.effective(user_id="al", tenant_id=None)
    await servers.note_status(made.server_id, ConnectionStatus("ready"))
    await note()
    assert versions[-1] == versions[-2]


async def test_a_connections_status_is_known_to_other_processes(
    servers: ServerStore, database: Database
) -> None:
    made = await servers.create(own("docs"), by="alice")
    assert await servers.last_status(made.server_id) == ConnectionStatus("idle")
    at = datetime(2026, 11, 15, 12, 0, 0, 123000, tzinfo=UTC)
    status = ConnectionStatus(
        "backoff",
        reason="\x00" + "r" * 900,
        protocol_version="2025-11-25",
        server_info={"name": "x", "version": "v" * 900, "icons": ["i" * 10_000], "title": 5},
        fail_count=4,
        next_retry_at=at,
        last_ok_at=at,
    )

    await servers.note_status(made.server_id, status)

    found = await ServerStore(database).last_status(made.server_id)
    info = {"name": "x", "version": "v" * 199 + "…"}
    assert found == replace(status, reason="\ufffd" + "r" * 499, server_info=info)
    assert found is not None
    assert found.status == "error"


# -- secrets --------------------------------------------------------------------------------------


async def _dump(database: Database) -> str:
    """Every value of every row that is about servers."""
    tables = ("mcp_servers", "mcp_server_secrets", "mcp_templates", "versions")
    found: list[str] = []
    for table in tables:
        statement = text(f"SELECT * FROM {table}")
        rows = await database.read(lambda c, s=statement: c.execute(s).all())
        found += [str(tuple(row)) for row in rows]
    return "\n".join(found)


@requirement("M5.4")
async def test_f13_no_secret_is_in_a_row_a_repr_an_error_or_a_log(
    servers: ServerStore, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    header = {"Authorization": SecretStr(f"Bearer {CANARY}")}
    made = await servers.create(own("a", headers=header), by="alice")
    program = await servers.create(
        own("b", url=None, command="x", env={"K": SecretStr(CANARY)}), by="alice"
    )
    both = await servers.create(shared("c"), by="root")
    await servers.set_credentials(both.server_id, user_id="alice", headers=header, env={})
    found = await servers.effective(user_id="alice", tenant_id=None)
    errors: list[str] = []
    for new in (
        own("a", headers=header),
        own("d", headers=header, transport="stdio"),
        own("e", headers={"x": SecretStr(CANARY + "\x00")}),
        own("f", headers={"x": SecretStr(CANARY * 3000)}),
    ):
        with pytest.raises((Conflict, BadInput)) as refused:
            await servers.create(new, by="alice")
        errors.append(f"{refused.value!r} {refused.value} {refused.value.details}")

    rows = await _dump(database)
    assert "Authorization" in rows  # names are no secrets
    shown = [repr(found), str(found), repr(made), repr(program), repr(own("z", headers=header))]
    for seen in (rows, *shown, *errors, caplog.text):
        assert CANARY not in seen


async def test_a_sealed_secret_opens_only_where_it_belongs(
    servers: ServerStore, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    await servers.create(own("a", headers={"X": SecretStr(CANARY)}), by="alice")
    mallorys = await servers.create(
        own("m", "mallory", headers={"X": SecretStr("own")}), by="mallory"
    )
    copy = text("UPDATE mcp_server_secrets SET ciphertext = :stolen WHERE server_id = :server_id")
    stolen = text("SELECT ciphertext FROM mcp_server_secrets WHERE server_id <> :server_id")

    def steal(connection: Connection) -> None:
        values = {"server_id": mallorys.server_id}
        found = connection.execute(stolen, values).scalar()
        connection.execute(copy, {**values, "stolen": found})

    await database.write(steal)

    spec = await servers.get(mallorys.server_id)
    assert (dict(spec.headers), spec.disabled) == ({}, True)
    assert "cannot be decrypted" in caplog.text
    repaired = await servers.update(
        mallorys.server_id, {"headers": {"X": SecretStr("new")}}, by="mallory"
    )
    assert repaired.disabled is False
    assert (await servers.get(mallorys.server_id)).headers["X"].get_secret_value() == "new"


async def test_with_another_key_a_server_is_off_and_the_others_work(database: Database) -> None:
    old, new = SecretStr("one key"), SecretStr("another key")
    before = ServerStore(database, secret_key=old)
    await before.create(own("sealed", headers={"X": SecretStr("1")}), by="alice")
    await before.create(own("open"), by="alice")

    found = await ServerStore(database, secret_key=new).effective(user_id="alice", tenant_id=None)

    assert {spec.name: spec.disabled for spec in found} == {"open": False, "sealed": True}


async def test_two_users_credentials_on_a_shared_server_never_mix(servers: ServerStore) -> None:
    made = await servers.create(
        shared("crm", headers={"X-Team": SecretStr("all"), "authorization": SecretStr("team")}),
        by="root",
    )
    for user in ("alice", "bob"):
        await servers.set_credentials(
            made.server_id, user_id=user, headers={"Authorization": SecretStr(user)}, env={}
        )

    async def headers(user_id: str) -> tuple[dict[str, str], str]:
        (spec,) = await servers.effective(user_id=user_id, tenant_id=None)
        return (
            {name: value.get_secret_value() for name, value in spec.headers.items()},
            spec.session_scope,
        )

    assert await headers("alice") == ({"X-Team": "all", "Authorization": "alice"}, "user")
    assert await headers("bob") == ({"X-Team": "all", "Authorization": "bob"}, "user")
    assert await headers("carol") == ({"X-Team": "all", "authorization": "team"}, "shared")
    assert await servers.get(made.server_id) == made
    own_headers, own_env = await servers.credentials(made.server_id, user_id="alice")
    assert (own_headers["Authorization"].get_secret_value(), dict(own_env)) == ("alice", {})
    assert await servers.credentials(made.server_id, user_id="carol") == ({}, {})


async def test_changed_credentials_are_another_version_and_none_are_the_shared_one(
    servers: ServerStore,
) -> None:
    made = await servers.create(shared("crm"), by="root")

    async def version() -> int:
        (spec,) = await servers.effective(user_id="alice", tenant_id=None)
        return spec.config_version

    async def bring(value: str) -> None:
        secrets = {"X": SecretStr(value)} if value else {}
        await servers.set_credentials(made.server_id, user_id="alice", headers=secrets, env={})

    seen = [await version()]
    for value in ("one", "two", ""):
        await bring(value)
        seen.append(await version())
    assert seen[0] == seen[3] == 1
    assert len({*seen}) == 3


async def test_no_one_adds_credentials_to_anothers_own_server(servers: ServerStore) -> None:
    made = await servers.create(own("docs"), by="alice")
    with pytest.raises(ServerNotFound):
        await servers.set_credentials(
            made.server_id, user_id="mallory", headers={"X": SecretStr("1")}, env={}
        )
