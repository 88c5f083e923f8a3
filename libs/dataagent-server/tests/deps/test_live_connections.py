"""Those who stay are let go when they are out, whatever happens around them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack

import pytest

from dataagent_core.identity import CredentialRef, Principal
from dataagent_core.identity.users import UserStore
from dataagent_core.storage import open_database
from dataagent_core.storage.migrate import migrate
from dataagent_server.auth import Authenticator, LoginTokens
from dataagent_server.config import ServerSettings
from dataagent_server.deps.connections import LiveConnections
from tests.waiting import WAIT_SECONDS

SERVICE = Principal("default", "user", "service_key")


class ConnectionSetup:
    """Visitors of a house, and who has left it."""

    def __init__(self, users: UserStore, auth: Authenticator) -> None:
        self.users = users
        self.auth = auth
        self.live_connections = LiveConnections(auth)
        self.stay = ExitStack()
        self.left: list[str] = []
        self.somebody_left = asyncio.Event()

    async def user(self, name: str) -> Principal:
        user = await self.users.create(name)
        return Principal(
            user.user_id, "user", "cookie", credential_ref=CredentialRef(stamp=user.stamp)
        )

    def enter(self, name: str, principal: Principal) -> None:
        async def leave() -> None:
            self.left.append(name)
            self.somebody_left.set()

        self.stay.enter_context(self.live_connections.register(principal, leave))


@pytest.fixture
async def setup(settings_for: Callable[..., ServerSettings]) -> AsyncIterator[ConnectionSetup]:
    database = open_database("sqlite:///:memory:")
    await migrate(database)
    users = UserStore(database, password_rounds=4)
    made = ConnectionSetup(
        users, Authenticator(settings_for(), users, LoginTokens("s" * 43, users))
    )
    yield made
    made.stay.close()
    users.close()
    await database.close()


async def test_recheck_says_whether_a_caller_would_still_be_let_in(setup: ConnectionSetup) -> None:
    dora = await setup.user("dora")
    assert await setup.auth.recheck(dora)
    await setup.users.set_status(dora.user_id, "disabled")
    assert not await setup.auth.recheck(dora)
    assert await setup.auth.recheck(SERVICE)


async def test_each_is_let_go_once_and_those_who_left_are_not(setup: ConnectionSetup) -> None:
    dora, eve = await setup.user("dora"), await setup.user("eve")
    setup.enter("dora 1", dora)
    setup.enter("dora 2", dora)
    setup.enter("eve", eve)
    setup.enter("service", SERVICE)
    with setup.live_connections.register(dora, pytest.fail):  # gone before anything changes
        assert setup.live_connections.count == 5
    await setup.users.set_status(dora.user_id, "disabled")
    assert setup.left == []
    await setup.live_connections.recheck_user(dora.user_id)
    await setup.live_connections.recheck_user(dora.user_id)
    await setup.live_connections.recheck_all()
    assert sorted(setup.left) == ["dora 1", "dora 2"]
    assert setup.live_connections.count == 2


async def test_a_round_finds_what_nobody_said(setup: ConnectionSetup) -> None:
    dora = await setup.user("dora")
    setup.enter("dora", dora)
    watching = asyncio.create_task(setup.live_connections.watch(0.01))
    try:
        await setup.users.delete(dora.user_id)
        await asyncio.wait_for(setup.somebody_left.wait(), WAIT_SECONDS)
    finally:
        watching.cancel()
        await asyncio.wait({watching})
    assert setup.left == ["dora"]


async def test_one_who_cannot_leave_holds_up_nobody(
    setup: ConnectionSetup, caplog: pytest.LogCaptureFixture
) -> None:
    dora = await setup.user("dora")

    async def fail() -> None:
        raise OSError("broken")

    with setup.live_connections.register(dora, fail):
        setup.enter("dora", dora)
        await setup.users.delete(dora.user_id)
        await setup.live_connections.recheck_all()
    assert setup.left == ["dora"]
    assert "a connection was not closed" in caplog.text


async def test_while_nobody_can_tell_everyone_stays(
    settings_for: Callable[..., ServerSettings],
    caplog: pytest.LogCaptureFixture,
) -> None:
    database = open_database("postgresql://postgres@127.0.0.1:9/nowhere")  # nothing listens there
    users = UserStore(database, password_rounds=4)
    away = ConnectionSetup(
        users, Authenticator(settings_for(), users, LoginTokens("s" * 43, users))
    )
    dora = Principal("dora", "user", "cookie", credential_ref=CredentialRef(stamp="s"))
    with away.stay:
        away.enter("dora", dora)
        await away.live_connections.recheck_all()
        assert away.live_connections.count == 1
    assert away.left == []
    assert "open connections were not checked" in caplog.text
    users.close()
    await database.close()
