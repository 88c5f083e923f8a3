"""A prepared statement does what SQLAlchemy does with it, on every database."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import (
    JSON,
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    bindparam,
    create_engine,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError, OperationalError

from dataagent_core.storage import Database, open_database
from dataagent_core.storage.prepared_statement import PreparedStatement
from dataagent_core.storage.tables import UtcTime
from tests.services import fresh_database
from tests.tiers import SQL_STORES

THINGS = Table(
    "things",
    MetaData(),
    Column("name", String(40), primary_key=True),
    Column("size", Integer),
    Column("at", UtcTime()),
    Column("more", JSON(none_as_null=True)),
)
INSERT = insert(THINGS).inline()
NAMED = select(THINGS).where(THINGS.c.name == bindparam("key"))
SOME = (
    select(THINGS.c.name, THINGS.c.size)
    .where(THINGS.c.name.in_(bindparam("names", expanding=True)), THINGS.c.size > 1)
    .order_by(THINGS.c.name)
)
GROW = (
    update(THINGS).where(THINGS.c.name == bindparam("key")).values(size=bindparam("new"), more=None)
)
NOW = datetime(2026, 11, 16, 9, 30, 0, 125_000, tzinfo=UTC)


def thing(name: str, size: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "size": size, "at": NOW, "more": {"a": [1, "ü"]}, **more}


@pytest_asyncio.fixture(params=SQL_STORES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Database]:
    with fresh_database(request.param, tmp_path) as url:
        opened = open_database(url)
        await opened.write(THINGS.create)
        yield opened
        await opened.close()


async def test_rows_are_written_and_read_as_by_sqlalchemy(database: Database) -> None:
    rows = [thing("a"), thing("b", 2, more=None), thing("c", 3, at=None)]

    def unit(connection: Connection) -> Any:
        assert PreparedStatement(INSERT).execute(connection, rows[0]) == 1
        PreparedStatement(INSERT).execute(connection, rows[1:])
        named = PreparedStatement(NAMED)
        ours = [tuple(named.rows(connection, {"key": key})[0]) for key in "abc"]
        theirs = [tuple(connection.execute(NAMED, {"key": key}).one()) for key in "abc"]
        return ours, theirs

    ours, theirs = await database.write(unit)
    assert ours == theirs
    assert ours[0] == ("a", 1, NOW, {"a": [1, "ü"]})


async def test_lists_of_any_length_and_the_number_of_rows_found(database: Database) -> None:
    some, grow = PreparedStatement(SOME), PreparedStatement(GROW)

    def unit(connection: Connection) -> Any:
        PreparedStatement(INSERT).execute(connection, [thing(name, 2) for name in "abc"])
        found = [
            [tuple(row) for row in some.rows(connection, {"names": names})]
            for names in (["a"], ["a", "c", "x"], ["b"])
        ]
        changed = [grow.execute(connection, {"key": key, "new": 9}) for key in ("a", "x")]
        return found, changed

    found, changed = await database.write(unit)
    assert found == [[("a", 2)], [("a", 2), ("c", 2)], [("b", 2)]]
    assert changed == [1, 0]


async def test_refusal_of_the_database_is_sqlalchemys(database: Database) -> None:
    insertion = PreparedStatement(INSERT)
    await database.write(lambda c: insertion.execute(c, thing("a")))
    with pytest.raises(IntegrityError):
        await database.write(lambda c: insertion.execute(c, thing("a")))
    with pytest.raises(IntegrityError):
        await database.write(lambda c: insertion.execute(c, [thing("b"), thing("a")]))
    left = await database.read(lambda c: PreparedStatement(NAMED).rows(c, {"key": "b"}))
    assert not left  # all or nothing


def test_statement_that_cannot_run_says_so_as_sqlalchemy_does() -> None:
    engine = create_engine("sqlite://")
    with engine.connect() as connection, pytest.raises(OperationalError, match="no such table"):
        PreparedStatement(NAMED).rows(connection, {"key": "a"})
    engine.dispose()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def engine() -> Any:
    made = create_engine("sqlite://")
    THINGS.create(made)
    yield made
    made.dispose()


@given(
    name=st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    size=st.none() | st.integers(-(2**31), 2**31 - 1),
    milliseconds=st.none() | st.integers(0, 4 * 10**12),
    more=_JSON,
)
def test_any_value_is_stored_byte_for_byte_as_by_sqlalchemy(
    engine: Engine, name: str, size: int | None, milliseconds: int | None, more: Any
) -> None:
    at = None
    if milliseconds is not None:
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    row = {"name": name, "size": size, "at": at, "more": more}
    kept: list[Any] = []
    with engine.connect() as connection:
        for is_prepared in (True, False):
            with connection.begin() as transaction:
                if is_prepared:
                    PreparedStatement(INSERT).execute(connection, row)
                else:
                    connection.execute(INSERT, row)
                kept.append(connection.exec_driver_sql("SELECT * FROM things").one())
                transaction.rollback()
    assert kept[0] == kept[1]
