"""What is sent means what was written: the author's own tokens, but for names that must change."""

from __future__ import annotations

import pytest

from dataagent_core.data.sql import parse
from dataagent_core.errors import QueryRefused

from .engines import DIALECTS, Engine, guarded

SAME: list[tuple[str, str]] = [
    *((dialect, "SELECT 1e3+1e3 AS v, 2E-1-1 AS w") for dialect in DIALECTS),
    *((dialect, "SELECT 1e3 - -1 AS v, 7 - 2*3 AS w") for dialect in DIALECTS),
    *((dialect, "SELECT 1 AS v /* one */ -- two\n, 2 AS w") for dialect in DIALECTS),
    *((dialect, "SELECT 'a'\n'b' AS v") for dialect in ("postgres", "mysql")),
    ("postgres", "SELECT TIMESTAMP '2024-05-06 07:08:09'::date AS v"),
    ("duckdb", "SELECT TIMESTAMP '2024-05-06 07:08:09'::date AS v"),
    ("postgres", "SELECT DATE '2024-01-01' + INTERVAL '1 day 12:00:00' AS v"),
    ("postgres", "SELECT DATE '2024-03-31' + INTERVAL '1 month ago' AS v"),
    ("postgres", "SELECT INTERVAL '1-2' YEAR TO MONTH AS v, INTERVAL '1 2:03' DAY TO MINUTE AS w"),
    ("duckdb", "SELECT DATE '2024-01-01' + INTERVAL '1 day 12 hours' AS v"),
    ("mysql", "SELECT DATE '2024-01-01' + INTERVAL '1 12:00' DAY_MINUTE AS v"),
    ("mysql", "SELECT FORMAT(1234.567, 2) AS v, 5 DIV 2 AS w"),
    ("mysql", "SELECT 'a' 'b' AS v"),
    ("mysql", "SELECT 5--1 AS v"),
    ("duckdb", "SELECT `Name` AS v FROM `Genre` ORDER BY `GenreId` LIMIT 2"),
    ("duckdb", "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) AS v FROM range(5) t(x)"),
    ("duckdb", "SELECT {a: 1, b: 'x'} AS v, [1, 2, 3][2:-1] AS w"),
    ("sqlite", "SELECT Name AS v FROM Genre ORDER BY GenreId LIMIT 1+1 OFFSET 2-1"),
    ("postgres", 'SELECT "Name" AS v FROM "Genre" ORDER BY "GenreId" LIMIT 5 * 2 - 8'),
    ("sqlite", "SELECT rowid AS v, Name AS w FROM Genre ORDER BY rowid LIMIT 2"),
    ("sqlite", "SELECT 7 << 2 AS v, 1 <> 2 AS w"),
    *((dialect, "SELECT count( *  )  FROM Genre") for dialect in ("sqlite", "mysql")),
    *((dialect, "SELECT (SELECT max(Name) FROM Genre), 1") for dialect in ("sqlite", "mysql")),
    *((dialect, "SELECT 1 /* one */ + 1, 2*-1, 3=+3") for dialect in ("sqlite", "mysql")),
    ("sqlite", "SELECT 1 + 1, 2 + 2 -- four"),
    ("sqlite", "SELECT * FROM (SELECT ((SELECT count(*) FROM Genre)), 2 FROM Genre LIMIT 1)"),
    ("mysql", "SELECT 5--1, -(1e0-1e0)"),
    *((at, "SELECT g.rowid AS v FROM Genre g ORDER BY g.rowid") for at in ("sqlite", "duckdb")),
    ("sqlite", "WITH Genre AS (SELECT 'x' AS Name) SELECT Name FROM main.Genre"),
    ("duckdb", "WITH Genre AS (SELECT 'x' AS Name) SELECT Name FROM main.Genre"),
    ("postgres", """WITH "Genre" AS (SELECT 'x' AS "Name") SELECT "Name" FROM public."Genre\""""),
    ("postgres", 'SELECT Nr FROM (SELECT Nr FROM (SELECT "GenreId" Nr FROM "Genre") AS a) AS b'),
    ("postgres", "SELECT Nr FROM (SELECT Nr::text FROM (SELECT 1 AS Nr) AS a) AS b"),
    ("sqlite", "SELECT Name FROM Genre UNION SELECT Title AS t FROM Album ORDER BY t"),
    ("postgres", "SELECT v, n FROM generate_series(5, 7) WITH ORDINALITY AS t(v, n)"),
    ("postgres", "SELECT 'a & b'::tsquery AS v, '10.0.0.0/8'::cidr AS w, '$.a'::jsonpath AS x"),
    ("postgres", "SELECT nummultirange(numrange(1, 2), numrange(3, 4)) AS v"),
    ("mysql", "SELECT CHARSET('x') AS v, COLLATION('x') AS w"),
    ("duckdb", "SELECT ARRAY(SELECT x FROM range(3) t(x) ORDER BY x) AS v, TRY(ln(-1)) AS w"),
    ("duckdb", "SELECT 'abc' ^@ 'a' AS v"),
    ("mysql", "SELECT CAST('7' AS SIGNED INT) AS v, CONVERT('8', UNSIGNED INTEGER) AS w"),
    (
        "mysql",
        "SELECT g.Name, count(*) AS n FROM Genre g JOIN Artist a ON a.ArtistId = g.GenreId "
        "GROUP BY Name HAVING Name > 'A' ORDER BY Name",
    ),
    ("postgres", "SELECT make_interval(mins => 90) AS v"),
]


@pytest.mark.parametrize(("dialect", "sql"), SAME)
def test_the_engine_answers_as_it_would_to_the_author(
    dialect: str, sql: str, engines: dict[str, Engine]
) -> None:
    as_written = engines[dialect].answer(sql)
    assert as_written.rows
    assert engines[dialect].answer(guarded(sql, dialect)) == as_written


@pytest.mark.parametrize("dialect", DIALECTS)
def test_only_tables_are_spelled_anew(dialect: str) -> None:
    sql = "SELECT  g.Name,count( * )\tN /* each */ FROM Genre g,Track t\n-- both\nWHERE 1"
    quote = "`" if dialect == "mysql" else '"'
    calls = "pg_catalog.count" if dialect == "postgres" else "count"
    known = guarded(sql, dialect).replace(f"{quote}Name{quote}", "Name")  # PostgreSQL's other case
    assert known == (
        f"SELECT  g.Name,{calls}( * )\tN FROM {quote}Genre{quote} g,{quote}Track{quote} t\nWHERE 1"
    )


def test_sqlite_plans_a_join_as_it_would_for_the_author(engines: dict[str, Engine]) -> None:
    """A comma leaves the order of tables to the planner; CROSS JOIN would fix it."""
    sql = (
        "SELECT count(*) FROM Track t, Genre g, Album a "
        "WHERE t.GenreId = g.GenreId AND a.AlbumId = t.AlbumId AND a.AlbumId = 1"
    )
    plan = engines["sqlite"].answer(f"EXPLAIN QUERY PLAN {sql}")
    assert plan == engines["sqlite"].answer(f"EXPLAIN QUERY PLAN {guarded(sql, 'sqlite')}")


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("sqlite", "SELECT 1 {# a template #} + 1"),
        ("sqlite", "SELECT 1 /* a /* b */ + 1 */"),
        ("mysql", "SELECT 1 /* a /* b */ + 1 */"),
        ("postgres", "SELECT EXTRACT(fortnight FROM now())"),
        ("postgres", "SELECT 1 FROM LATERAL_FORCED x SKIP LOCKED"),
    ],
)
def test_what_two_readers_could_read_in_two_ways_is_refused(dialect: str, sql: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        parse(sql, dialect)
    assert (refused.value.details or {})["reason"] == "not_parsable"


def test_a_function_of_another_schema_is_not_called_in_place_of_a_built_in(
    engines: dict[str, Engine],
) -> None:
    postgres = engines["postgres"]
    made = "CREATE FUNCTION public.lower(integer) RETURNS text LANGUAGE sql AS $$ SELECT 'mine' $$"
    postgres.answer(made)
    sql = "SELECT lower(1) AS v"
    assert postgres.answer(sql).rows == ["['mine']"]
    with pytest.raises(Exception, match="does not exist"):
        postgres.answer(guarded(sql, "postgres"))
