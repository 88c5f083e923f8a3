"""No way of writing a query gives a hidden column, a value without its mask, or a filtered row.

Each statement runs under a policy, and again on a copy that lacks what the policy keeps away: the
rows are the same, or it is refused. Whatever an engine says (rows, names of columns, errors),
nothing of what is kept away is in it, nor of the policy itself.
"""

from __future__ import annotations

import hmac
import sqlite3
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pymysql
import pytest

from dataagent_core.data.policy import compile_in, policies_from_dict, visible_catalogue
from dataagent_core.data.sql import ParsedStatement, render
from dataagent_core.data.types import Catalogue, Column, Reader, Table
from dataagent_core.errors import DataDenied, QueryRefused, UnknownName

Connect = Callable[[str, Path], AbstractContextManager[Any]]
Prepare = Callable[[str, Catalogue], ParsedStatement]

ENGINES = ("sqlite", "duckdb", "postgres", "mysql")
READER = Reader("ana")
KEY = bytes(range(32))
KEPT_AWAY = ("KEPT", "91827", "POLICY", "5c5c5c5c", "36363636")
"""Parts of values, of the filter, and of what a hash is keyed with."""
POLICIES = replace(
    policies_from_dict(
        {
            "policies": [
                {
                    "name": "p",
                    "subjects": "everyone",
                    "tables": {
                        "people": {
                            "row_filter": "region = 'EU' AND name <> 'POLICY'",
                            "deny_columns": ["secret"],
                            "masks": {"email": "null", "phone": "last4", "token": "hash"},
                        },
                        "badges": {"deny_columns": ["badge"]},
                    },
                }
            ]
        }
    ),
    mask_key=KEY,
)
_TEXT = "VARCHAR(30)"
PEOPLE = {
    "token": _TEXT,
    "id": "INTEGER",
    "region": _TEXT,
    "name": _TEXT,
    "email": _TEXT,
    "phone": _TEXT,
    "secret": _TEXT,
}
GUESSES = {"secret": _TEXT, "email": _TEXT, "n": "INTEGER"}
SHOWN = tuple(name for name in PEOPLE if name != "secret")


def _people(kind: str) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The rows as they are, the hidden one first, and what is left of them under the policy."""
    whole: list[tuple[Any, ...]] = [
        (f"KEPT-t{n}", n, region, name, f"KEPT-m{n}", f"KEPT-000{n}", f"KEPT-s{n}")
        for n, region, name in ((0, "US", "KEPT-Cy"), (1, "EU", "Ana"), (2, "EU", "Bo"))
    ]
    left = [
        (_hash(token) if kind != "sqlite" else None, n, region, name, None, f"***000{n}")
        for token, n, region, name, *_ in whole[1:]
    ]
    return whole, left


def _hash(value: str) -> str:
    return hmac.new(KEY, value.encode(), "sha256").hexdigest()


SAME = """
* | SELECT * FROM people
* | SELECT p.* FROM people AS p
* | SELECT p.*, g.n FROM people AS p, guesses AS g
* | SELECT n FROM people NATURAL JOIN guesses
* | SELECT n FROM guesses NATURAL LEFT JOIN people
* | SELECT name FROM people JOIN badges ON holder = id
* | SELECT n FROM people JOIN guesses USING (email)
* | SELECT n FROM people AS p JOIN guesses AS g ON p.email = g.email
* | SELECT p.name, q.name, q.email FROM people AS p LEFT JOIN people AS q ON q.id = p.id + 1
* | SELECT p.name, q.name FROM people AS p RIGHT JOIN people AS q ON q.id = p.id + 1
dp | SELECT p.name, q.phone FROM people AS p FULL JOIN people AS q ON q.id = p.id + 1
dp | SELECT * FROM people AS x(a, b, c, d, e)
dp | SELECT x.a, x.e, x.f FROM people AS x(a, b, c, d, e, f)
dp | SELECT x.secret FROM people AS x(secret, b)
* | SELECT name AS secret FROM people ORDER BY secret
* | SELECT name, email FROM people ORDER BY email, phone
d | SELECT region, email, COUNT(*) FROM people GROUP BY ALL
d | SELECT * FROM people ORDER BY ALL
d | SELECT * EXCLUDE (id) FROM people
d | SELECT * REPLACE (UPPER(name) AS name) FROM people
d | SELECT * REPLACE ((SELECT MAX(token) FROM people) AS name) FROM people
d | SELECT * RENAME (email AS secret) FROM people
d | FROM people
d | FROM people SELECT name, email
d | SELECT UNNEST(people) FROM people
d | SELECT ARG_MAX(people, id) FROM people
d | SELECT ANY_VALUE(phone) FROM people
d | SELECT name FROM people SEMI JOIN guesses USING (email)
d | SELECT name, n FROM people POSITIONAL JOIN (SELECT n FROM guesses) AS g
d | SELECT * FROM people UNION ALL BY NAME SELECT * FROM people
d | SELECT x FROM (SELECT (SELECT COUNT(*) FROM people) AS n) AS x
dp | TABLE people
d | SELECT people FROM people
d | SELECT p FROM people AS p
p | SELECT people::text FROM people
dp | SELECT TO_JSON(people) FROM people
dp | SELECT TO_JSON(p) FROM people AS p
p | SELECT ROW_TO_JSON(p) FROM people AS p
p | SELECT ROW_TO_JSON(people.*) FROM people
p | SELECT JSONB_AGG(p ORDER BY id) FROM people AS p
p | SELECT TO_JSONB(p) ->> 'secret' FROM people AS p
p | SELECT p::text FROM people AS p
p | SELECT CONCAT(p) FROM people AS p
p | SELECT (p).name FROM people AS p
p | SELECT DISTINCT ON (name) name, email FROM people
p | SELECT e.* FROM people AS p, JSONB_EACH_TEXT(TO_JSONB(p)) AS e
p | SELECT name, phone FROM people AS p ORDER BY p
dp | SELECT l.* FROM guesses AS g, LATERAL (SELECT * FROM people AS p WHERE p.id = g.n) AS l
dp | SELECT l.x FROM people AS p CROSS JOIN LATERAL (SELECT p.email AS x) AS l
* | SELECT (SELECT q.email FROM people AS q WHERE q.id = p.id) FROM people AS p
* | SELECT (SELECT MAX(q.token) FROM people AS q), 1 FROM guesses
* | SELECT * FROM (SELECT (SELECT MAX(token) FROM people)) AS x
* | SELECT (SELECT MAX(token) FROM people) IS NULL, COUNT(*) FROM people
* | SELECT CASE WHEN EXISTS (SELECT 1 FROM people WHERE region = 'US') THEN 1 ELSE 0 END
* | SELECT name FROM people AS p WHERE EXISTS (SELECT 1 FROM guesses WHERE email = p.email)
* | SELECT n FROM guesses AS g WHERE g.email IN (SELECT email FROM people)
* | SELECT n FROM guesses WHERE secret IN (SELECT secret FROM people)
* | SELECT n, (SELECT COUNT(*) FROM people WHERE id = n) FROM guesses
* | WITH RECURSIVE people AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM people WHERE id < 3) \
SELECT * FROM people
* | WITH RECURSIVE x AS (SELECT id, phone FROM people UNION ALL SELECT p.id, p.phone \
FROM people AS p JOIN x ON x.id = p.id + 1) SELECT * FROM x
dpm | WITH people AS (SELECT * FROM people) SELECT * FROM people
* | WITH people AS (SELECT n AS secret FROM guesses) SELECT secret FROM people
* | WITH a AS (WITH people AS (SELECT n FROM guesses) SELECT * FROM people) \
SELECT a.n, p.phone FROM a, people AS p
p | WITH people AS (SELECT id FROM people) TABLE people
* | SELECT name, email FROM people UNION ALL SELECT name, phone FROM people
* | SELECT * FROM people UNION SELECT * FROM people
* | SELECT email FROM guesses INTERSECT SELECT email FROM people
* | SELECT id FROM people EXCEPT SELECT n FROM guesses
* | SELECT COUNT(*), MAX(name), MIN(phone), MAX(email) FROM people
* | SELECT name, FIRST_VALUE(phone) OVER (ORDER BY id) FROM people
* | SELECT name FROM people WHERE email = 'KEPT-m1' OR token = 'KEPT-t1'
* | SELECT name FROM people WHERE region = 'US' OR 1 = 1
* | SELECT * FROM badges
p | SELECT public.people.email FROM public.people
"""
REFUSED = """
* | SELECT secret FROM people
* | SELECT p.secret FROM people AS p
* | SELECT COALESCE(email, secret) FROM people
* | SELECT n FROM people JOIN guesses USING (secret)
* | SELECT n FROM people AS p JOIN guesses AS g ON p.secret = g.secret
* | SELECT x.g FROM people AS x(a, b, c, d, e, f, g)
* | SELECT name FROM people ORDER BY secret
* | SELECT name FROM people ORDER BY people.secret
* | SELECT name FROM people WHERE secret = 'x'
* | SELECT COUNT(*) FROM people GROUP BY secret
* | SELECT COUNT(*) FROM people HAVING MAX(secret) > 'a'
* | SELECT name, ROW_NUMBER() OVER (ORDER BY secret) FROM people
* | SELECT name, SUM(id) OVER w FROM people WINDOW w AS (ORDER BY secret)
* | SELECT (SELECT secret FROM people AS q WHERE q.id = p.id) FROM people AS p
* | SELECT (SELECT p.secret) FROM people AS p
* | SELECT name FROM people AS p WHERE EXISTS (SELECT 1 FROM guesses AS g WHERE g.n = p.secret)
* | SELECT name FROM people UNION SELECT secret FROM people
* | WITH people AS (SELECT secret FROM people) SELECT * FROM people
* | WITH RECURSIVE x AS (SELECT secret FROM people UNION ALL SELECT secret FROM x) SELECT * FROM x
* | SELECT holder FROM badges ORDER BY badge
sm | SELECT people FROM people
d | SELECT COLUMNS(*) FROM people
d | SELECT COLUMNS('sec.*') FROM people
d | SELECT * EXCLUDE (secret) FROM people
d | SELECT * REPLACE (secret AS name) FROM people
d | SELECT * LIKE 's%' FROM people
d | FROM people SELECT secret
d | SELECT #7 FROM people
d | SELECT * FROM people UNPIVOT (v FOR k IN (name, secret))
d | PIVOT people ON name USING MIN(secret)
d | SUMMARIZE people
d | SELECT * FROM QUERY_TABLE('people')
d | SELECT * FROM QUERY('SELECT * FROM people')
dp | SELECT l.x FROM people AS p, LATERAL (SELECT p.secret AS x) AS l
p | SELECT DISTINCT ON (secret) name FROM people
p | SELECT SECRET(p) FROM people AS p
p | SELECT (p).* FROM people AS p
p | SELECT ctid FROM people
p | SELECT people.ctid FROM people
p | SELECT xmin, tableoid FROM people
p | SELECT (NULL::people).*
p | SELECT * FROM JSON_POPULATE_RECORD(NULL::people, '{}')
p | SELECT QUERY_TO_XML('SELECT * FROM people', true, false, '')
p | SELECT most_common_vals FROM pg_stats
p | SELECT * FROM ONLY people
s | SELECT 1 WHERE 'x' IN people
s | SELECT * FROM pragma_table_info('people')
m | SELECT _rowid FROM badges
m | SELECT badges._rowid FROM badges
m | SELECT * FROM people PARTITION (p0)
m | SELECT * FROM people FOR SYSTEM_TIME ALL
"""
ANYHOW = """
p | SELECT people FROM people
p | SELECT ARRAY_AGG(p) FROM people AS p
s | SELECT rowid FROM badges
sd | SELECT b.rowid FROM badges AS b
s | SELECT _rowid_ FROM badges
s | SELECT oid FROM badges
s | SELECT holder FROM badges WHERE rowid = 918272
s | SELECT (SELECT rowid) FROM badges
s | SELECT name FROM people WHERE "secret" = 'KEPT-s1'
d | SELECT rowid FROM badges
d | SELECT people['secret'] FROM people
d | SELECT STRUCT_EXTRACT(people, 'secret') FROM people
d | SELECT p.people.secret FROM (SELECT people FROM people) AS p
d | SELECT x FROM (SELECT (SELECT MAX(token) FROM people)) AS x
d | SELECT TO_JSON(x) FROM (SELECT EXISTS (SELECT 1 FROM people)) AS x
d | SELECT CAST(name AS INTEGER) FROM people
p | SELECT (p).secret FROM people AS p
p | SELECT CAST(name AS INTEGER) FROM people
p | SELECT MAX(p) FROM people AS p
* | SELECT name FROM people ORDER BY 7
"""
"""An engine may answer these or fail: it has nothing to tell."""


def _cases(*tables: str) -> list[Any]:
    lines = [line for table in tables for line in table.strip().split("\n")]
    return [
        pytest.param(kind, sql, id=f"{kind}: {sql}")
        for kinds, sql in (line.split(" | ", 1) for line in lines)
        for kind in ENGINES
        if kinds == "*" or kind[0] in kinds
    ]


@dataclass(frozen=True)
class Databases:
    """One with everything, and the copy that lacks what the policy keeps away."""

    kind: str
    whole: Any
    copy: Any

    def catalogue(self) -> Catalogue:
        tables = (
            Table("people", _columns(PEOPLE), primary_key=("id",)),
            Table("badges", _columns({"badge": "INTEGER", "holder": "INTEGER"})),
            Table("guesses", _columns(GUESSES)),
        )
        return Catalogue("s", self.kind, tables, "h", datetime(2026, 1, 1, tzinfo=UTC))

    def compiled(self, sql: str, prepare: Prepare) -> str:
        known = visible_catalogue(self.catalogue(), POLICIES, READER)
        return render(compile_in(prepare(sql, known), POLICIES, READER, self.catalogue()).statement)


def _columns(named: dict[str, str]) -> tuple[Column, ...]:
    return tuple(Column(name, type_) for name, type_ in named.items())


def _answer(connection: Any, sql: str) -> tuple[list[tuple[Any, ...]], list[str]]:
    with closing(connection.cursor()) as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall()), [str(one[0]) for one in cursor.description]


def _filled(
    connection: Any, tables: dict[str, tuple[dict[str, str], list[tuple[Any, ...]]]]
) -> None:
    for name, (columns, rows) in tables.items():
        key = {"id": " PRIMARY KEY", "badge": " PRIMARY KEY"}
        listed = ", ".join(f"{one} {type_}{key.get(one, '')}" for one, type_ in columns.items())
        with closing(connection.cursor()) as cursor:
            cursor.execute(f"CREATE TABLE {name} ({listed})")
            for row in rows:
                cells = ", ".join("NULL" if cell is None else repr(cell) for cell in row)
                cursor.execute(f"INSERT INTO {name} VALUES ({cells})")
    if not isinstance(connection, duckdb.DuckDBPyConnection):
        connection.commit()


@pytest.fixture(scope="module")
def databases(
    connect: Connect, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Callable[[str], Databases]]:
    """Those of a kind, made when they are first asked for."""
    with ExitStack() as stack:
        made: dict[str, Databases] = {}

        def of(kind: str) -> Databases:
            if kind not in made:
                folder = tmp_path_factory.mktemp(kind)
                whole, copy = (stack.enter_context(connect(kind, folder)) for _ in range(2))
                rows, left = _people(kind)
                guesses = [("KEPT-s1", "KEPT-m1", 1), ("x", "y", 2)]
                badges = {"badge": "INTEGER", "holder": "INTEGER"}
                shown = {name: PEOPLE[name] for name in SHOWN}
                _filled(
                    whole,
                    {
                        "people": (PEOPLE, rows),
                        "badges": (badges, [(918271, 1), (918272, 2)]),
                        "guesses": (GUESSES, guesses),
                    },
                )
                _filled(
                    copy,
                    {
                        "people": (shown | {"token": "VARCHAR(64)"}, left),
                        "badges": ({"holder": "INTEGER"}, [(1,), (2,)]),
                        "guesses": (GUESSES, guesses),
                    },
                )
                made[kind] = Databases(kind, whole, copy)
            return made[kind]

        yield of


def _kept_away(*shown: object) -> list[str]:
    return [word for word in KEPT_AWAY if word in repr(shown)]


@pytest.mark.parametrize(("kind", "sql"), _cases(SAME))
def test_a_query_sees_what_a_copy_without_the_rest_would_give(
    databases: Callable[[str], Databases], prepare: Prepare, kind: str, sql: str
) -> None:
    both = databases(kind)

    rows, names = _answer(both.whole, both.compiled(sql, prepare))

    assert _kept_away(rows, names) == []
    assert Counter(map(repr, rows)) == Counter(map(repr, _answer(both.copy, sql)[0]))


@pytest.mark.parametrize(("kind", "sql"), _cases(REFUSED))
def test_a_query_that_names_what_is_kept_away_is_refused(
    databases: Callable[[str], Databases], prepare: Prepare, kind: str, sql: str
) -> None:
    with pytest.raises((UnknownName, QueryRefused, DataDenied)) as refused:
        databases(kind).compiled(sql, prepare)

    assert _kept_away(refused.value) == []


@pytest.mark.parametrize(("kind", "sql"), _cases(ANYHOW))
def test_what_an_engine_says_of_a_query_tells_nothing(
    databases: Callable[[str], Databases], prepare: Prepare, kind: str, sql: str
) -> None:
    both = databases(kind)
    try:
        shown: object = _answer(both.whole, both.compiled(sql, prepare))
    except (duckdb.Error, psycopg.Error, pymysql.Error, sqlite3.Error) as error:
        shown = str(error).partition("LINE 1")[0]  # what is behind is not shown

    assert _kept_away(shown) == []
