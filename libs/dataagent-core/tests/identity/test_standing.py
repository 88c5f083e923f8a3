"""Whoever was let in is out as soon as what they were let in on does not hold any more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import delete

from dataagent_core.identity import CredentialRef, Principal
from dataagent_core.identity.credentials import ApiKey
from dataagent_core.identity.logins import LoginService
from dataagent_core.identity.users import User, UserStore
from dataagent_core.storage import Database, open_database
from dataagent_core.storage.tables import users as users_table


@pytest.fixture
async def database(sql_place: str) -> AsyncIterator[Database]:
    opened = open_database(sql_place)
    await opened.write(lambda connection: connection.execute(delete(users_table)).rowcount)
    yield opened
    await opened.close()


class House:
    """A user who is in by cookie and by key, another one, and a service."""

    def __init__(self, database: Database, users: UserStore) -> None:
        self.users = users
        self.logins = LoginService(database, users)
        self.dora: User
        self.key: ApiKey
        self.inside: dict[str, Principal] = {}

    async def fill(self) -> None:
        self.dora = await self.users.create("dora", "password")
        eve = await self.users.create("eve", "password")
        self.key, _ = await self.users.keys.create(self.dora.user_id, "laptop")
        until = datetime.now(UTC) + timedelta(hours=1)
        login = CredentialRef(
            stamp=self.dora.stamp, login_id=f"a-{eve.user_id}"[:40], expires_at=until
        )
        hers = CredentialRef(stamp=eve.stamp, login_id=f"b-{eve.user_id}"[:40], expires_at=until)
        self.inside = {
            "cookie": Principal(self.dora.user_id, "user", "cookie", credential_ref=login),
            "key": Principal(
                self.dora.user_id,
                "user",
                "api_key",
                credential_ref=CredentialRef(key_id=self.key.key_id),
            ),
            "eve": Principal(eve.user_id, "user", "cookie", credential_ref=hers),
            "service": Principal(self.dora.user_id, "user", "service_key"),
        }

    async def find_revoked(self) -> set[str]:
        out = {id(each) for each in await self.users.find_revoked(list(self.inside.values()))}
        return {name for name, each in self.inside.items() if id(each) in out}


@pytest.fixture
async def house(database: Database) -> AsyncIterator[House]:
    users = UserStore(database, password_rounds=4)
    made = House(database, users)
    await made.fill()
    yield made
    users.close()


CHANGES: dict[str, tuple[Callable[[House], Awaitable[Any]], set[str]]] = {
    "nothing": (lambda house: house.users.list(), set()),
    "disabled": (
        lambda house: house.users.set_status(house.dora.user_id, "disabled"),
        {"cookie", "key"},
    ),
    "deleted": (lambda house: house.users.delete(house.dora.user_id), {"cookie", "key"}),
    "another role": (
        lambda house: house.users.set_role(house.dora.user_id, "admin"),
        {"cookie", "key"},
    ),
    "another password": (
        lambda house: house.users.set_password(house.dora.user_id, "another"),
        {"cookie", "key"},
    ),
    "another password, keys kept": (
        lambda house: house.users.set_password(house.dora.user_id, "another", keep_keys=True),
        {"cookie"},
    ),
    "key revoked": (
        lambda house: house.users.keys.revoke(house.key.key_id, owner=house.dora.user_id),
        {"key"},
    ),
    "logged out": (lambda house: house.logins.log_out(house.inside["cookie"]), {"cookie"}),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_puts_out_those_it_concerns_and_nobody_else(
    house: House, change: str
) -> None:
    make, expected = CHANGES[change]
    await make(house)
    assert await house.find_revoked() == expected


async def test_a_login_ends_with_its_time(house: House) -> None:
    past = datetime.now(UTC) - timedelta(seconds=1)
    credential_ref = CredentialRef(stamp=house.dora.stamp, login_id="c", expires_at=past)
    late = Principal(house.dora.user_id, "user", "cookie", credential_ref=credential_ref)
    assert await house.users.find_revoked([late]) == [late]


async def test_a_thousand_are_looked_at_together(house: House) -> None:
    many = [
        Principal(f"nobody-{n}", "user", "api_key", credential_ref=CredentialRef(key_id=f"k-{n}"))
        for n in range(1200)
    ]
    mine = house.inside["key"]
    out = await house.users.find_revoked([*many[:600], mine, *many[600:]])
    assert out == many
