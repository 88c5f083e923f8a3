"""What is used is added up by user and day, on every SQL database, from several processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import date, timedelta
from uuid import uuid4

import pytest
from sqlalchemy import Connection, delete

from dataagent_core.errors import Denied
from dataagent_core.identity import Principal
from dataagent_core.identity.usage import Amounts, DayUsage, UsageRecorder
from dataagent_core.identity.users import UserStore
from dataagent_core.storage import Database, open_database, tables
from dataagent_core.storage import tables as people
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

DAY = date(2026, 11, 16)


@pytest.fixture
async def database(sql_place: str) -> AsyncIterator[Database]:
    opened = open_database(sql_place)
    await opened.write(_empty)
    yield opened
    await opened.close()


def _empty(connection: Connection) -> None:
    connection.execute(delete(people.usage_days))


def some(times: int = 1) -> Amounts:
    return Amounts(times, 10 * times, 3 * times, 2 * times, 0.25 * times, 1.5 * times)


async def test_notes_are_added_up_by_user_and_day(database: Database) -> None:
    book = UsageRecorder(database)
    for user in ("anna", "anna", "bert"):
        book.note(user, DAY, some())
    book.note("anna", DAY + timedelta(days=1), some())
    assert await book.of_day("anna", DAY) == some(2)  # not written yet, and counted
    await book.flush()
    book.note("anna", DAY, some())
    assert await book.of_day("anna", DAY) == some(3)
    assert await book.days("anna", DAY, DAY + timedelta(days=9)) == [
        DayUsage("anna", DAY + timedelta(days=1), some()),
        DayUsage("anna", DAY, some(3)),
    ]
    assert await book.days("anna", DAY + timedelta(days=2), DAY) == []
    assert await book.days("carl", date.min, date.max) == []


async def test_processes_that_write_at_once_lose_nothing(sql_place: str) -> None:
    databases = [open_database(sql_place) for _ in range(3)]
    try:
        await databases[0].write(_empty)
        books = [UsageRecorder(each) for each in databases]
        for _ in range(5):
            for book in books:
                for user in ("anna", "bert", "carl"):
                    book.note(user, DAY, some())
            await asyncio.gather(*(book.flush() for book in books))
        for user in ("anna", "bert", "carl"):
            assert await books[0].of_day(user, DAY) == some(15)
    finally:
        for each in databases:
            await each.close()


async def test_what_cannot_be_written_is_kept_and_written_later() -> None:
    database = open_database("sqlite:///:memory:")
    try:
        book = UsageRecorder(database)
        book.note("anna", DAY, some())
        with pytest.raises(Exception):  # noqa: B017, PT011 there is no table yet
            await book.flush()
        for table in (people.usage_days, tables.users):
            await database.write(table.create)
        await book.flush()
        assert (await book.days("anna", DAY, DAY))[0].amounts == some()
    finally:
        await database.close()


async def test_the_loop_writes_by_itself_and_the_rest_at_the_end(database: Database) -> None:
    written = asyncio.Event()

    class Telling(UsageRecorder):
        async def flush(self) -> None:
            await super().flush()
            written.set()

    book = Telling(database, pause_seconds=0)
    book.start()
    book.note("anna", DAY, some())
    await asyncio.wait_for(written.wait(), WAIT_SECONDS)
    book.note("anna", DAY, some())
    await book.aclose()
    assert await UsageRecorder(database).of_day("anna", DAY) == some(2)


@requirement("R32.1")
async def test_only_an_administrator_sees_what_others_use(database: Database) -> None:
    book = UsageRecorder(database)
    book.note("anna", DAY, some())
    anna, bert = Principal("anna", "user", "api_key"), Principal("bert", "user", "api_key")
    root = Principal("root", "admin", "api_key")
    for caller, user_id in ((anna, None), (anna, "anna"), (root, "anna")):
        (found,) = await book.days_for(caller, DAY, DAY, user_id=user_id)
        assert found.user_id == "anna"
    assert await book.days_for(bert, DAY, DAY) == []
    with pytest.raises(Denied):
        await book.days_for(bert, DAY, DAY, user_id="anna")


@requirement("R32.1")
async def test_an_administrator_sees_what_everybody_used_in_pages(database: Database) -> None:
    book, users = UsageRecorder(database), UserStore(database)
    try:
        dora = await users.create(f"dora_{uuid4().hex[:8]}")
        later = DAY + timedelta(days=1)
        for user_id, day in (("anna", DAY), (dora.user_id, later), ("anna", later)):
            book.note(user_id, day, some())
        root = Principal("root", "admin", "api_key")
        found, total = await book.days_of_all(root, DAY, later, limit=10, offset=0)
        assert [each.day for each in found] == [later, later, DAY]
        assert {(each.user_id, each.username) for each in found} == {
            ("anna", None),
            (dora.user_id, dora.username),
        }
        assert (total, found[0].amounts) == (3, some())
        paged = [
            (await book.days_of_all(root, DAY, later, limit=1, offset=n))[0][0] for n in range(3)
        ]
        assert paged == found
        assert (await book.days_of_all(root, later, later, limit=10, offset=0))[1] == 2
        anna = Principal("anna", "user", "api_key")
        with pytest.raises(Denied):
            await book.days_of_all(anna, DAY, later, limit=10, offset=0)
    finally:
        users.close()
