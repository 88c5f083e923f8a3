"""Nobody locks themselves out and an administrator stays, whoever acts at the same moment."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import pytest
from sqlalchemy import Connection, delete
from sqlalchemy.util import await_only

from dataagent_core.errors import DataAgentError, Denied, LastAdmin, NotFound, OwnAccount
from dataagent_core.identity import CredentialRef, Principal
from dataagent_core.identity.users import User, UserStore
from dataagent_core.storage import Database, Unit, open_database
from dataagent_core.storage.tables import users as users_table
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

T = TypeVar("T")
A_MOMENT = 0.3
Act = Callable[[UserStore, str, Principal], Awaitable[Any]]
ACTS: dict[str, Act] = {
    "disable": lambda store, user_id, by: store.set_status(user_id, "disabled", by=by),
    "demote": lambda store, user_id, by: store.set_role(user_id, "user", by=by),
    "delete": lambda store, user_id, by: store.delete(user_id, by=by),
}


class HeldDatabase(Database):
    """Another process's way to the same database, whose transactions stay open until let go."""

    def __init__(self, database: Database) -> None:
        self.url = database.url
        self._database = database
        self._is_threaded = database.dialect == "sqlite"
        self._let_go_thread = threading.Event()
        self._let_go_loop = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.is_held = asyncio.Event()

    async def write(self, unit: Unit[T], *, is_durable: bool = True) -> T:
        def held(connection: Connection) -> T:
            result = unit(connection)
            self._loop.call_soon_threadsafe(self.is_held.set)
            if self._is_threaded:
                self._let_go_thread.wait(WAIT_SECONDS)
            else:
                await_only(self._let_go_loop.wait())
            return result

        return await self._database.write(held, is_durable=is_durable)

    async def read(self, unit: Unit[T]) -> T:
        return await self._database.read(unit)

    async def close(self) -> None:
        await self._database.close()

    def let_go(self) -> None:
        self._let_go_thread.set()
        self._let_go_loop.set()


@pytest.fixture
async def database(sql_place: str) -> AsyncIterator[Database]:
    opened = open_database(sql_place)
    await opened.write(lambda connection: connection.execute(delete(users_table)).rowcount)
    yield opened
    await opened.close()


@pytest.fixture
async def users(database: Database) -> AsyncIterator[UserStore]:
    store = UserStore(database, password_rounds=4)
    yield store
    store.close()


@pytest.fixture
async def held(sql_place: str) -> AsyncIterator[HeldDatabase]:
    opened = HeldDatabase(open_database(sql_place))
    yield opened
    opened.let_go()
    await opened.close()


def as_caller(user: User) -> Principal:
    return Principal(
        user.user_id, user.role, "cookie", credential_ref=CredentialRef(stamp=user.stamp)
    )


async def active_admins(users: UserStore) -> list[str]:
    return [each.username for each in await users.list() if each.role == "admin" and each.is_active]


@requirement("S2.5.2b")
@pytest.mark.parametrize("act", ACTS)
async def test_nobody_does_it_to_their_own_account(users: UserStore, act: str) -> None:
    dora = await users.create("dora", role="admin")
    await users.create("eve", role="admin")
    with pytest.raises(OwnAccount):
        await ACTS[act](users, dora.user_id, as_caller(dora))
    assert len(await active_admins(users)) == 2


@requirement("S2.5.2c")
@pytest.mark.parametrize("act", ACTS)
async def test_the_last_active_administrator_stays(users: UserStore, act: str) -> None:
    dora = await users.create("dora", role="admin")
    eve = await users.create("eve", role="admin")
    await users.create("user")
    service = Principal("default", "admin", "service_key")
    await users.set_status(eve.user_id, "disabled", by=service)
    with pytest.raises(LastAdmin):
        await ACTS[act](users, dora.user_id, service)
    await ACTS[act](users, eve.user_id, service)  # who is disabled administers nothing
    assert await active_admins(users) == ["dora"]


@pytest.mark.parametrize("act", ACTS)
async def test_who_does_not_exist_is_not_found(users: UserStore, act: str) -> None:
    dora = await users.create("dora", role="admin")
    for nobody in ("nobody", "x" * 1000, "\ud800"):
        with pytest.raises(NotFound):
            await ACTS[act](users, nobody, as_caller(dora))


async def test_an_own_password_is_not_set_without_the_old_one(users: UserStore) -> None:
    dora = await users.create("dora", "password", role="admin")
    with pytest.raises(OwnAccount):
        await users.set_password(dora.user_id, "another", by=as_caller(dora))
    assert await users.verify_password("dora", "password") is not None


@pytest.mark.parametrize(
    ("first", "second"),
    [("disable", "disable"), ("demote", "delete"), ("delete", "demote"), ("delete", "delete")],
)
async def test_of_two_administrators_who_remove_each_other_one_stays(
    users: UserStore, held: HeldDatabase, first: str, second: str
) -> None:
    dora = await users.create("dora", role="admin")
    eve = await users.create("eve", role="admin")
    others = UserStore(held, password_rounds=4)
    removing_eve = asyncio.ensure_future(ACTS[first](others, eve.user_id, as_caller(dora)))
    await asyncio.wait_for(held.is_held.wait(), WAIT_SECONDS)
    removing_dora = asyncio.ensure_future(ACTS[second](users, dora.user_id, as_caller(eve)))
    await asyncio.wait({removing_dora}, timeout=A_MOMENT)
    assert not removing_dora.done()  # it waits for the first to end
    held.let_go()
    await asyncio.wait_for(removing_eve, WAIT_SECONDS)
    with pytest.raises(Denied):
        await asyncio.wait_for(removing_dora, WAIT_SECONDS)
    assert await active_admins(users) == ["dora"]
    others.close()


async def test_of_two_services_that_remove_all_administrators_one_is_refused(
    users: UserStore, held: HeldDatabase
) -> None:
    dora = await users.create("dora", role="admin")
    eve = await users.create("eve", role="admin")
    service = Principal("default", "admin", "service_key")
    others = UserStore(held, password_rounds=4)
    removing_eve = asyncio.ensure_future(others.delete(eve.user_id, by=service))
    await asyncio.wait_for(held.is_held.wait(), WAIT_SECONDS)
    removing_dora = asyncio.ensure_future(users.set_role(dora.user_id, "user", by=service))
    await asyncio.wait({removing_dora}, timeout=A_MOMENT)
    assert not removing_dora.done()
    held.let_go()
    await asyncio.wait_for(removing_eve, WAIT_SECONDS)
    with pytest.raises(LastAdmin):
        await asyncio.wait_for(removing_dora, WAIT_SECONDS)
    assert await active_admins(users) == ["dora"]
    others.close()


async def test_five_administrators_who_remove_each_other_leave_one(users: UserStore) -> None:
    admins = [await users.create(f"admin_{n}", role="admin") for n in range(5)]
    ring = zip(admins, [*admins[1:], admins[0]], strict=True)
    outcomes = await asyncio.gather(
        *(users.delete(target.user_id, by=as_caller(by)) for by, target in ring),
        return_exceptions=True,
    )
    assert all(each is None or isinstance(each, DataAgentError) for each in outcomes)
    assert len(await active_admins(users)) == 5 - sum(each is None for each in outcomes) >= 1
