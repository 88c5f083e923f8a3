"""Tables, a source and an engine to make catalogues of."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr
from sqlalchemy import Connection, delete

from dataagent_core.data.catalogue import CatalogueStore, structure_hash
from dataagent_core.data.engines.base import Engine, Samples, Statement
from dataagent_core.data.sources import NewSource, Source, SourceStore
from dataagent_core.data.types import Catalogue, Column, ForeignKey, Table
from dataagent_core.storage import Database, open_database, tables
from tests.waiting import WAIT_SECONDS

CUSTOMER = Table(
    name="Customer",
    columns=(
        Column("CustomerId", "INTEGER", is_nullable=False),
        Column("Country", "TEXT", comment="where they live"),
        Column("PasswordHash", "TEXT"),
        Column("Photo", "BLOB"),
    ),
    primary_key=("CustomerId",),
    row_count=59,
)
INVOICE = Table(
    name="Invoice",
    columns=(
        Column("InvoiceId", "INTEGER", is_nullable=False),
        Column("CustomerId", "INTEGER", is_nullable=False),
        Column("Total", "NUMERIC(10,2)"),
    ),
    comment="what was sold",
    primary_key=("InvoiceId",),
    foreign_keys=(ForeignKey(("CustomerId",), "Customer", ("CustomerId",)),),
    row_count=412,
)


class FakeEngine(Engine):
    """Reports the tables it was given, counts how often, and may be held or broken.

    In place of a driver: a real source cannot be stopped in the middle of describing itself.
    """

    dialect = "sqlite"

    def __init__(self) -> None:
        self.tables = [INVOICE, CUSTOMER]
        self.values: Samples = {}
        self.error: Exception | None = None
        self.sample_error: Exception | None = None
        self.times = 0
        self.sampled: dict[str, tuple[str, ...]] = {}
        self.has_begun = threading.Event()
        self.is_free = threading.Event()
        self.is_free.set()

    def introspect(self) -> list[Table]:
        self.times += 1
        self.has_begun.set()
        assert self.is_free.wait(WAIT_SECONDS)
        if self.error is not None:
            raise self.error
        return list(self.tables)

    def sample(self, table: Table, columns: Sequence[str], limit: int) -> Samples:
        assert limit > 0
        self.sampled[table.key] = tuple(columns)
        if self.sample_error is not None:
            raise self.sample_error
        return {name: self.values[name] for name in columns if name in self.values}

    def statement(
        self, sql: str, *, timeout_seconds: float, time_zone: str = "UTC"
    ) -> AbstractContextManager[Statement]:
        raise NotImplementedError

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def catalogue_of() -> Callable[..., Catalogue]:
    """A catalogue of some tables, with its true hash."""

    def make(*tables: Table, dialect: str = "sqlite") -> Catalogue:
        moment = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
        return Catalogue("source-1", dialect, tuple(tables), structure_hash(tables), moment)

    return make


@pytest.fixture
async def database(sql_place: str) -> AsyncIterator[Database]:
    opened = open_database(sql_place)
    await opened.write(_empty)
    yield opened
    await opened.close()


def _empty(connection: Connection) -> None:
    connection.execute(delete(tables.data_sources))


@pytest.fixture
def sources(database: Database) -> SourceStore:
    return SourceStore(database)


@pytest.fixture
async def source(sources: SourceStore) -> Source:
    return await sources.create(NewSource("shop", url=SecretStr("sqlite:////data/shop.db")))


@pytest.fixture
def store(database: Database) -> CatalogueStore:
    return CatalogueStore(database)
