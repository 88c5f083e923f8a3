"""A small database in Chinook's shape, for four engines, and the catalogue that describes it.

Made by arithmetic: the same rows everywhere, with nulls, ties, Chinese and awkward names in them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from dataagent_core.data.types import Catalogue, Column, Table

Row = tuple[Any, ...]  # cells of any type a driver takes


@dataclass(frozen=True)
class Made:
    """A table's columns as (name, generic type), and its rows."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]
    schema: str | None = None


def _columns(text: str) -> tuple[tuple[str, str], ...]:
    pairs = [one.split(":") for one in text.split()]
    return tuple((name.replace("_", " "), kind) for name, kind in pairs)


ARTISTS = ("AC/DC", "Accept", "崔健", "Audioslave", "Élodie", "O'Connor", "100% Pure")
GENRES = ("Rock", "Jazz", "Metal", "摇滚", "Blues")
COUNTRIES = ("Germany", "Brazil", "Canada", "Germany", "USA", "中国", "France", "Brazil")
CITIES = ("Berlin", "Rio", "Montréal", "Stuttgart", "Boston", "上海", "Paris", "São Paulo")
FIRST = ("Leonie", "Luís", "François", "Niklas", "Frank", "伟", "Camille", "Roberto")
LAST = ("Köhler", "Gonçalves", "Tremblay", "Schröder", "Harris", "王", "Bernard", "Almeida")
START = datetime(2021, 1, 15, 10, 30)  # noqa: DTZ001 the columns have no time zone


def _money(cents: int) -> Decimal:
    return Decimal(cents) / 100


def _track(number: int) -> Row:
    composer = None if number % 4 == 0 else f"{LAST[number % 8]}, {FIRST[number % 8]}"
    return (
        *(number, f"Track {number:02d}" if number % 6 else f"夜曲 {number}", number % 10 + 1),
        *(number % 3 + 1, number % 5 + 1 if number % 11 else None, composer),
        *(120_000 + number * 7_919 % 300_000, 3_000_000 + number * 104_729 % 5_000_000),
        _money(99 if number % 7 else 199),
    )


def _invoice(number: int) -> Row:
    customer = (number * 3) % 8
    when = START + timedelta(days=number * 23, hours=number % 5)
    total = sum(_money(99 if line % 4 else 199) * (line % 3 + 1) for line in _lines(number))
    state = None if customer % 3 else f"S{customer}"
    return (number, customer + 1, when, CITIES[customer], state, COUNTRIES[customer], total)


def _lines(invoice: int) -> range:
    return range(invoice * 3, invoice * 3 + invoice % 4 + 1)


TABLES: dict[str, Made] = {
    "Artist": Made(
        _columns("ArtistId:int Name:text"),
        tuple((number + 1, name) for number, name in enumerate(ARTISTS)),
    ),
    "Album": Made(
        _columns("AlbumId:int Title:text ArtistId:int"),
        tuple((n, f"Album {chr(64 + n)}", n % 6 + 1) for n in range(1, 11)),
    ),
    "Genre": Made(
        _columns("GenreId:int Name:text"), tuple((n + 1, name) for n, name in enumerate(GENRES))
    ),
    "MediaType": Made(
        _columns("MediaTypeId:int Name:text"),
        ((1, "MPEG audio file"), (2, "AAC audio file"), (3, "Purchased AAC")),
    ),
    "Track": Made(
        _columns(
            "TrackId:int Name:text AlbumId:int MediaTypeId:int GenreId:int Composer:text "
            "Milliseconds:int Bytes:int UnitPrice:money"
        ),
        tuple(_track(number) for number in range(1, 41)),
    ),
    "Employee": Made(
        _columns(
            "EmployeeId:int LastName:text FirstName:text Title:text ReportsTo:int "
            "BirthDate:date HireDate:date City:text Country:text"
        ),
        tuple(
            (
                *(n, LAST[n - 1], FIRST[n - 1], "Manager" if n < 4 else "Agent"),
                *(None if n == 1 else n // 2, date(1960 + n * 3, n, 28 - n)),
                *(date(2002 + n % 3, 12 - n, n + 3), CITIES[n - 1], "Canada"),
            )
            for n in range(1, 9)
        ),
    ),
    "Customer": Made(
        _columns(
            "CustomerId:int FirstName:text LastName:text Company:text City:text State:text "
            "Country:text Email:text SupportRepId:int"
        ),
        tuple(
            (
                *(n + 1, FIRST[n], LAST[n], None if n % 2 else f"Company {n}", CITIES[n]),
                *(None if n % 3 else f"S{n}", COUNTRIES[n], f"user{n}@example{n % 3}.com"),
                n % 3 + 3,
            )
            for n in range(8)
        ),
    ),
    "Invoice": Made(
        _columns(
            "InvoiceId:int CustomerId:int InvoiceDate:timestamp BillingCity:text "
            "BillingState:text BillingCountry:text Total:money"
        ),
        tuple(_invoice(number) for number in range(1, 33)),
    ),
    "InvoiceLine": Made(
        _columns("InvoiceLineId:int InvoiceId:int TrackId:int UnitPrice:money Quantity:int"),
        tuple(
            (
                invoice * 10 + i,
                invoice,
                line % 40 + 1,
                _money(99 if line % 4 else 199),
                line % 3 + 1,
            )
            for invoice in range(1, 33)
            for i, line in enumerate(_lines(invoice))
        ),
    ),
    "Playlist": Made(
        _columns("PlaylistId:int Name:text"),
        ((1, "Music"), (2, "Movies"), (3, "90’s Music"), (4, None)),
    ),
    "PlaylistTrack": Made(
        _columns("PlaylistId:int TrackId:int"),
        tuple((n % 3 + 1, n * 2 % 40 + 1) for n in range(25)),
    ),
    "Event": Made(
        _columns("EventId:int Payload:json At:timestamp"),
        tuple(
            (
                n,
                json.dumps(
                    {
                        "kind": ("play", "buy", "skip")[n % 3],
                        "user": {"id": n % 4, "name": FIRST[n % 8]},
                        "tags": [f"t{i}" for i in range(n % 3)],
                        "amount": n * 1.5,
                    },
                    ensure_ascii=False,
                ),
                START + timedelta(hours=n * 7),
            )
            for n in range(1, 13)
        ),
    ),
    "订单 明细": Made(
        _columns("编号:int 产品_名称:text 数量:int Order:text"),
        ((1, "茶叶", 3, "a"), (2, "咖啡", 5, "b"), (3, "茶叶", None, "c")),
    ),
}

_TYPES: dict[str, dict[str, str]] = {
    "sqlite": {
        "int": "INTEGER",
        "text": "TEXT",
        "money": "NUMERIC(10,2)",
        "timestamp": "DATETIME",
        "date": "DATE",
        "json": "TEXT",
    },
    "duckdb": {
        "int": "INTEGER",
        "text": "VARCHAR",
        "money": "DECIMAL(10,2)",
        "timestamp": "TIMESTAMP",
        "date": "DATE",
        "json": "JSON",
    },
    "postgres": {
        "int": "integer",
        "text": "text",
        "money": "numeric(10,2)",
        "timestamp": "timestamp",
        "date": "date",
        "json": "jsonb",
    },
    "mysql": {
        "int": "INT",
        "text": "VARCHAR(200)",
        "money": "DECIMAL(10,2)",
        "timestamp": "DATETIME",
        "date": "DATE",
        "json": "JSON",
    },
}


def catalogue(dialect: str, *, without: tuple[str, ...] = ()) -> Catalogue:
    """What the database holds; `without` leaves out tables, or columns as `Table.Column`."""
    types = _TYPES[dialect]
    tables = tuple(
        Table(
            name=name,
            columns=tuple(
                Column(column, types[kind])
                for column, kind in made.columns
                if f"{name}.{column}" not in without
            ),
            schema=made.schema,
        )
        for name, made in TABLES.items()
        if name not in without
    )
    return Catalogue("chinook", dialect, tables, "hash", datetime(2026, 1, 1, tzinfo=UTC))


def statements(dialect: str) -> list[tuple[str, list[Row]]]:
    """What makes the database: each CREATE, and INSERTs with `?` or `%s` for their rows."""
    mark = "%s" if dialect in {"postgres", "mysql"} else "?"
    quote = "`" if dialect == "mysql" else '"'
    made: list[tuple[str, list[Row]]] = []
    for name, table in TABLES.items():
        columns = ", ".join(
            f"{quote}{column}{quote} {_TYPES[dialect][kind]}" for column, kind in table.columns
        )
        made.append((f"CREATE TABLE {quote}{name}{quote} ({columns})", []))
        marks = ", ".join([mark] * len(table.columns))
        rows = [tuple(_cell(cell, dialect) for cell in row) for row in table.rows]
        made.append((f"INSERT INTO {quote}{name}{quote} VALUES ({marks})", rows))
    return made


def _cell(cell: Any, dialect: str) -> Any:  # as above: what the driver takes
    if dialect != "sqlite":
        return cell
    if isinstance(cell, Decimal):
        return float(cell)
    return str(cell) if isinstance(cell, date | datetime) else cell
