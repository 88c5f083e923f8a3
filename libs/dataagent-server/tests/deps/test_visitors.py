"""Those who stay are let go when they are out, whatever happens around them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack

import pytest

from dataagent_core.identity import Grounds, Principal
from dataagent_core.identity.users import UserStore
from dataagent_core.storage import open_database
from dataagent_core.storage.migrate import migrate
from dataagent_server.auth import Authenticator, LoginTokens
from dataagent_server.config import ServerSettings
from dataagent_server.deps.visitors import Visitors
from tests.waiting import WAIT_SECONDS

SERVICE = Principal("default", "user", "service_key")


class House:
    """Visitors of a house, and who has left it."""

    def __init__(self, users: UserStore, auth: Authenticator) -> None:
        self.users = users
        self.auth = auth
        self.visitors = Visitors(auth)
        self.stay = ExitStack()
        self.left: list[str] = []
        self.somebody_left = asyncio.Event()

    async def user(self, name: str) -> Principal:
        user = await self.users.create(name)
        return Principal(user.user_id, "user", "cookie", grounds=Grounds(stamp=user.stamp))

    def enter(self, name: str, principal: Principal) -> None:
        async def leave() -> None:
            self.left.append(name)
            self.somebody_left.set()

        self.stay.enter_context(self.visitors.present(principal, leave))


@pytest.fixture
async def house(settings_for: Callable[..., ServerSettings]) -> AsyncIterator[House]:
    database = open_database("sqlite:///:memory:")
    await migrate(database)
    users = UserStore(database, password_rounds=4)
    made = House(users, Authenticator(settings_for(), users, LoginTokens("s" * 43, users)))
    yield made
    made.stay.close()
    users.close()
    await database.close()


async def test_recheck_says_whether_a_caller_would_still_be_let_in(house: House) -> None:
    dora = await house.user("dora")
    assert await house.auth.recheck(dora)
    await house.users.set_status(dora.user_id, "disabled")
    assert not await house.auth.recheck(dora)
    assert await house.auth.recheck(SERVICE)


async def test_each_is_let_go_once_and_those_who_left_are_not(house: House) -> None:
    dora, eve = await house.user("dora"), await house.user("eve")
    house.enter("dora 1", dora)
    house.enter("dora 2", dora)
    house.enter("eve", eve)
    house.enter("service", SERVICE)
    with house.visitors.present(dora, pytest.fail):  # gone before anything changes
        assert house.visitors.count == 5
    await house.users.set_status(dora.user_id, "disabled")
    assert house.left == []
    await house.visitors.look_again(dora.user_id)
    await house.visitors.look_again(dora.user_id)
    await house.visitors.look_round()
    assert sorted(house.left) == ["dora 1", "dora 2"]
    assert house.visitors.count == 2


async def test_a_round_finds_what_nobody_said(house: House) -> None:
    dora = await house.user("dora")
    house.enter("dora", dora)
    watching = asyncio.create_task(house.visitors.watch(0.01))
    try:
        await house.users.delete(dora.user_id)
        await asyncio.wait_for(house.somebody_left.wait(), WAIT_SECONDS)
    finally:
        watching.cancel()
        await asyncio.wait({watching})
    assert house.left == ["dora"]


async def test_one_who_cannot_leave_holds_up_nobody(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    dora = await house.user("dora")

    async def fail() -> None:
        raise OSError("broken")

    with house.visitors.present(dora, fail):
        house.enter("dora", dora)
        await house.users.delete(dora.user_id)
        await house.visitors.look_round()
    assert house.left == ["dora"]
    assert "a visitor did not leave" in caplog.text


async def test_while_nobody_can_tell_everyone_stays(
    settings_for: Callable[..., ServerSettings],
    caplog: pytest.LogCaptureFixture,
) -> None:
    database = open_database("postgresql://postgres@127.0.0.1:9/nowhere")  # nothing listens there
    users = UserStore(database, password_rounds=4)
    away = House(users, Authenticator(settings_for(), users, LoginTokens("s" * 43, users)))
    dora = Principal("dora", "user", "cookie", grounds=Grounds(stamp="s"))
    with away.stay:
        away.enter("dora", dora)
        await away.visitors.look_round()
        assert away.visitors.count == 1
    assert away.left == []
    assert "visitors were not looked at" in caplog.text
    users.close()
    await database.close()
