"""Row filters: what they may be, and how a reader's attributes enter them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from dataagent_core.data.policy import (
    Policy,
    PolicySet,
    Subjects,
    TableRule,
    check_policy,
    compile_in,
    visible_catalogue,
)
from dataagent_core.data.policy.filters import parse_filter
from dataagent_core.data.sql import parse, render, resolve
from dataagent_core.data.types import Catalogue, Column, Reader, Table
from dataagent_core.errors import BadInput

ANY_TIME = datetime(2026, 1, 1, tzinfo=UTC)

Connect = Callable[[str, Path], AbstractContextManager[Any]]
Run = Callable[..., tuple[str, tuple[str, ...]]]
QUERY = 'SELECT "Customer"."Id" FROM "Customer" AS "Customer"'


def _policies(row_filter: str, table: str = "Customer") -> PolicySet:
    rule = TableRule(row_filter=row_filter)
    return PolicySet((Policy("p", Subjects(is_everyone=True), {table: rule}),))


def _where(run: Run, catalogue: Catalogue, row_filter: str, **attributes: object) -> str:
    sql, _ = run(QUERY, _policies(row_filter), Reader("ana", attributes=attributes), catalogue)
    return sql.split(" WHERE ")[1].rpartition(") AS ")[0].replace('"Customer".', "")


@pytest.mark.parametrize(
    ("row_filter", "attributes", "where"),
    [
        ("region = :user.r", {"r": "EU"}, "\"Region\" = 'EU'"),
        ("REGION = :user.r", {"r": "x' OR 1=1 --"}, "\"Region\" = 'x'' OR 1=1 --'"),
        ("Customer.region = :user.r", {"r": "EU"}, "\"Region\" = 'EU'"),
        ("region IN :user.r", {"r": ["EU", "US"]}, "\"Region\" IN ('EU', 'US')"),
        ("region IN (:user.r)", {"r": ["EU", "US"]}, "\"Region\" IN ('EU', 'US')"),
        ("region IN ('CN', :user.r)", {"r": ["EU"]}, "\"Region\" IN ('CN', 'EU')"),
        ("region IN :user.r", {"r": "EU"}, "\"Region\" IN ('EU')"),
        ("region NOT IN :user.r", {"r": ["EU"]}, "NOT \"Region\" IN ('EU')"),
        ("salary < :user.s", {"s": 5}, '"Salary" < 5'),
        ("salary < :user.s", {"s": -1.5}, '"Salary" < -1.5'),
        ("salary = :user.s", {"s": "12"}, '"Salary" = 12'),
        ("region = :user.r", {"r": 0}, "\"Region\" = '0'"),
        ("email = :user.user_id", {}, "\"Email\" = 'ana'"),
        ("email = :user.user_id", {"user_id": "bo"}, "\"Email\" = 'ana'"),
        ("region = 'EU' OR :user.boss = TRUE", {"boss": True}, "\"Region\" = 'EU' OR TRUE = TRUE"),
    ],
)
def test_attributes_become_literals(
    run: Run, catalogue: Catalogue, row_filter: str, attributes: dict[str, Any], where: str
) -> None:
    assert _where(run, catalogue, row_filter, **attributes) == where


@pytest.mark.parametrize(
    ("row_filter", "attributes"),
    [
        ("region = :user.r", {}),
        ("region = :user.r", {"r": None}),
        ("region = 'EU' OR region = :user.r", {}),
        ("NOT region = :user.r", {}),
        ("region IN :user.r", {"r": []}),
        ("region NOT IN :user.r", {"r": []}),
        ("region = :user.r", {"r": ["EU"]}),
        ("region = :user.r", {"r": {"a": 1}}),
        ("region IN :user.r", {"r": ["EU", None]}),
        ("region = :user.r", {"r": "a\0b"}),
        ("region = :user.r", {"r": "\ud800"}),
        ("region = :user.r", {"r": True}),
        ("salary = :user.s", {"s": "abc"}),
        ("salary = :user.s", {"s": "1_0"}),
        ("salary = :user.s", {"s": float("nan")}),
        ("region = :user.tenant_id", {}),
    ],
)
def test_a_value_that_is_missing_or_does_not_fit_lets_no_row_through(
    run: Run, catalogue: Catalogue, row_filter: str, attributes: dict[str, Any]
) -> None:
    assert _where(run, catalogue, row_filter, **attributes) == "FALSE"


@pytest.mark.parametrize(
    "row_filter",
    [
        "Id IN (SELECT Id FROM Secret)",
        "EXISTS (SELECT 1 FROM Secret)",
        "Id = (SELECT MAX(Id) FROM Secret)",
        "Id IN Secret",
        "load_extension('x') = 1",
        "pg_sleep(9) IS NULL",
        "COUNT(*) > 1",
        "ROW_NUMBER() OVER () = 1",
        "Id = 1; DROP TABLE Customer",
        "Id = 1) OR (1 = 1",
        ":user.region",
        "Id + 1",
        "'EU'",
        "Id = 1 AND (Salary + 1)",
        "Id = ?",
        "Id = :other",
        "Id = :other.name",
        "Id = :user",
        "Nme = 'x'",
        "Invoice.Total > 3",
        "SELECT 1",
        "DELETE FROM Customer",
        "*",
        "",
        "Id = 1 -- :user.region\n garbage (",
    ],
)
def test_a_filter_that_is_no_plain_condition_is_refused_and_closes_its_table(
    catalogue: Catalogue, row_filter: str
) -> None:
    policies = _policies(row_filter)
    with pytest.raises(BadInput, match="policy 'p', table 'Customer'"):
        check_policy(policies.policies[0], catalogue)
    shown = visible_catalogue(catalogue, policies, Reader("ana", attributes={"region": "EU"}))
    assert "Customer" not in {table.name for table in shown.tables}


@pytest.mark.parametrize(
    "row_filter",
    [
        "Region = 'EU' AND (Salary BETWEEN 1 AND 9 OR Name LIKE 'A%') AND Email IS NOT NULL",
        "LOWER(TRIM(Region)) = :user.region AND COALESCE(Salary, 0) % 2 = 0",
        "CASE WHEN Salary > 3 THEN Region = 'EU' ELSE FALSE END = TRUE",
        "CONCAT(CAST(Salary AS TEXT), Name) <> 'x'",
        "TRUE",
    ],
)
def test_ordinary_conditions_pass_the_check_in_each_dialect(
    shop_in: Callable[[str], Catalogue], row_filter: str
) -> None:
    for dialect in ("sqlite", "duckdb", "postgres", "mysql"):
        check_policy(_policies(row_filter).policies[0], shop_in(dialect))


def test_every_problem_of_a_policy_is_named_with_its_place(catalogue: Catalogue) -> None:
    policy = Policy(
        "p",
        Subjects(is_everyone=True),
        {
            "Custmer": TableRule(),
            "Customer": TableRule(deny_columns=("Emial",), row_filter="Regio = 'EU'"),
            "*": TableRule(deny_columns=("Nowhere",), row_filter="nowhere = 1"),
            "books.Ledger": TableRule(),
            "main.Invoice": TableRule(deny_columns=("total",)),
        },
    )
    with pytest.raises(BadInput) as refused:
        check_policy(policy, catalogue)
    assert refused.value.details == {
        "problems": [
            "policy 'p', table 'Custmer': there is no such table. Did you mean Customer?",
            "policy 'p', table 'Customer': there is no column 'Emial'. Did you mean Email?",
            "policy 'p', table 'Customer': Table 'Customer' has no column 'Regio'.",
            "policy 'p', table '*': no table has a column 'Nowhere'.",
            "policy 'p', table '*': Table 'Customer' has no column 'nowhere'.",
        ]
    }


@pytest.fixture(scope="module", params=["sqlite", "duckdb", "postgres", "mysql"])
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, connect: Connect
) -> Generator[tuple[str, Callable[[str], list[Any]]]]:
    """An engine with one table `t(x)`, holding decoys; a function that runs a query on it."""
    kind: str = request.param
    collation = " COLLATE utf8mb4_nopad_bin" if kind == "mysql" else ""
    with connect(kind, tmp_path_factory.mktemp("filters")) as connection:

        def run(sql: str) -> list[Any]:
            with closing(connection.cursor()) as cursor:
                cursor.execute(sql)
                return list(cursor.fetchall()) if sql.startswith("SELECT") else []

        run(f"CREATE TABLE t (x VARCHAR(300){collation})")
        run("INSERT INTO t VALUES ('decoy'), (''), ('it''s'), (NULL)")
        yield kind, run


@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
    | st.text("'\"\\;-/*%_:$ \nx", max_size=12)
)
def test_any_text_of_an_attribute_stays_one_value_on_every_engine(
    asked: tuple[str, Callable[[str], list[Any]]], value: str
) -> None:
    kind, run = asked
    table = Table("t", (Column("x", "VARCHAR(300)"),))
    catalogue = Catalogue("s", kind, (table,), "h", refreshed_at=ANY_TIME)
    statement = resolve(parse("SELECT x FROM t", kind), catalogue)
    reader = Reader("u", attributes={"v": value})

    compiled = compile_in(statement, _policies("x = :user.v", "t"), reader, catalogue).statement

    found = run(render(compiled))
    decoys = ("decoy", "", "it's")
    assert found == ([(value,)] if value in decoys else [])
    literals = [each for each in compiled.tree.find_all(exp.Literal) if each.is_string]
    assert run(f"SELECT {literals[0].sql(kind)}") == [(value,)]


def test_a_filter_of_a_thousand_conditions_is_refused_and_not_an_error() -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        parse_filter("a = 1 AND " * 1_000 + "a = 1", "sqlite")


def test_a_join_is_refused_before_the_parser_tries_its_ways_of_reading_it() -> None:
    with pytest.raises(BadInput, match="may not use"):
        parse_filter(f"a IN (SELECT 1 FROM t {'JOIN u ' * 60})", "postgres")
