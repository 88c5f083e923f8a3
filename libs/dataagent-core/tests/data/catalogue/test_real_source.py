"""The catalogue of a real database, through its engine and the keeper."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

from dataagent_core.data.catalogue import CatalogueCache, CatalogueStore, describe, search
from dataagent_core.data.engines import Engine, open_engine
from dataagent_core.data.sources import NewSource, Source, SourceChanges, SourceStore

SCHEMA = """
CREATE TABLE Customer (CustomerId INTEGER PRIMARY KEY, Country TEXT NOT NULL, ApiToken TEXT);
CREATE TABLE Invoice (
    InvoiceId INTEGER PRIMARY KEY,
    CustomerId INTEGER REFERENCES Customer (CustomerId),
    Total NUMERIC(10,2)
);
INSERT INTO Customer VALUES (1, 'Germany', 'tok-1'), (2, '中国', 'tok-2');
INSERT INTO Invoice VALUES (1, 1, 9.5);
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(SCHEMA)
    connection.close()
    return path


@pytest.mark.parametrize("sql_kind", ["sqlite"], indirect=True)
def opening(sources: SourceStore, opened: list[Engine]) -> Callable[[Source], Awaitable[Engine]]:
    """Opens engines and notes them, for whoever closes them."""

    async def engine_of(wanted: Source) -> Engine:
        url = await sources.url_of(wanted.source_id)
        assert url is not None
        opened.append(open_engine(url.get_secret_value()))
        return opened[-1]

    return engine_of


async def test_a_database_is_described_searched_and_watched(
    file: Path, sources: SourceStore, store: CatalogueStore
) -> None:
    source = await sources.create(NewSource("shop2", url=SecretStr(f"sqlite:///{file}")))
    opened: list[Engine] = []
    engine_of = opening(sources, opened)
    keeper = CatalogueCache(
        store,
        engine_of=engine_of,
        list_sources=sources.list,
        comments_of=lambda _source: {"Customer": ("顾客", {"Country": "国家"})},
    )
    try:
        catalogue = await keeper.get(source)
        text = describe(catalogue)
        assert "table Customer, 2 rows: 顾客" in text
        assert "CustomerId INTEGER → Customer.CustomerId" in text
        assert "'Germany'" in text
        assert "tok-1" not in text
        assert search(catalogue, "各国家有多少顾客")[0].table_key == "Customer"
        with sqlite3.connect(file) as connection:
            connection.execute("ALTER TABLE Invoice ADD COLUMN PaidOn DATE")
        connection.close()
        state = await keeper.refresh(source)
        assert state.drift == ("Column Invoice.PaidOn was added (DATE).",)
        file.rename(file.with_suffix(".away"))
        down = await keeper.refresh(source)
        assert down.problem is not None
        assert down.catalogue == state.catalogue
        moved = await sources.update(
            source.source_id, SourceChanges(url=SecretStr(f"sqlite:///{file.with_suffix('.away')}"))
        )
        assert (await keeper.state(moved)).problem is None
    finally:
        await keeper.aclose()
        for engine in opened:
            engine.close()
