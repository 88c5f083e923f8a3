"""Guessing is slow, whoever guesses where; unknown names answer like known ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import bcrypt
import pytest
from sqlalchemy import Connection, delete, insert, select

from dataagent_core.errors import (
    BadInput,
    DataAgentError,
    NotFound,
    TooManyLogins,
    Unavailable,
    WrongLogin,
    WrongPassword,
)
from dataagent_core.identity import CredentialRef, Principal
from dataagent_core.identity.credentials import MAX_WAITING, PasswordHasher
from dataagent_core.identity.logins import LoginLimits, LoginService
from dataagent_core.identity.users import UserStore
from dataagent_core.storage import Database, open_database
from dataagent_core.storage.tables import ended_logins, login_addresses, login_failures
from dataagent_core.storage.tables import users as users_table

HOME = "192.0.2.7"
OFFICE = "198.51.100.4"
LIMITS = LoginLimits(per_name=3, per_address=6)


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **by: float) -> None:
        self.now += timedelta(**by)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def database(sql_place: str) -> AsyncIterator[Database]:
    opened = open_database(sql_place)
    await opened.write(_empty)
    yield opened
    await opened.close()


def _empty(connection: Connection) -> None:
    for table in (users_table, login_failures, ended_logins):
        connection.execute(delete(table))


@pytest.fixture
async def users(database: Database) -> AsyncIterator[UserStore]:
    store = UserStore(database, password_rounds=4)
    await store.create("dora", "correct horse")
    yield store
    store.close()


@pytest.fixture
def logins(database: Database, users: UserStore, clock: Clock) -> LoginService:
    return LoginService(database, users, limits=LIMITS, clock=clock)


async def outcome(
    logins: LoginService, name: str, password: str, address: str | None = HOME
) -> DataAgentError | None:
    """What came of a login: None if it was right."""
    try:
        await logins.log_in(name, password, address=address)
    except DataAgentError as error:
        return error
    return None


async def codes(logins: LoginService, tries: list[tuple[str, str, str | None]]) -> list[str | None]:
    ends = [await outcome(logins, *each) for each in tries]
    return [None if end is None else end.code for end in ends]


async def test_a_right_login_gives_the_user_and_leaves_no_count(
    logins: LoginService, database: Database
) -> None:
    for _ in range(LIMITS.per_address + 1):
        assert (await logins.log_in("dora", "correct horse", address=HOME)).username == "dora"
    kept = await database.read(lambda c: [*c.execute(select(login_failures))])
    assert {row.subject: row.failures for row in kept} == {f"address:{HOME}": 0, "name:dora": 0}


@pytest.mark.parametrize("name", ["dora", "nobody", "no such name!", "n" * 5000, "ünï"])
async def test_a_name_that_is_guessed_at_one_address_is_refused_there_and_only_there(
    logins: LoginService, clock: Clock, name: str
) -> None:
    tries = [(name, "wrong", HOME)] * 5
    assert await codes(logins, [*tries]) == ["wrong_login"] * 3 + ["too_many_logins"] * 2
    clock.advance(seconds=1)
    if name == "dora":
        assert await codes(logins, [("dora", "correct horse", OFFICE)]) == [None]
    # nor with the right password, or the limit would say when it is right
    assert await codes(logins, [(name, "correct horse", HOME)]) == ["too_many_logins"]


@pytest.mark.parametrize("name", ["dora", "nobody", "no such name!", "n" * 5000, "ünï"])
async def test_guessing_a_name_from_many_addresses_is_slowed_to_one_try_in_half_a_minute(
    logins: LoginService, clock: Clock, name: str
) -> None:
    looked_at = 0
    waits: set[int] = set()
    for number in range(900):  # a quarter of an hour, each second from another address
        end = await outcome(logins, name, "wrong", f"10.1.{number // 250}.{number % 250}")
        if isinstance(end, TooManyLogins):
            waits.add(end.retry_after_seconds or 0)
        else:
            looked_at += 1
        clock.advance(seconds=1)
    assert looked_at == 36
    assert max(waits) == 29


async def test_the_right_password_gets_in_while_others_guess_after_a_pause_or_at_once_from_home(
    logins: LoginService, clock: Clock
) -> None:
    assert await codes(logins, [("dora", "correct horse", HOME)]) == [None]
    assert (
        await codes(logins, [("dora", "wrong", f"10.1.1.{n}") for n in range(3)])
        == ["wrong_login"] * 3
    )
    refusal = await outcome(logins, "dora", "correct horse", OFFICE)
    assert isinstance(refusal, TooManyLogins)
    assert refusal.message == "Too many wrong logins. Try again in 1 seconds."
    assert await codes(logins, [("dora", "correct horse", HOME)]) == [None]
    clock.advance(seconds=1)
    assert await codes(logins, [("dora", "correct horse", OFFICE)]) == [None]
    assert await codes(logins, [("dora", "correct horse", OFFICE)]) == [None]


async def test_guesses_from_an_address_the_user_has_used_are_bounded_too(
    logins: LoginService,
) -> None:
    assert await codes(logins, [("dora", "correct horse", HOME)]) == [None]
    tries = [("dora", "wrong", HOME)] * 4
    assert await codes(logins, [*tries]) == ["wrong_login"] * 3 + ["too_many_logins"]


async def test_an_address_that_guesses_many_names_is_refused(logins: LoginService) -> None:
    tries = [(f"name_{n}", "wrong", HOME) for n in range(8)]
    assert await codes(logins, [*tries]) == ["wrong_login"] * 6 + ["too_many_logins"] * 2
    assert await codes(logins, [("dora", "correct horse", "192.0.2.8")]) == [None]


@pytest.mark.parametrize(
    "addresses",
    [
        [f"2001:db8::{n:x}" for n in range(8)],
        [f"2001:db8::{n:x}:1%eth0" for n in range(8)],
        ["::ffff:192.0.2.9", "192.0.2.9"] * 4,
        [None, "", "not an address", "192.0.2.1, 192.0.2.2", "x" * 10_000, "\x00", "é", "unix:"],
    ],
    ids=["one network", "with zones", "two forms", "no address"],
)
async def test_addresses_that_are_one_place_are_counted_as_one(
    logins: LoginService, addresses: list[str | None]
) -> None:
    tries = [(f"name_{n}", "wrong", address) for n, address in enumerate(addresses)]
    assert (await codes(logins, tries))[-2:] == ["too_many_logins"] * 2


async def test_a_right_login_does_not_give_its_address_new_guesses(logins: LoginService) -> None:
    tries = [(f"name_{n}", "wrong", HOME) for n in range(5)]
    tries += [("dora", "correct horse", HOME), ("name_8", "wrong", HOME), ("name_9", "wrong", HOME)]
    assert await codes(logins, [*tries]) == [
        *["wrong_login"] * 5,
        None,
        "wrong_login",
        "too_many_logins",
    ]


async def test_many_at_once_in_two_processes_get_no_more_guesses_than_one_after_another(
    logins: LoginService, users: UserStore, clock: Clock, sql_place: str
) -> None:
    other = open_database(sql_place)
    elsewhere = LoginService(other, users, limits=LIMITS, clock=clock)
    try:
        ends = await asyncio.gather(
            *(outcome(each, "dora", "wrong") for _ in range(10) for each in (logins, elsewhere))
        )
    finally:
        await other.close()
    assert sorted(end.code for end in ends if end) == ["too_many_logins"] * 17 + ["wrong_login"] * 3


async def test_the_refusal_says_when_and_then_it_is_over(
    logins: LoginService, clock: Clock
) -> None:
    await codes(logins, [("dora", "wrong", HOME)] * 3)
    refusal = await outcome(logins, "dora", "correct horse")
    assert isinstance(refusal, TooManyLogins)
    assert refusal.retry_after_seconds is not None
    assert refusal.retry_after_seconds == 900
    assert refusal.details == {"retry_after_seconds": refusal.retry_after_seconds}
    assert refusal.message == "Too many wrong logins. Try again in 15 minutes."
    clock.advance(minutes=15)
    assert await outcome(logins, "dora", "correct horse") is None


async def test_an_unknown_name_costs_and_says_the_same_as_a_known_one(
    logins: LoginService, users: UserStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    disabled = await users.create("gone", "correct horse")
    await users.set_status(disabled.user_id, "disabled")
    await users.create("robot")
    computed: list[str] = []

    def watch(name: str) -> None:
        real = getattr(bcrypt, name)

        def watched(*given: Any) -> Any:
            computed.append(name)
            return real(*given)

        monkeypatch.setattr(bcrypt, name, watched)

    watch("hashpw")
    watch("checkpw")
    said: set[tuple[type, str]] = set()
    tries = [("dora", "wrong"), ("nobody", "wrong"), ("robot", ""), ("gone", "correct horse")]
    for name, password in [*tries, ("no name!", "x" * 100)]:
        end = await outcome(logins, name, password)
        assert end is not None
        said.add((type(end), end.message))
        assert len(computed) == 1, name  # one bcrypt of the same cost each
        computed.clear()
    assert said == {(WrongLogin, "The name or the password is not right.")}


async def test_an_attempt_that_nobody_had_time_to_look_at_is_no_wrong_guess(
    logins: LoginService, users: UserStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await outcome(logins, "dora", "wrong")
    with monkeypatch.context() as crowd:
        crowd.setattr(users._passwords, "_waiting", MAX_WAITING)
        unlooked = await codes(logins, [("dora", "correct horse", HOME)] * 8)
    assert unlooked == [Unavailable.code] * 8
    guesses = await codes(logins, [("dora", "wrong", HOME)] * 3)
    assert guesses == [WrongLogin.code, WrongLogin.code, TooManyLogins.code]


async def test_few_may_wait_for_a_password_to_be_looked_at() -> None:
    hasher = PasswordHasher(rounds=10)
    waiting = [asyncio.create_task(hasher.hash("password")) for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        await hasher.matches("password", None)
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    assert await hasher.matches("password", None) is False  # there is room again
    hasher.close()


async def test_a_password_is_changed_by_who_knows_the_old_one(
    logins: LoginService, users: UserStore
) -> None:
    dora = await users.by_username("dora")
    assert dora is not None
    for bad in ("", "x" * 73, "a\x00"):
        with pytest.raises(BadInput):
            await logins.change_password(dora.user_id, "correct horse", bad, address=HOME)
    with pytest.raises(WrongPassword):
        await logins.change_password(dora.user_id, "wrong", "another", address=HOME)
    changed = await logins.change_password(dora.user_id, "correct horse", "another", address=HOME)
    assert changed.stamp != dora.stamp
    assert await codes(logins, [("dora", "another", HOME)]) == [None]
    with pytest.raises(NotFound):
        await logins.change_password("default", "x", "another", address=HOME)


async def test_the_old_password_cannot_be_guessed_there_either(
    logins: LoginService, users: UserStore
) -> None:
    dora = await users.by_username("dora")
    assert dora is not None
    for _ in range(3):
        with pytest.raises(WrongPassword):
            await logins.change_password(dora.user_id, "wrong", "another", address=HOME)
    with pytest.raises(TooManyLogins):
        await logins.change_password(dora.user_id, "correct horse", "another", address=HOME)


async def test_an_administrators_reset_gives_the_name_a_new_start(
    logins: LoginService, users: UserStore
) -> None:
    dora = await users.by_username("dora")
    assert dora is not None
    await codes(logins, [("dora", "wrong", each) for each in (HOME, HOME, OFFICE, HOME, HOME)])
    boss = Principal("boss", "admin", "service_key")
    await logins.reset_password(dora.user_id, "another", by=boss)
    assert await codes(logins, [("dora", "another", HOME)]) == [None]


async def test_a_login_that_was_ended_stays_ended(logins: LoginService, users: UserStore) -> None:
    dora = await users.by_username("dora")
    assert dora is not None
    until = datetime.now(UTC) + timedelta(hours=1)
    caller = Principal(
        dora.user_id,
        "user",
        "cookie",
        credential_ref=CredentialRef(dora.stamp, "login-1", expires_at=until),
    )
    assert await users.of_login(dora.user_id, "login-1") == dora
    await asyncio.gather(*(logins.log_out(caller) for _ in range(3)))
    assert await users.of_login(dora.user_id, "login-1") is None
    assert await users.of_login(dora.user_id, "login-2") == dora
    assert await users.of_login(dora.user_id, "é") is None
    await logins.log_out(Principal("default", "user", "service_key"))  # nothing to end


async def test_what_is_over_is_not_kept_for_ever(
    database: Database, users: UserStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = datetime.now(UTC) - timedelta(days=2)
    rows = [{"subject": f"name:n{n}", "failures": 1, "first_at": old, "last_at": old} for n in "ab"]
    await database.write(lambda c: c.execute(insert(login_failures), rows).rowcount)
    ended = {"login_id": "old", "expires_at": old}
    await database.write(lambda c: c.execute(insert(ended_logins), ended).rowcount)
    dora = await users.by_username("dora")
    assert dora is not None
    seen = {"user_id": dora.user_id, "address": OFFICE, "last_at": old - timedelta(days=90)}
    await database.write(lambda c: c.execute(insert(login_addresses), seen).rowcount)
    logins = LoginService(database, users, limits=LoginLimits(window=timedelta(0)))
    await logins.log_in("dora", "correct horse", address=HOME)
    kept = await database.read(lambda c: [*c.execute(select(login_failures))])
    assert all(row.last_at > old for row in kept)
    assert await database.read(lambda c: c.execute(select(ended_logins)).first()) is None
    places = select(login_addresses.c.address)
    assert await database.read(lambda c: [*c.execute(places).scalars()]) == [HOME]
