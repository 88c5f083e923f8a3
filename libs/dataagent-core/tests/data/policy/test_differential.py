"""A query under policy equals the query without one on a copy that lacks what is forbidden.

Data, policies and queries are made from seeds. What a policy means is said a second time here, in
Python over rows, to make the copy; the copy's tables have the same names, so the very same text
runs on it. Order counts where the query orders by all its columns.
"""

from __future__ import annotations

import hashlib
import hmac
import random
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import pytest

from dataagent_core.data.policy import PolicySet, compile_in, policies_from_dict, visible_catalogue
from dataagent_core.data.sql import ParsedStatement, render
from dataagent_core.data.types import Catalogue, Column, Reader, Table

BLOCKS = 5
SEEDS = 5  # a block
QUERIES = 40  # a seed; 1,000 together on each engine
ENGINES = ("sqlite", "duckdb", "postgres")
CANARY = "CANARY-7f3a"
MASK_KEY = bytes(range(32))
READER = Reader(
    user_id="ana",
    role="analyst",
    tenant_id="acme",
    attributes={"region": "EU", "regions": ["EU", "US"], "level": 2, "nothing": []},
)
Row = dict[str, Any]
Connect = Callable[[str, Path], AbstractContextManager[Any]]
Ask = Callable[[str, Catalogue], tuple[str, bool]]
Keep = Callable[[Row], bool]


class Connection(Protocol):
    """What the three drivers have in common."""

    def execute(self, query: Any, /) -> Any: ...


SHAPES: dict[str, dict[str, str]] = {
    "customers": {
        "id": "INTEGER",
        "name": "TEXT",
        "region": "TEXT",
        "level": "INTEGER",
        "note": "TEXT",
    },
    "invoices": {
        "id": "INTEGER",
        "customer_id": "INTEGER",
        "total": "INTEGER",
        "status": "TEXT",
        "note": "TEXT",
    },
    "staff": {
        "id": "INTEGER",
        "boss_id": "INTEGER",
        "region": "TEXT",
        "pay": "INTEGER",
        "note": "TEXT",
    },
    "labels": {"id": "INTEGER", "label": "TEXT"},
}
FILTERS: dict[str, list[tuple[str, Keep]]] = {
    "customers": [
        ("region = :user.region", lambda row: row["region"] == "EU"),
        ("region IN :user.regions", lambda row: row["region"] in ("EU", "US")),
        ("level <= :user.level", lambda row: row["level"] is not None and row["level"] <= 2),
        (
            "NOT (region = 'US' OR level IS NULL)",
            lambda row: (
                row["level"] is not None and row["region"] is not None and row["region"] != "US"
            ),
        ),
        ("region = :user.missing OR level = 1", lambda row: False),
        ("NOT region IN :user.nothing", lambda row: False),
    ],
    "invoices": [
        (
            "status <> 'void' AND total > 5",
            lambda row: (
                row["status"] is not None
                and row["status"] != "void"
                and row["total"] is not None
                and row["total"] > 5
            ),
        ),
        ("LOWER(status) = 'paid'", lambda row: (row["status"] or "").lower() == "paid"),
        (
            "total BETWEEN 3 AND 40",
            lambda row: row["total"] is not None and 3 <= row["total"] <= 40,
        ),
    ],
    "staff": [
        ("COALESCE(region, 'EU') = :user.region", lambda row: row["region"] in (None, "EU")),
        ("id % 2 = 1", lambda row: row["id"] % 2 == 1),
        ("boss_id IS NOT NULL", lambda row: row["boss_id"] is not None),
    ],
    "labels": [("label LIKE 'a%'", lambda row: (row["label"] or "").startswith("a"))],
}


@dataclass(frozen=True)
class World:
    """Tables as they are, the policy on them, and what it leaves of them."""

    rows: dict[str, list[Row]]
    policies: PolicySet
    copied: dict[str, list[Row]]


def _data(chance: random.Random) -> dict[str, list[Row]]:
    def some(values: Sequence[Any]) -> Any:
        return chance.choice([*values, None])

    def note(number: int) -> str | None:
        return some([f"note number {number}", "short", "same note here"])

    return {
        "customers": [
            {
                "id": number,
                "name": some(["Ana Alvarez", "Bo", "Cho Chang", "Ana"]),
                "region": some(["EU", "US", "CN"]),
                "level": some([1, 2, 3]),
                "note": note(number),
            }
            for number in range(1, 16)
        ],
        "invoices": [
            {
                "id": number,
                "customer_id": chance.randint(1, 17),
                "total": some(range(50)),
                "status": some(["paid", "PAID", "open", "void"]),
                "note": note(number),
            }
            for number in range(1, 31)
        ],
        "staff": [_person(number, some, note(number)) for number in range(1, 11)],
        "labels": [
            {"id": number, "label": some(["alpha", "apple", "beta"])} for number in range(1, 7)
        ],
    }


def _person(number: int, some: Callable[[Sequence[Any]], Any], note: str | None) -> Row:
    return {
        "id": number,
        "boss_id": some(range(1, number + 1)),
        "region": some(["EU", "US"]),
        "pay": some(range(10, 99)),
        "note": note,
    }


def _rule(table: str, chance: random.Random) -> tuple[dict[str, Any], list[Keep], dict[str, str]]:
    """A random rule, as data; with its filter and masks again for the copy."""
    rule: dict[str, Any] = {}
    keeps: list[Keep] = []
    if chance.random() < 0.6:
        text, keep = chance.choice(FILTERS[table])
        rule["row_filter"] = text
        keeps.append(keep)
    columns = [name for name in SHAPES[table] if not name.endswith("id")]
    if chance.random() < 0.4:
        rule["deny_columns"] = [chance.choice(columns)]
    masks: dict[str, str] = {}
    if chance.random() < 0.5:
        masks[chance.choice(columns)] = chance.choice(["null", "hash", "partial", "(hidden)"])
    rule["masks"] = masks
    return rule, keeps, masks


def _world(seed: int, engine: str) -> World:
    chance = random.Random(seed)
    rows = _data(chance)
    policies: list[dict[str, Any]] = []
    keeps: dict[str, list[Keep]] = {table: [] for table in SHAPES}
    masks: dict[str, dict[str, str]] = {table: {} for table in SHAPES}
    denied: dict[str, set[str]] = {table: set() for table in SHAPES}
    for number, subject in enumerate([{"roles": ["analyst"]}, {"users": ["ana"]}]):
        tables: dict[str, Any] = {}
        for table in SHAPES:
            if chance.random() < 0.6:
                tables[table], more, masked = _rule(table, chance)
                keeps[table] += more
                denied[table].update(tables[table].get("deny_columns", ()))
                for column, mask in masked.items():
                    masks[table][column] = _stricter(mask, masks[table].get(column))
        if tables:
            policies.append({"name": f"p{number}", "subjects": subject, "tables": tables})
    policies.append(  # speaks to nobody here
        {
            "name": "others",
            "subjects": {"users": ["bo"], "tenants": ["other"]},
            "tables": {"*": {"grant": False}},
        }
    )
    _plant(rows, keeps, masks, denied)
    copied = {
        table: [
            {
                column: _mask(value, masks[table].get(column), engine)
                for column, value in row.items()
                if column not in denied[table]
            }
            for row in rows[table]
            if all(keep(row) for keep in keeps[table])
        ]
        for table in SHAPES
    }
    parsed = replace(policies_from_dict({"policies": policies}), mask_key=MASK_KEY)
    return World(rows, parsed, copied)


def _stricter(mask: str, other: str | None) -> str:
    order = ["partial", "hash", "(hidden)", "null"]
    return mask if other is None else max(mask, other, key=order.index)


def _mask(value: Any, mask: str | None, engine: str) -> Any:
    if mask is None or (mask == "partial" and value is None):
        return value
    text = str(value)
    if mask == "partial":
        return f"***{text[-4:]}" if len(text) >= 8 else "***"
    if mask == "hash" and value is not None and engine != "sqlite":  # which has no such function
        return hmac.new(MASK_KEY, text.encode(), hashlib.sha256).hexdigest()
    return mask if mask == "(hidden)" else None


def _plant(
    rows: dict[str, list[Row]],
    keeps: dict[str, list[Keep]],
    masks: dict[str, dict[str, str]],
    denied: dict[str, set[str]],
) -> None:
    """Put the canary where no answer may find it. No filter reads `note`."""
    for table, each in rows.items():
        for row in each if "note" in SHAPES[table] else ():
            is_hidden = "note" in denied[table] or masks[table].get("note", "partial") != "partial"
            if is_hidden or not all(keep(row) for keep in keeps[table]):
                row["note"] = f"{CANARY} {row['id']}"


@pytest.fixture(params=ENGINES)
def pair(
    request: pytest.FixtureRequest, tmp_path: Path, connect: Connect
) -> Generator[tuple[str, Connection, Connection]]:
    """An engine's name, and two empty databases of it: the whole one and the copy."""
    kind: str = request.param
    with connect(kind, tmp_path) as whole, connect(kind, tmp_path) as copy:
        yield kind, whole, copy


def _fill(connection: Connection, tables: dict[str, list[Row]], known: Catalogue) -> None:
    for table in known.tables:
        connection.execute(f"DROP TABLE IF EXISTS {table.name}")
        columns = ", ".join(f"{column.name} {column.type}" for column in table.columns)
        connection.execute(f"CREATE TABLE {table.name} ({columns})")
        values = ", ".join(
            f"({', '.join(_sql(row[column.name]) for column in table.columns)})"
            for row in tables[table.name]
        )
        if values:
            connection.execute(f"INSERT INTO {table.name} VALUES {values}")


def _sql(value: Any) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int) else f"'{value}'"


def _catalogue(engine: str) -> Catalogue:
    return Catalogue(
        source_id="s",
        dialect=engine,
        tables=tuple(
            Table(name, tuple(Column(column, kind) for column, kind in columns.items()))
            for name, columns in SHAPES.items()
        ),
        hash="h",
        refreshed_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def _compared(rows: list[Any], *, is_ordered: bool) -> object:
    plain = [tuple(str(value) for value in row) for row in rows]
    return plain if is_ordered else Counter(plain)


@pytest.mark.parametrize(
    "block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, BLOCKS))]
)
def test_a_query_under_policy_equals_the_query_on_a_copy_without_what_is_forbidden(
    pair: tuple[str, Connection, Connection],
    prepare: Callable[[str, Catalogue], ParsedStatement],
    ask: Ask,
    block: int,
) -> None:
    engine, whole, copy = pair
    catalogue = _catalogue(engine)
    answered = 0
    for seed in range(block * SEEDS, (block + 1) * SEEDS):
        world = _world(seed, engine)
        known = visible_catalogue(catalogue, world.policies, READER)
        _fill(whole, world.rows, catalogue)
        _fill(copy, world.copied, known)
        for number in range(QUERIES):
            sql, is_ordered = ask(f"{seed}/{number}", known)
            expected = copy.execute(sql).fetchall()
            compiled = compile_in(prepare(sql, known), world.policies, READER, catalogue)
            executed = render(compiled.statement)
            got = whole.execute(executed).fetchall()
            assert _compared(got, is_ordered=is_ordered) == _compared(
                expected, is_ordered=is_ordered
            ), f"seed {seed}, query {number}\n{sql}\n{executed}\n{world.policies}"
            assert CANARY not in f"{got} {compiled.sentences}"
            answered += bool(expected)
    assert (
        answered > SEEDS * QUERIES / 2
    )  # a filter may let no row through, but most queries answer
