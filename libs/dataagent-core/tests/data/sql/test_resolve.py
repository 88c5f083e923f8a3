"""Names: found as the engine finds them, spelled out, or refused with the nearest there are."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlglot import exp

from dataagent_core.data.sql import parse, render, resolve, tables_of
from dataagent_core.data.types import Catalogue, Column, Table
from dataagent_core.errors import QueryRefused, UnknownName

from .chinook import catalogue
from .engines import Engine, engine


def resolved(sql: str, dialect: str = "sqlite", known: Catalogue | None = None) -> str:
    return render(resolve(parse(sql, dialect), known or catalogue(dialect)))


def details_of(sql: str, dialect: str = "sqlite", known: Catalogue | None = None) -> dict[str, Any]:
    with pytest.raises(UnknownName) as caught:
        resolved(sql, dialect, known)
    return dict(caught.value.details or {})


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Generator[Engine]:
    with engine("sqlite", tmp_path_factory.mktemp("sqlite")) as opened:
        yield opened


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[str, Engine]]:
    with ExitStack() as stack:
        yield {
            kind: stack.enter_context(engine(kind, tmp_path_factory.mktemp(kind)))
            for kind in ("postgres", "mysql")
        }


@pytest.mark.parametrize(
    ("sql", "kind", "name", "nearest"),
    [
        ("SELECT * FROM Artst", "table", "Artst", "Artist"),
        ("SELECT Nme FROM Artist", "column", "Nme", "Name"),
        ("SELECT a.Nme FROM Artist a", "column", "Nme", "Name"),
        ("SELECT 1 FROM Artist WHERE Artistid2 = 1", "column", "Artistid2", "ArtistId"),
        ("SELECT x.Name FROM Artist a", "table", "x", None),
        ("SELECT Artist.Name FROM Artist a", "table", "Artist", None),
        ("SELECT Name FROM Artist ORDER BY Nam", "column", "Nam", "Name"),
        ("SELECT count(*) AS n FROM Artist HAVING m > 1", "column", "m", None),
        ("SELECT * FROM Album JOIN Artist USING (ArtstId)", "column", "ArtstId", "ArtistId"),
        ("WITH a AS (SELECT Name FROM Artist) SELECT Title FROM a", "column", "Title", None),
        ("SELECT 1 FROM Artist WHERE EXISTS (SELECT Bogus FROM Album)", "column", "Bogus", None),
        ("SELECT Name FROM Genre UNION SELECT Nme FROM Artist", "column", "Nme", "Name"),
        ("SELECT other.Artist.Name FROM Artist", "table", "other", None),
        ("SELECT * FROM other.Artist", "table", "other.Artist", "Artist"),
    ],
)
def test_an_unknown_name_comes_with_the_nearest(
    sql: str, kind: str, name: str, nearest: str | None
) -> None:
    details = details_of(sql)
    assert (details["kind"], details["name"]) == (kind, name)
    assert nearest is None or details["nearest"][0] == nearest


def test_an_ambiguous_column_names_the_choices() -> None:
    details = details_of("SELECT Name FROM Artist a JOIN Genre g ON a.ArtistId = g.GenreId")
    assert details["nearest"] == ["a.Name", "g.Name"]
    assert details["is_ambiguous"] is True


def test_two_items_of_from_with_one_name_are_refused() -> None:
    assert details_of("SELECT 1 FROM Artist, Artist")["is_ambiguous"] is True


@pytest.mark.parametrize(
    "condition",
    ['Name = "Accept"', 'Name IN ("Accept", "x")', 'Name LIKE "Acc%"', 'lower("A") = ""'],
)
def test_a_text_in_double_quotes_is_a_text_where_sqlite_takes_it_for_one(
    condition: str, sqlite: Engine
) -> None:
    sql = f"SELECT Name FROM Artist WHERE {condition}"
    statement = resolve(parse(sql, "sqlite"), catalogue("sqlite"))
    assert sqlite.answer(render(statement)).rows == sqlite.answer(sql).rows
    assert "was read as a text" in statement.notes[0]


def test_a_word_in_double_quotes_that_is_likely_a_slip_is_refused() -> None:
    for sql in (
        """SELECT Name FROM Artist WHERE "Nam" = 'x'""",
        'SELECT "Accept" FROM Artist',
        'SELECT Name FROM Artist ORDER BY "Accept"',
        "SELECT Name FROM Artist WHERE Name = [Accept]",
    ):
        with pytest.raises(UnknownName):
            resolved(sql)


def test_only_the_catalogue_passed_in_is_ever_named() -> None:
    known = catalogue("sqlite", without=("Customer", "Employee.BirthDate"))
    for sql in (
        "SELECT * FROM Custmer",
        "SELECT * FROM Customer",
        "SELECT BirthDate FROM Employee",
        "SELECT e.BirthDat FROM Employee e",
        "SELECT 1 FROM Employee JOIN Customer USING (City)",
        "SELECT Artist.CustomerId FROM Artist",
    ):
        with pytest.raises(UnknownName) as caught:
            resolved(sql, known=known)
        nearest = (caught.value.details or {})["nearest"]
        # a list of names
        assert {"Customer", "BirthDate"}.isdisjoint(nearest)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("dialect", ["postgres", "duckdb"])
@pytest.mark.parametrize("join", [",", "CROSS JOIN"])
def test_a_list_that_becomes_rows_holds_visible_columns_only(dialect: str, join: str) -> None:
    known = catalogue(dialect, without=("Employee.BirthDate",))
    sql = f'SELECT u.d FROM "Employee" e {join} unnest(ARRAY[e."{{}}"]) AS u(d)'
    resolved(sql.format("HireDate"), dialect, known)
    assert details_of(sql.format("BirthDate"), dialect, known)["name"] == "BirthDate"


def test_a_whole_row_of_nothing_in_from_is_unknown() -> None:
    details = details_of('SELECT count(x.*) FROM "Employee" e', "postgres")
    assert (details["kind"], details["name"]) == ("table", "x")


def test_an_output_without_a_name_is_called_as_written() -> None:
    inner = "SELECT count( * ), max(Name) FROM Artist"
    resolved(f'SELECT "count( * )", "max(Name)" FROM ({inner})')
    assert details_of(f'SELECT "count(*)" FROM ({inner})')["nearest"] == ["count( * )"]


def test_names_inside_a_joined_bracket_with_an_alias_end_at_the_bracket(sqlite: Engine) -> None:
    sql = (
        "SELECT * FROM ((SELECT ArtistId AS k FROM Artist) a JOIN Album b ON a.k = b.ArtistId) j"
        " WHERE k > 1 AND j.Title <> ''"
    )
    assert sqlite.answer(resolved(sql)).rows == sqlite.answer(sql).rows
    assert details_of(sql.replace("j.Title", "b.Title"))["name"] == "b"
    assert details_of(sql.replace("a.k = b", "a.x = b"))["name"] == "x"


def test_an_alias_that_names_too_many_columns_is_refused() -> None:
    for sql in (
        "SELECT 1 FROM Artist AS x(a, b, c)",
        "WITH q AS (SELECT 1) SELECT 1 FROM q AS x(a, b)",
        "SELECT 1 FROM (SELECT 1) AS x(a, b)",
    ):
        with pytest.raises(QueryRefused, match="its alias names"):
            resolved(sql, "postgres")


def test_a_name_of_another_case_is_found_if_it_is_the_only_one() -> None:
    assert resolved("SELECT artistid FROM artist", "postgres") == (
        'SELECT "ArtistId" FROM "Artist" AS "artist"'
    )
    assert resolved("SELECT T.name FROM track t", "mysql") == ("SELECT `t`.name FROM `Track` t")


def test_using_finds_a_name_of_another_case_too() -> None:
    sql = "SELECT artistid FROM Album JOIN Artist USING (artistid)"
    assert resolved(sql, "postgres").endswith('JOIN "Artist" AS "artist" USING ("ArtistId")')


def test_the_engines_own_rule_comes_before_another_case() -> None:
    tables = (
        Table("Item", (Column("Id", "int"),)),
        Table("item", (Column("id", "int"), Column("ID", "int"))),
    )
    known = Catalogue("s", "postgres", tables, "h", catalogue("postgres").refreshed_at)
    assert resolved("SELECT Id FROM Item", "postgres", known) == 'SELECT Id FROM "item"'
    assert resolved('SELECT "Id" FROM "Item"', "postgres", known) == 'SELECT "Id" FROM "Item"'
    assert details_of("SELECT iD FROM ITEM2", "postgres", known)["kind"] == "table"


def test_a_table_of_another_schema_keeps_it() -> None:
    tables = (
        Table("Lead", (Column("Id", "int"),), schema="crm"),
        Table("Lead", (Column("Nr", "int"),)),
    )
    known = Catalogue("s", "postgres", tables, "h", catalogue("postgres").refreshed_at)
    assert resolved('SELECT l."Id" FROM crm."Lead" l', "postgres", known) == (
        'SELECT l."Id" FROM "crm"."Lead" l'
    )
    assert resolved('SELECT crm."Lead"."Id" FROM crm."Lead"', "postgres", known) == (
        'SELECT crm."Lead"."Id" FROM "crm"."Lead"'
    )
    assert resolved('SELECT * FROM public."Lead"', "postgres", known) == (
        'SELECT * FROM "public"."Lead"'
    )


def test_a_with_query_hides_the_table_of_its_name_but_not_from_itself() -> None:
    sql = "WITH Artist AS (SELECT * FROM Artist) SELECT Name FROM Artist"
    statement = resolve(parse(sql, "postgres"), catalogue("postgres"))
    (table,) = tables_of(statement.tree)
    assert table.find_ancestor(exp.CTE)


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_a_with_query_that_names_a_later_one_is_refused(dialect: str) -> None:
    sql = 'WITH RECURSIVE a AS (SELECT * FROM "Genre"), "Genre" AS (SELECT 1 AS x) SELECT * FROM a'
    assert details_of(sql, dialect)["name"] == "Genre"


@pytest.mark.parametrize("dialect", ["postgres", "duckdb", "mysql"])
def test_without_recursion_a_with_query_before_its_namesake_reads_the_table(dialect: str) -> None:
    sql = "WITH a AS (SELECT * FROM Genre), Genre AS (SELECT 1 AS x) SELECT * FROM a"
    tree = resolve(parse(sql, dialect), catalogue(dialect)).tree
    assert [table.name for table in tables_of(tree)] == ["Genre"]


def test_recursion_is_found_where_sqlite_does_not_ask_for_the_word() -> None:
    sql = "WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n"
    statement = resolve(parse(sql, "sqlite"), catalogue("sqlite"))
    assert tables_of(statement.tree) == []
    assert render(statement) == sql


def test_tables_are_those_of_the_source_wherever_they_stand() -> None:
    sql = """
        WITH a AS (SELECT * FROM Album), b AS (SELECT * FROM a JOIN Artist USING (ArtistId))
        SELECT (SELECT count(*) FROM Genre) FROM b
        WHERE EXISTS (SELECT 1 FROM (Track t JOIN MediaType m USING (MediaTypeId)))
        UNION SELECT 1 FROM (SELECT * FROM Invoice) AS Genre
    """
    parsed = parse(sql, "sqlite")
    for statement in (parsed, resolve(parsed, catalogue("sqlite"))):
        assert sorted(table.name for table in tables_of(statement.tree)) == [
            *("Album", "Artist", "Genre", "Invoice", "MediaType", "Track")
        ]


def test_resolving_leaves_the_parsed_tree_as_it_was() -> None:
    statement = parse("SELECT name FROM artist", "sqlite")
    before = statement.tree.sql()
    resolve(statement, catalogue("sqlite"))
    assert statement.tree.sql() == before


def test_two_catalogues_of_one_hash_are_told_apart() -> None:
    whole, part = catalogue("sqlite"), catalogue("sqlite", without=("Genre",))
    assert whole.hash == part.hash
    resolved("SELECT * FROM Genre", known=whole)
    details_of("SELECT * FROM Genre", known=part)


@pytest.mark.parametrize(
    ("sql", "gives"),
    [
        ("SELECT mod(7.5, 2)", "'1.5'"),  # 7.5 % 2 would be 1
        ("SELECT CAST(5 AS DECIMAL(10, 2)) / 2", "2"),  # as REAL it would be 2.5
        ("SELECT CAST('2021-05-01' AS DATE)", "2021"),  # date() would give a text
        ("SELECT count(*) FROM Track JOIN Genre USING (GenreId) WHERE GenreId = '2'", "7"),
    ],
)
def test_what_the_library_would_rewrite_means_what_it_meant(
    sql: str, gives: str, sqlite: Engine
) -> None:
    before, after = sqlite.answer(sql), sqlite.answer(resolved(sql))
    assert before.rows == after.rows == [f"[{gives}]"]


def test_a_key_with_a_dot_is_no_path(tmp_path: Path) -> None:
    sql = """SELECT json('{"a.b": 1, "a": {"b": 2}}') ->> 'a.b' AS v"""
    with engine("duckdb", tmp_path) as duckdb:
        before, after = duckdb.answer(sql), duckdb.answer(resolved(sql, "duckdb"))
    assert before.rows == after.rows == ["['1']"]


TEXTS = ("it''s", "back\\\\slash", "\\\\", "''", "a''; DROP TABLE x; --", "/* */", "%s", "夜''曲")


FORMS = [
    *(("postgres", form) for form in ("'{}'", "E'{}'", "$${}$$", "N'{}'", "U&'{}'")),
    *(("mysql", form) for form in ("'{}'", '"{}"', "N'{}'", "_utf8mb4'{}'")),
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(("dialect", "form"), FORMS)
def test_texts_survive_being_written_again(
    dialect: str, form: str, text: str, servers: dict[str, Engine]
) -> None:
    sql = f"SELECT {form.format(text)} AS t"
    as_written = servers[dialect].answer(sql)
    assert servers[dialect].answer(resolved(sql, dialect)).rows == as_written.rows
