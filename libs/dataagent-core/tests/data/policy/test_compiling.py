"""Policies in a query: every path to a table leads through its rules."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlglot import exp, parse_one

from dataagent_core.data.policy import PolicySet, compile_in, policies_from_dict
from dataagent_core.data.sql import ParsedStatement, parse, render
from dataagent_core.data.types import Catalogue, Column, Reader, Table
from dataagent_core.errors import DataDenied, UnknownName

Run = Callable[..., tuple[str, tuple[str, ...]]]
ANA = Reader("ana", attributes={"region": "EU"})
FILTERED = (
    '(SELECT "Customer"."Id", "Customer"."Name", "Customer"."Region" '
    'FROM "Customer" WHERE "Customer"."Region" = \'EU\')'
)


def _policies(tables: dict[str, object], default: str = "allow") -> PolicySet:
    policy = {"name": "p", "subjects": "everyone", "tables": tables}
    return policies_from_dict({"default": default, "policies": [policy]})


EU = _policies(
    {
        "Customer": {"row_filter": "Region = :user.region", "deny_columns": ["Email", "Salary"]},
        "Secret": {"grant": False},
    }
)


@pytest.mark.parametrize(
    ("sql", "count"),
    [
        ("SELECT * FROM Customer", 1),
        ("SELECT c.* FROM Customer AS c", 1),
        ("SELECT COUNT(*) FROM customer", 1),
        ("SELECT * FROM main.Customer", 1),
        ("SELECT a.Id FROM Customer a JOIN Customer b ON a.Id = b.Id", 2),
        ("SELECT i.Id FROM Invoice i LEFT JOIN Customer c ON c.Id = i.CustomerId", 1),
        ("SELECT i.Id FROM Invoice i, Customer c", 1),
        ("SELECT i.Id FROM (Invoice i JOIN Customer c ON c.Id = i.CustomerId)", 1),
        ("SELECT Id FROM Invoice JOIN Customer USING (Id)", 1),
        ("SELECT Id FROM Invoice NATURAL JOIN Customer", 1),
        ("SELECT x.Id FROM (SELECT * FROM Customer) AS x", 1),
        ("WITH x AS (SELECT * FROM Customer) SELECT * FROM x JOIN x AS y ON x.Id = y.Id", 1),
        ("WITH a AS (SELECT Id FROM Customer), b AS (SELECT Id FROM a) SELECT * FROM b", 1),
        ("WITH Invoice AS (SELECT Id FROM Customer) SELECT * FROM Invoice", 1),
        ("SELECT * FROM (WITH x AS (SELECT Id FROM Customer) SELECT * FROM x) AS y", 1),
        (
            "WITH RECURSIVE x(n) AS (SELECT MIN(Id) FROM Customer UNION ALL "
            "SELECT n + 1 FROM x JOIN Customer c ON c.Id = n) SELECT n FROM x",
            2,
        ),
        ("SELECT Id FROM Invoice WHERE CustomerId IN (SELECT Id FROM Customer)", 1),
        (
            "SELECT Id FROM Invoice i WHERE EXISTS "
            "(SELECT 1 FROM Customer c WHERE c.Id = i.CustomerId)",
            1,
        ),
        ("SELECT (SELECT Name FROM Customer c WHERE c.Id = i.CustomerId) FROM Invoice i", 1),
        ("SELECT Id FROM Invoice UNION ALL SELECT Id FROM Customer", 1),
        ("SELECT Id FROM Customer EXCEPT SELECT Id FROM Customer INTERSECT SELECT 1", 2),
        ("SELECT Id FROM Invoice ORDER BY (SELECT MAX(Id) FROM Customer)", 1),
        ("SELECT Id FROM Invoice LIMIT (SELECT COUNT(*) FROM Customer)", 1),
        ("SELECT CASE WHEN EXISTS (SELECT 1 FROM Customer) THEN 1 END FROM Invoice", 1),
        ("SELECT SUM(Id) OVER (ORDER BY (SELECT COUNT(*) FROM Customer)) FROM Invoice", 1),
        ("SELECT COUNT(*) FROM Invoice GROUP BY (SELECT COUNT(*) FROM Customer)", 1),
        ("SELECT COUNT(*) FROM Invoice HAVING COUNT(*) > (SELECT COUNT(*) FROM Customer)", 1),
        ("SELECT COUNT(*) FROM Invoice i JOIN Invoice j ON i.Id = (SELECT 1 FROM Customer)", 1),
    ],
)
def test_each_reference_to_a_protected_table_is_replaced(
    run: Run, catalogue: Catalogue, sql: str, count: int
) -> None:
    executed, told = run(sql, EU, ANA, catalogue)

    tree = parse_one(executed, dialect="sqlite")
    tables = [table for table in tree.find_all(exp.Table) if table.name == "Customer"]
    assert len(tables) == count
    for table in tables:
        inner = table.find_ancestor(exp.Select)
        assert inner is not None
        inner.args.pop("limit", None)  # a fence
        assert f"({inner.sql('sqlite')})" == FILTERED
        assert isinstance(inner.parent, exp.Subquery)
        assert inner.parent.alias
    assert "Email" not in executed
    assert told == ("Customer: only rows where Region = 'EU'",)


@pytest.mark.parametrize("written", ["Invoice", "INVOICE", "invoice"])
def test_a_table_in_any_spelling_is_read_under_the_name_whose_rules_hold(
    run: Run, catalogue: Catalogue, written: str
) -> None:
    executed, _ = run(f"SELECT {written}.Id FROM {written}", EU, ANA, catalogue)
    assert executed == f'SELECT {written}.Id FROM "Invoice"'


@pytest.mark.parametrize("dialect", ["postgres", "duckdb"])
@pytest.mark.parametrize(
    "sql",
    [
        'SELECT i."Id", l."Name" FROM "Invoice" AS i, LATERAL '
        '(SELECT "Name" FROM "Customer" AS c WHERE c."Id" = i."CustomerId") AS l',
        'SELECT c."Id" FROM "Customer" AS c, LATERAL (SELECT c."Id" + 1 AS n) AS l',
    ],
)
def test_laterals_are_reached(
    run: Run, shop_in: Callable[[str], Catalogue], dialect: str, sql: str
) -> None:
    executed, _ = run(sql, EU, ANA, shop_in(dialect))
    executed = executed.replace(" OFFSET 0", "")  # a fence

    assert executed.count(FILTERED) == 1
    assert executed.count('FROM "Customer"') == 1


def test_a_cte_with_the_name_of_its_table_reads_the_table_through_the_rules(
    run: Run, shop_in: Callable[[str], Catalogue]
) -> None:
    sql = 'WITH "Customer" AS (SELECT * FROM "Customer") SELECT "Id" FROM "Customer"'

    executed, _ = run(sql, EU, ANA, shop_in("postgres"))

    assert executed == (
        f'WITH "Customer_cte1" AS (SELECT * FROM {FILTERED} AS "Customer") '
        'SELECT "Id" FROM "Customer_cte1" AS "Customer"'
    )


@pytest.mark.parametrize(
    "sql",
    [
        # engines differ on what these names mean; here they never mean less than the table
        "WITH RECURSIVE Secret AS (SELECT Id FROM Secret) SELECT Id FROM Secret",
        "WITH RECURSIVE Secret AS (SELECT Id FROM Secret EXCEPT SELECT 1) SELECT Id FROM Secret",
        "WITH RECURSIVE Secret AS (SELECT Id FROM Secret UNION SELECT 1) SELECT Id FROM Secret",
        "WITH a AS (SELECT Id FROM Secret), Secret AS (SELECT 1 AS Id) SELECT Id FROM a",
        "SELECT 1 FROM (WITH Secret AS (SELECT 1) SELECT * FROM Secret) AS x, Secret",
        "SELECT * FROM Secret UNION SELECT * FROM (WITH Secret AS (SELECT 1) SELECT 1) AS x",
        "WITH Secret AS (SELECT 1) SELECT * FROM main.Secret",
        "SELECT * FROM Secret",
        "SELECT * FROM SECRET",
        'SELECT * FROM "secret"',
        "SELECT * FROM Nowhere",
        "SELECT * FROM other.Customer",
        "SELECT 1 FROM Customer WHERE EXISTS (SELECT 1 FROM Secret)",
    ],
)
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_a_closed_table_is_denied_even_if_its_name_was_not_resolved(
    shop_in: Callable[[str], Catalogue], dialect: str, sql: str
) -> None:
    with pytest.raises(DataDenied) as denied:
        compile_in(parse(sql, dialect), EU, ANA, shop_in(dialect))

    written = denied.value.message.partition(":")[0]
    assert denied.value.message == (
        f"{written}: nothing of that name is open to you in this data source. "
        "List the tables to see what is."
    )


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_a_table_that_was_not_resolved_is_not_read_past_its_rules(
    shop_in: Callable[[str], Catalogue], dialect: str
) -> None:
    with pytest.raises(DataDenied):
        compile_in(parse("SELECT * FROM Customer", dialect), EU, ANA, shop_in(dialect))


def test_a_table_after_in_is_no_way_round_in_sqlite(catalogue: Catalogue) -> None:
    statement = parse("SELECT 1 WHERE 1 IN (Secret)", "sqlite")
    bare = parse_one("SELECT 1 WHERE 1 IN Secret", dialect="sqlite")
    assert isinstance(bare, exp.Query)
    with pytest.raises(DataDenied):
        compile_in(replace(statement, tree=bare), EU, ANA, catalogue)


def test_a_forbidden_table_and_one_that_is_not_there_cannot_be_told_apart(
    run: Run, catalogue: Catalogue
) -> None:
    told: list[str] = []
    for name in ("Secret", "Nosuch"):
        with pytest.raises((UnknownName, DataDenied)) as refused:
            run(f"SELECT * FROM {name}", EU, ANA, catalogue)
        told.append(str(refused.value).replace(name, "…"))
    assert told[0] == told[1]


def test_nothing_changes_for_a_reader_without_rules(catalogue: Catalogue) -> None:
    statement = parse("SELECT * FROM Customer, whatever", "sqlite")
    others = policies_from_dict(
        {
            "policies": [
                {"name": "p", "subjects": {"users": ["bo"]}, "tables": {"*": {"grant": False}}}
            ]
        }
    )
    for policies in (PolicySet(), others):
        compiled = compile_in(statement, policies, ANA, catalogue)
        assert compiled.statement is statement
        assert compiled.sentences == ()


def test_a_query_that_touches_no_rule_reads_the_same_and_the_given_one_is_never_changed(
    prepare: Callable[[str, Catalogue], ParsedStatement], catalogue: Catalogue
) -> None:
    statement = prepare("SELECT i.Total FROM Invoice AS i", catalogue)
    assert compile_in(statement, EU, ANA, catalogue).statement.tree == statement.tree

    statement = prepare("SELECT c.Id FROM Customer AS c", catalogue)
    before = render(statement)
    assert render(compile_in(statement, EU, ANA, catalogue).statement) != before
    assert render(statement) == before


def test_what_stands_beside_a_table_stays_beside_its_sub_query(
    run: Run, shop_in: Callable[[str], Catalogue]
) -> None:
    sql = 'SELECT x.a FROM "Customer" AS x(a, b, c) TABLESAMPLE (10 PERCENT)'
    executed, _ = run(sql, EU, ANA, shop_in("duckdb"))
    executed = executed.replace(" OFFSET 0", "")  # a fence

    assert executed == f"SELECT x.a FROM {FILTERED} AS x(a, b, c) TABLESAMPLE (10 PERCENT)"


def test_postgresql_samples_a_table_inside_its_sub_query(
    run: Run, shop_in: Callable[[str], Catalogue]
) -> None:
    """PostgreSQL samples tables alone, so the sample is taken before the filter."""
    sample = "TABLESAMPLE BERNOULLI (10) REPEATABLE (3)"
    sql = f'SELECT c."Id" FROM "Customer" AS c {sample}, "Invoice" AS i WHERE i."Id" = c."Id"'
    executed, _ = run(sql, EU, ANA, shop_in("postgres"))

    inside = FILTERED.replace('FROM "Customer"', f'FROM "Customer" {sample}')
    assert executed == (f'SELECT c."Id" FROM {inside} AS c , "Invoice" AS i WHERE i."Id" = c."Id"')


@pytest.mark.parametrize("dialect", ["sqlite", "mysql", "duckdb"])
def test_the_label_of_an_output_does_not_show_a_rule(
    dialect: str, run: Run, shop_in: Callable[[str], Catalogue]
) -> None:
    executed, _ = run("SELECT (SELECT count(*) FROM Customer)", EU, ANA, shop_in(dialect))
    quote = "`" if dialect == "mysql" else '"'

    assert executed.endswith(f" AS {quote}(SELECT count(*) FROM Customer){quote}")


@pytest.mark.parametrize(
    ("dialect", "mask", "selected"),
    [
        ("sqlite", "null", 'CASE WHEN FALSE THEN "Customer"."Email" END'),
        (
            "sqlite",
            "hash",
            'CASE WHEN FALSE THEN "Customer"."Email" END',
        ),  # it has no such function
        ("sqlite", "it's", "'it''s'"),
        (
            "sqlite",
            "last4",
            'CASE WHEN "Customer"."Email" IS NULL THEN NULL '
            'WHEN LENGTH(CAST("Customer"."Email" AS TEXT)) >= 8 THEN \'***\' || '
            'SUBSTRING(CAST("Customer"."Email" AS TEXT), '
            'LENGTH(CAST("Customer"."Email" AS TEXT)) - 3) ELSE \'***\' END',
        ),
        ("postgres", "hash", 'CASE WHEN FALSE THEN "Customer"."Email" END'),  # there is no secret
    ],
)
def test_a_masked_column_is_replaced_by_its_mask(
    run: Run, shop_in: Callable[[str], Catalogue], dialect: str, mask: str, selected: str
) -> None:
    policies = _policies({"Customer": {"masks": {"email": mask}}})
    quote = "`" if dialect == "mysql" else '"'

    executed, told = run(
        f"SELECT c.{quote}Email{quote} FROM {quote}Customer{quote} AS c",
        policies,
        ANA,
        shop_in(dialect),
    )

    assert f"{selected} AS {quote}Email{quote}, " in executed
    assert told == ("Customer.Email: masked",)


def test_sentences_show_the_readers_own_values_and_nothing_that_is_kept_away(
    run: Run, catalogue: Catalogue, caplog: pytest.LogCaptureFixture
) -> None:
    policies = _policies(
        {
            "Customer": {
                "row_filter": "Region = :user.region AND Name <> 'Zoe' AND NOT Name IN ('Yan')",
                "masks": {"Email": "null"},
            },
            "Invoice": {"row_filter": "Total > 3 AND CustomerId = :user.customer"},
            "books.Ledger": {"row_filter": "Id = 5", "masks": {"Id": "null"}},
        }
    )
    with caplog.at_level(logging.DEBUG):
        _, told = run(
            "SELECT c.Id FROM Customer c JOIN Invoice i ON 1 = 1 JOIN books.Ledger l ON 1 = 1",
            policies,
            ANA,
            catalogue,
        )
        _, told_of_email = run("SELECT Email FROM Customer", policies, ANA, catalogue)

    assert told == (
        "Customer: only rows where Region = 'EU' AND Name <> … AND NOT Name IN (…)",
        "Invoice: no rows, because you have no attribute 'customer'",
        "books.Ledger: only rows that a policy opens to you",
        "books.Ledger.Id: masked",
    )
    assert told_of_email[1:] == ("Customer.Email: masked",)
    assert caplog.text == ""


def test_grouping_by_the_primary_key_still_works_in_postgresql(
    run: Run, shop_in: Callable[[str], Catalogue]
) -> None:
    executed, _ = run(
        'SELECT c."Id", c."Name", COUNT(*) FROM "Customer" AS c GROUP BY c."Id" '
        'ORDER BY c."Region"',
        EU,
        ANA,
        shop_in("postgres"),
    )

    assert 'GROUP BY c."Id", "c"."Name", "c"."Region"' in executed


def test_a_table_that_differs_in_case_only_keeps_its_own_rules(
    shop_in: Callable[[str], Catalogue], prepare: Callable[[str, Catalogue], ParsedStatement]
) -> None:
    whole = shop_in("postgres")
    columns = (Column("Id", "INTEGER"), Column("Region", "TEXT"))
    twin = Table("customer", columns)
    whole = Catalogue("s", "postgres", (*whole.tables, twin), "h", whole.refreshed_at)

    mine = compile_in(prepare('SELECT x."Id" FROM "Customer" AS x', whole), EU, ANA, whole)
    other = compile_in(prepare('SELECT x."Id" FROM customer AS x', whole), EU, ANA, whole)

    assert FILTERED in render(mine.statement)
    assert "WHERE" not in render(other.statement)


@pytest.mark.parametrize("kind", ["postgres", "mysql", "duckdb"])
def test_a_hash_can_be_compared_and_not_be_guessed_without_the_sources_secret(
    kind: str,
    tmp_path: Path,
    run: Run,
    connect: Callable[[str, Path], AbstractContextManager[Any]],
) -> None:
    table = Table("pay", (Column("Amount", "INTEGER"), Column("Name", "VARCHAR(20)")))
    catalogue = Catalogue("s", kind, (table,), "h", datetime(2026, 1, 1, tzinfo=UTC))
    policies = _policies({"pay": {"masks": {"Amount": "hash", "Name": "hash"}}})
    policies = replace(policies, mask_key=b"k" * 32)
    quote = "`" if kind == "mysql" else '"'
    with connect(kind, tmp_path) as opened:
        cursor = opened.cursor()
        cursor.execute(
            f"CREATE TABLE pay ({quote}Amount{quote} INTEGER, {quote}Name{quote} VARCHAR(20))"
        )
        cursor.execute("INSERT INTO pay VALUES (5000, '夜曲'), (NULL, NULL)")
        executed, _ = run("SELECT * FROM pay", policies, ANA, catalogue)
        cursor.execute(executed)
        rows = set(cursor.fetchall())

    def keyed(value: str) -> str:
        return hmac.new(b"k" * 32, value.encode(), "sha256").hexdigest()

    assert rows == {(keyed("5000"), keyed("夜曲")), (None, None)}
