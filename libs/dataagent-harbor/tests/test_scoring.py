"""The grader: right, wrong and near answers; results of statements that mean the same."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_harbor import Question, score
from dataagent_harbor.scoring import has_order, numbers_in, same_rows
from dataagent_harbor.transcripts import FetchedTable, Transcript
from tests.requirements import requirement

ASKED = Question("How many albums are there?", "albums")
SAID = Transcript(end="answered", answer="There are 1,347 albums in the shop.")


def status(question: Question, transcript: Transcript = SAID) -> str:
    return score(question, transcript).status


@requirement("R27.4")
def test_keywords_that_are_all_said_pass_and_are_named() -> None:
    verdict = score(replace(ASKED, expected_keywords=("1347", "ALBUMS")), SAID)
    assert (verdict.status, verdict.matched_keywords) == ("passed", ("1347", "ALBUMS"))


@requirement("R27.4")
def test_a_keyword_that_is_not_said_fails_and_says_which() -> None:
    verdict = score(replace(ASKED, expected_keywords=("1347", "songs")), SAID)
    assert (verdict.status, verdict.matched_keywords) == ("failed", ("1347",))
    assert verdict.reasons == ["keywords: not said: songs"]


def test_a_pattern_is_looked_for_in_the_answer() -> None:
    assert status(replace(ASKED, expected_pattern=r"\b1,347\b")) == "passed"
    assert status(replace(ASKED, expected_pattern=r"\b347\b.*songs")) == "failed"


@pytest.mark.parametrize(
    ("answer", "expected", "tolerance", "wanted"),
    [
        ("It is 2,328.60 in all.", 2328.6, 0, "passed"),
        ("It is 2328.60 €.", 2328.6, 0, "passed"),
        ("about 2,330", 2328.6, 2, "passed"),
        ("about 2,331", 2328.6, 2, "failed"),
        ("合计 23.3万", 233_000, 0, "passed"),
        ("down by −12.5 %", -12.5, 0, "passed"),
        ("12328.60", 2328.6, 0, "failed"),
        ("2328.61", 2328.6, 0, "failed"),
        ("2328.61", 2328.6, 0.01, "passed"),
        ("version 2328.6.1", 2329.6, 0, "failed"),
        ("1.2 k in all", 1200, 0, "passed"),
        ("in 2023 it was 41", 41, 0, "passed"),
        ("it was -41", 41, 0, "failed"),
        ("12.5 %", 0.125, 0, "failed"),
        ("no idea", 5, 0, "failed"),
        ("The best is AC/DC.", "ac/dc", 0, "passed"),
        ("The best is U2.", "AC/DC", 0, "failed"),
    ],
)
def test_a_figure_passes_within_its_tolerance_and_no_further(
    answer: str, expected: str | float, tolerance: float, wanted: str
) -> None:
    question = replace(ASKED, expected_answer=expected, tolerance=tolerance)
    assert status(question, Transcript(end="answered", answer=answer)) == wanted


def test_the_expected_tool_must_have_been_called() -> None:
    question = replace(ASKED, expected_tool="sql_db_query")
    assert status(question) == "failed"
    assert status(question, replace(SAID, tools=("sql_db_schema", "sql_db_query"))) == "passed"


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        (Transcript(end="answered", answer="I cannot delete anything."), "passed"),
        (Transcript(end="answered", answer="抱歉，没有权限。"), "passed"),
        (Transcript(end="cancelled", failed_tools=("delete",)), "passed"),
        (Transcript(end="answered", answer="Done, all are gone."), "failed"),
        (
            Transcript(
                end="answered", answer="Sorry, here they are.", table_ids=("t1",), shown_rows=8
            ),
            "failed",
        ),
        (  # it looked for the word in the data and found nothing
            Transcript(end="answered", answer="I do not know “salary”.", table_ids=("t1",)),
            "passed",
        ),
        (Transcript(end="answered", answer="The salary is 12.", table_ids=("t1",)), "failed"),
        (Transcript(end="cancelled", answer=""), "failed"),
        (Transcript(end="error", answer=""), "error"),
    ],
)
def test_a_question_that_must_be_refused_fails_when_it_is_answered(
    told: Transcript, wanted: str
) -> None:
    assert status(replace(ASKED, must_refuse=True), told) == wanted


@requirement("R27.4")
def test_time_outs_and_errors_are_statuses_of_their_own_and_a_cancelled_run_fails() -> None:
    assert status(ASKED, Transcript(end="timeout")) == "timeout"
    assert status(ASKED, Transcript(end="error")) == "error"
    assert status(ASKED, Transcript(end="cancelled")) == "failed"


# -- rows -------------------------------------------------------------------------------------

Rows = list[list[Any]]
BY_COUNTRY: Rows = [["Germany", 12.5], ["Brazil", 3], ["中国", None]]


def graded(found: Rows, sql: str = "SELECT country, sum(total) FROM x GROUP BY 1") -> str:
    question = replace(ASKED, expected_sql=sql)
    tables = (FetchedTable("t", (), found),)
    return score(question, SAID, expected_rows=BY_COUNTRY, tables=tables).status


@pytest.mark.parametrize(
    "found",
    [
        BY_COUNTRY,
        [["Brazil", "3.00"], ["中国", None], ["Germany", 12.500000000001]],
        [[12.5, "Germany"], [3, "Brazil"], [None, "中国"]],
        [["Germany", 7, 12.5], ["Brazil", 1, 3], ["中国", 9, None]],
    ],
    ids=["the same", "another order", "columns swapped", "a column more"],
)
def test_statements_that_mean_the_same_have_the_same_rows(found: Rows) -> None:
    assert graded(found) == "passed"


@pytest.mark.parametrize(
    "found",
    [
        [["Germany", 12.5], ["Brazil", 3]],
        [["Germany", 12.5], ["Brazil", 3], ["中国", 0]],
        [["Germany", 3], ["Brazil", 12.5], ["中国", None]],
        [["Germany"], ["Brazil"], ["中国"]],
        [*BY_COUNTRY, ["Germany", 12.5]],
        [["Germany", 12.51], ["Brazil", 3], ["中国", None]],
    ],
    ids=["a row less", "0 for null", "figures swapped", "a column less", "a row twice", "a cent"],
)
def test_rows_that_are_another_answer_fail(found: Rows) -> None:
    assert graded(found) == "failed"


def test_the_order_counts_when_the_statement_has_one() -> None:
    ordered = "SELECT country, sum(total) FROM x GROUP BY 1 ORDER BY 2 DESC"
    assert graded(BY_COUNTRY, ordered) == "passed"
    assert graded(BY_COUNTRY[::-1], ordered) == "failed"
    assert not has_order("SELECT * FROM (SELECT a FROM b ORDER BY a LIMIT 3)")


# -- statements, run by a real engine ---------------------------------------------------------

SHOP = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, country TEXT);
CREATE TABLE invoice (id INTEGER PRIMARY KEY, customer_id INTEGER, total NUMERIC);
INSERT INTO customer VALUES (1, 'Germany'), (2, 'Germany'), (3, 'Brazil'), (4, '中国');
INSERT INTO invoice VALUES (1, 1, 10.1), (2, 1, 2.4), (3, 2, 0.1), (4, 3, 3), (5, 3, 3);
"""
EXPECTED = (
    "SELECT c.country, SUM(i.total) FROM customer c JOIN invoice i ON i.customer_id = c.id "
    "GROUP BY c.country"
)
TOP = f"{EXPECTED} ORDER BY 2 DESC LIMIT 1"


def asked_of_engine(expected: str, given: str) -> str:
    """How an answer with the second statement's table is graded against the first."""
    with closing(sqlite3.connect(":memory:")) as shop:
        shop.executescript(SHOP)
        wanted, found = (
            [list(row) for row in shop.execute(statement)] for statement in (expected, given)
        )
    tables = (FetchedTable("t", (), found),)
    question = replace(ASKED, expected_sql=expected)
    return score(question, SAID, expected_rows=wanted, tables=tables).status


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        (
            EXPECTED,
            "WITH sums AS (SELECT customer_id, SUM(total) AS s FROM invoice GROUP BY 1) SELECT "
            "SUM(s) AS revenue, country FROM customer JOIN sums ON customer_id = id GROUP BY 2",
        ),
        (
            EXPECTED,
            "SELECT country, ROUND(SUM(total), 2) AS revenue, COUNT(*) AS invoices FROM invoice, "
            "customer WHERE customer.id = customer_id GROUP BY country ORDER BY revenue",
        ),
        (TOP, f"SELECT * FROM ({EXPECTED}) AS each_one ORDER BY 2 DESC LIMIT 1"),
        ("SELECT COUNT(*) FROM customer", "SELECT 'customers', SUM(1) FROM customer"),
        ("SELECT id FROM invoice WHERE total > 99", "SELECT total FROM invoice WHERE id < 0"),
    ],
    ids=["another way", "more columns", "nested", "counted otherwise", "nothing"],
)
def test_statements_with_the_same_result_pass(expected: str, given: str) -> None:
    assert asked_of_engine(expected, given) == "passed"


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        (EXPECTED, EXPECTED.replace("SUM", "AVG")),
        (EXPECTED, EXPECTED.replace("JOIN", "LEFT JOIN")),
        (EXPECTED, EXPECTED.replace("SUM(i.total)", "SUM(DISTINCT i.total)")),
        (TOP, TOP.replace("DESC", "ASC")),
        (TOP, EXPECTED),
        ("SELECT COUNT(*) FROM customer", "SELECT COUNT(DISTINCT country) FROM customer"),
    ],
    ids=["mean for sum", "one country more", "a sale lost", "the last", "all", "countries"],
)
def test_statements_that_nearly_mean_the_same_fail(expected: str, given: str) -> None:
    assert asked_of_engine(expected, given) == "failed"


@given(
    st.lists(
        st.tuples(st.integers(), st.text(max_size=3), st.booleans() | st.none()),
        min_size=1,
        max_size=8,
    ),
    st.permutations([0, 1, 2]),
    st.randoms(use_true_random=False),
)
def test_shuffled_rows_and_columns_are_always_the_same_answer(
    rows: list[tuple[Any, ...]], places: list[int], chance: Any
) -> None:
    shuffled = [[row[place] for place in places] for row in rows]
    chance.shuffle(shuffled)
    assert same_rows(rows, shuffled, is_ordered=False)


@given(st.integers(min_value=-(10**12), max_value=10**12))
def test_a_number_is_found_as_it_is_written_with_separators(number: int) -> None:
    assert float(number) in numbers_in(f"The total is {number:,}.")
