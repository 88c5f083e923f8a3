"""Accounts, passwords, keys and login links, on every SQL database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, delete, insert, select

from dataagent_core.errors import BadInput, Conflict, LimitReached, NotFound
from dataagent_core.identity.credentials import MAX_KEYS, PasswordHasher, encode_password
from dataagent_core.identity.sealing import shared_secret
from dataagent_core.identity.users import UserStore
from dataagent_core.storage import Database, open_database, tables
from tests.requirements import requirement


@pytest.fixture
async def database(sql_place: str) -> AsyncIterator[Database]:
    opened = open_database(sql_place)
    await opened.write(_empty)
    yield opened
    await opened.close()


def _empty(connection: Connection) -> None:
    for table in (tables.users, tables.secrets):  # keys and links go with their users
        connection.execute(delete(table))


@pytest.fixture
async def users(database: Database) -> AsyncIterator[UserStore]:
    store = UserStore(database, password_rounds=4)
    yield store
    store.close()


async def everything_kept(database: Database) -> str:
    """All rows that could hold a secret, as text."""
    return await database.read(_all_rows)


def _all_rows(connection: Connection) -> str:
    kept = (tables.users, tables.api_keys, tables.login_links)
    return str([connection.execute(select(table)).all() for table in kept])


async def test_a_user_is_created_and_found(users: UserStore) -> None:
    made = await users.create("dora_1", "correct horse", role="admin")
    assert made.is_active
    assert made == await users.get(made.user_id) == await users.by_username("dora_1")
    assert [each.username for each in await users.list()] == ["dora_1"]
    assert await users.first_admin() == made
    assert await users.get("x" * 1000) is None
    assert await users.get("\ud800") is None
    with pytest.raises(NotFound):
        await users.require("nobody")


@requirement("S2.5.1b")
@pytest.mark.parametrize("name", ["", "ab", "x" * 21, "with space", "ünï", "a\x00b", "a/b", "a\n"])
async def test_a_name_that_is_not_3_to_20_plain_characters_is_refused(
    users: UserStore, name: str
) -> None:
    with pytest.raises(BadInput):
        await users.create(name, "password")
    assert await users.by_username(name) is None
    assert await users.verify_password(name, "password") is None


async def test_a_name_is_taken_once_even_by_two_at_the_same_time(users: UserStore) -> None:
    outcomes = await asyncio.gather(
        *(users.create("dora", "password") for _ in range(5)), return_exceptions=True
    )
    assert sum(isinstance(each, Conflict) for each in outcomes) == 4


@requirement("S10.1")
async def test_a_password_is_verified_and_kept_as_a_hash_only(
    users: UserStore, database: Database
) -> None:
    await users.create("dora", "correct horse")
    assert await users.verify_password("dora", "correct horse") is not None
    for wrong in ("Correct horse", "correct horse ", "", "x" * 2_000_000, "\x00", "\ud800"):
        assert await users.verify_password("dora", wrong) is None
    assert await users.verify_password("nobody", "correct horse") is None
    assert "correct horse" not in await everything_kept(database)


@requirement("S2.5.2d")
async def test_bytes_past_72_are_refused_not_cut(users: UserStore) -> None:
    longest = "ü" * 36
    await users.create("dora", longest)
    assert await users.verify_password("dora", longest) is not None
    assert await users.verify_password("dora", longest + "x") is None
    for bad in (longest + "x", "", "a\x00b", "\ud800"):
        with pytest.raises(BadInput):
            encode_password(bad)
        with pytest.raises(BadInput):
            await users.create("other", bad)


async def test_a_user_without_a_password_cannot_be_guessed(users: UserStore) -> None:
    await users.create("robot")
    assert await users.verify_password("robot", "") is None
    assert await users.verify_password("robot", "None") is None


async def test_a_disabled_user_stays_out_and_the_stamp_changes_with_the_password(
    users: UserStore,
) -> None:
    made = await users.create("dora", "password")
    await users.set_status(made.user_id, "disabled")
    assert await users.verify_password("dora", "password") is None
    assert await users.first_admin() is None
    await users.set_status(made.user_id, "active")
    await users.set_password(made.user_id, "another")
    changed = await users.verify_password("dora", "another")
    assert changed is not None
    assert changed.stamp != made.stamp
    await users.delete(made.user_id)
    assert await users.get(made.user_id) is None
    for gone in (
        users.set_status(made.user_id, "active"),
        users.set_password(made.user_id, "x"),
        users.delete(made.user_id),
    ):
        with pytest.raises(NotFound):
            await gone


async def test_hashing_does_not_hold_up_the_loop() -> None:
    hasher = PasswordHasher(rounds=10)
    ticks = 0
    hashing = asyncio.create_task(hasher.hash("password"))
    while not hashing.done():
        await asyncio.sleep(0)
        ticks += 1
    assert ticks > 10
    assert await hasher.matches("password", await hashing)
    hasher.close()


@requirement("S10.1")
async def test_a_hash_costs_twelve_rounds_where_nothing_else_is_said(database: Database) -> None:
    users = UserStore(database)
    await users.create("dora", "password")
    users.close()
    assert "$2b$12$" in await everything_kept(database)


async def test_the_first_admin_is_made_once(users: UserStore) -> None:
    password = await users.ensure_admin("admin", None)
    assert password is not None
    assert await users.verify_password("admin", password) is not None
    assert await users.ensure_admin("admin", None) is None
    assert await users.ensure_admin("other", "given") is None
    assert len(await users.list()) == 1


@requirement("S9.1")
async def test_a_given_admin_password_is_not_shown(users: UserStore) -> None:
    assert await users.ensure_admin("boss", "given password") is None
    admin = await users.first_admin()
    assert admin is not None
    assert admin.username == "boss"


async def test_a_key_finds_its_user_until_it_is_revoked(
    users: UserStore, database: Database
) -> None:
    dora = await users.create("dora")
    eve = await users.create("eve")
    key, secret = await users.keys.create(dora.user_id, " laptop ")
    assert (key.name, key.last_used) == ("laptop", None)
    assert secret.startswith(key.prefix)
    assert secret not in await everything_kept(database)
    found = await users.keys.resolve(secret)
    assert found is not None
    assert (found.key_id, found.user_id) == (key.key_id, dora.user_id)
    assert (await users.keys.list(dora.user_id))[0].last_used is not None
    for wrong in (
        secret[:-1] + ("a" if secret[-1] != "a" else "b"),
        secret[:-1],
        secret + "x",
        secret.upper(),
        secret[: len(key.prefix)],
        "",
        "é" * len(secret),
    ):
        assert await users.keys.resolve(wrong) is None
    with pytest.raises(NotFound):
        await users.keys.revoke(key.key_id, owner=eve.user_id)
    await users.keys.revoke(key.key_id, owner=dora.user_id)
    assert await users.keys.resolve(secret) is None
    with pytest.raises(NotFound):
        await users.keys.revoke(key.key_id, owner=dora.user_id)
    for bad in ("", "  ", "x" * 101, "a\x00"):
        with pytest.raises(BadInput):
            await users.keys.create(dora.user_id, bad)


async def test_only_an_account_has_keys_and_not_without_end(
    users: UserStore, database: Database
) -> None:
    with pytest.raises(Conflict, match="Only an account"):
        await users.keys.create("default", "service")
    dora = await users.create("dora")
    await database.write(lambda connection: _add_keys(connection, dora.user_id, MAX_KEYS))
    with pytest.raises(LimitReached, match="Revoke one first"):
        await users.keys.create(dora.user_id, "one more")


def _add_keys(connection: Connection, user_id: str, count: int) -> None:
    row = {"user_id": user_id, "name": "k", "key_hash": "", "created_at": datetime.now(UTC)}
    many = [{**row, "key_id": str(n), "prefix": str(n)} for n in range(count)]
    connection.execute(insert(tables.api_keys), many)


async def test_accounts_come_in_pages(users: UserStore) -> None:
    made = [await users.create(f"user_{n}") for n in range(3)]
    found, total = await users.page(limit=2, offset=1)
    assert (sorted(each.username for each in found), total) == (["user_1", "user_2"], 3)
    assert {each.user_id for each in found} < {each.user_id for each in made}


async def test_accounts_are_found_by_a_part_of_their_name(users: UserStore) -> None:
    for name in ("Dora_1", "dorothy", "otto"):
        await users.create(name)
    for search, names in {
        "DOR": ["Dora_1", "dorothy"],
        "_": ["Dora_1"],
        "%": [],
        "ott": ["otto"],
        "": ["Dora_1", "dorothy", "otto"],
    }.items():
        found, total = await users.page(limit=10, offset=0, search=search)
        assert (sorted(each.username for each in found), total) == (names, len(names)), search
    found, total = await users.page(limit=1, offset=1, search="dor")
    assert (len(found), total) == (1, 2)


async def test_a_new_password_ends_links_and_keys_unless_the_keys_are_kept(
    users: UserStore,
) -> None:
    dora = await users.create("dora", "password")
    _, secret = await users.keys.create(dora.user_id, "laptop")
    token = await users.links.create(dora.user_id)
    await users.set_password(dora.user_id, "another", keep_keys=True)
    assert await users.links.redeem(token) is None
    assert await users.keys.resolve(secret) is not None
    await users.set_password(dora.user_id, "and another")
    assert await users.keys.resolve(secret) is None


async def test_who_listens_is_told_of_every_change_that_may_put_a_user_out(
    users: UserStore,
) -> None:
    told: list[str] = []

    async def listener(user_id: str) -> None:
        told.append(user_id)

    users.listen(listener)
    dora = await users.create("dora", "password")
    key, _ = await users.keys.create(dora.user_id, "laptop")
    assert told == []
    await users.keys.revoke(key.key_id, owner=dora.user_id)
    await users.set_password(dora.user_id, "another")
    await users.set_status(dora.user_id, "disabled")
    await users.set_role(dora.user_id, "admin")
    await users.delete(dora.user_id)
    assert told == [dora.user_id] * 5


async def test_a_deleted_users_keys_and_links_are_gone(users: UserStore) -> None:
    dora = await users.create("dora")
    _, secret = await users.keys.create(dora.user_id, "k")
    token = await users.links.create(dora.user_id)
    await users.delete(dora.user_id)
    assert await users.keys.resolve(secret) is None
    assert await users.links.redeem(token) is None


async def test_a_login_link_is_spent_once_even_by_two_at_the_same_time(
    users: UserStore, database: Database
) -> None:
    dora = await users.create("dora")
    token = await users.links.create(dora.user_id)
    assert token not in await everything_kept(database)
    spent = await asyncio.gather(*(users.links.redeem(token) for _ in range(5)))
    assert sorted(each is not None for each in spent) == [False] * 4 + [True]
    assert dora.user_id in spent


async def test_an_old_or_unknown_login_link_is_nobody(users: UserStore) -> None:
    dora = await users.create("dora")
    old = await users.links.create(dora.user_id, lifetime=timedelta(seconds=-1))
    assert await users.links.redeem(old) is None
    for unknown in ("", "x", "x" * 10_000, "é"):
        assert await users.links.redeem(unknown) is None


async def test_a_shared_secret_is_made_once_and_the_same_for_all(database: Database) -> None:
    made = await asyncio.gather(*(shared_secret(database, "a") for _ in range(5)))
    assert len(set(made)) == 1
    assert len(made[0]) >= 43
    assert await shared_secret(database, "b") != made[0]
