"""Questions whose obvious SQL gives a wrong number: what the offline model makes of them."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any

import pytest

from .data_player import Player, Source, same_rows
from .data_sources import company, shop, sqlite_source


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    made = shop(tmp_path_factory.mktemp("shop"))
    made.room = 100_000
    return made


def assert_rows(source: Source, question: str, sql: str) -> None:
    player = Player(source)
    text = player.ask(question)
    assert player.was_answered, f"{question}: {text}"
    assert same_rows(player.rows, source.run(sql)[1]), f"{question}\n{player.sql}"


# -- time ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    [
        "sales after 2021 and before 2024",
        "2021年之后2024年之前的销售额",
        "sales since 2022 before 2024",
    ],
)
def test_an_earliest_and_a_latest_time_bound_one_span(source: Source, question: str) -> None:
    assert_rows(
        source,
        question,
        "SELECT SUM(Total) FROM Invoice"
        " WHERE InvoiceDate >= '2022-01-01' AND InvoiceDate < '2024-01-01'",
    )


def test_times_that_do_not_meet_stay_two(source: Source) -> None:
    assert_rows(
        source,
        "sales before 2022 and after 2023",
        "SELECT substr(InvoiceDate, 1, 4), SUM(Total) FROM Invoice"
        " WHERE InvoiceDate < '2022-01-01' OR InvoiceDate >= '2024-01-01' GROUP BY 1 ORDER BY 1",
    )


@pytest.mark.parametrize(
    "question", ["自2022年以来到2023年的销售额", "sales in 2023 and in Q1 2023"]
)
def test_times_that_overlap_are_declined(source: Source, question: str) -> None:
    player = Player(source)
    player.ask(question)
    assert not player.was_answered


# -- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("invoices with total over 1234567.89", "`Invoice.Total > 1234567.89`"),
        ("sales over 12345678 by country", "`sales > 12345678`"),
    ],
)
def test_a_limit_is_told_to_the_last_digit(source: Source, question: str, told: str) -> None:
    assert told in Player(source).ask(question)


@pytest.mark.parametrize(
    "question",
    [
        "invoices with total over 12345678901234567",
        f"invoices with total over {'9' * 400}",
        f"top {'9' * 400} customers by sales",
        "invoices with total over ፩",
    ],
)
def test_a_number_that_cannot_be_kept_exactly_is_not_understood(
    source: Source, question: str
) -> None:
    player = Player(source)
    assert "I do not know" in player.ask(question)
    assert not player.was_answered


@pytest.mark.parametrize("question", ["top 10% customers by sales", "消费最高的10％的客户"])
def test_a_share_is_not_taken_for_a_number(source: Source, question: str) -> None:
    player = Player(source)
    player.ask(question)
    assert not player.was_answered


@pytest.mark.parametrize(
    "question",
    [
        "how many invoices have a total over -5?",
        "how many invoices have a total over \N{MINUS SIGN}5?",
        "金额超过-5的发票有多少张",
    ],
)
def test_a_number_below_zero_keeps_its_sign(source: Source, question: str) -> None:
    assert_rows(source, question, "SELECT COUNT(*) FROM Invoice WHERE Total > -5")


@pytest.mark.parametrize(
    ("follow_up", "where"),
    [("only total over 5", "Total > 5"), ("only total under 15", "Total > 10 AND Total < 15")],
)
def test_a_follow_up_moves_the_limit_it_names(source: Source, follow_up: str, where: str) -> None:
    player = Player(source)
    player.ask("invoices with total over 10")
    player.ask(follow_up)
    sql = f"SELECT InvoiceId FROM Invoice WHERE {where} ORDER BY 1"
    assert same_rows(player.rows, source.run(sql)[1]), player.sql


def releases() -> Source:
    """Texts that look like numbers, and numbers longer than most."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute(
        "CREATE TABLE release (release_id INTEGER PRIMARY KEY, name TEXT, size REAL)"
    )
    connection.executemany(
        "INSERT INTO release VALUES (?, ?, ?)", [(1, "1.10", 2e25), (2, "1.1", 0.5)]
    )
    return sqlite_source("releases", connection, {})


def test_a_text_that_looks_like_a_number_is_shown_as_it_is() -> None:
    text = Player(releases()).ask("list all releases")
    assert "| 1.10 |" in text
    assert "| 1.1 |" in text


def test_a_very_large_number_is_shown() -> None:
    assert "**20000000000000000000000000**" in Player(releases()).ask("highest size of releases")


@pytest.mark.parametrize("question", ["人均消费是多少", "人均销售额", "德国的人均消费"])
def test_an_average_a_head_is_not_the_average_of_documents(source: Source, question: str) -> None:
    player = Player(source)
    assert "单笔的平均" in player.ask(question)
    assert not player.was_answered


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("人均工资是多少", "SELECT AVG(salary) FROM employee"),
        ("各部门的人均工资",
         "SELECT dept_name, AVG(salary) FROM employee JOIN department USING (dept_id)"
         " GROUP BY 1 ORDER BY 2 DESC"),
    ],
)  # fmt: skip
def test_an_average_a_head_of_what_each_person_has_is_given(question: str, sql: str) -> None:
    assert_rows(company(), question, sql)


# -- those that have none ------------------------------------------------------------------------

INVOICES = (
    "SELECT c.FirstName, c.LastName, COUNT(i.InvoiceId) AS n FROM Customer c"
    " LEFT JOIN Invoice i USING (CustomerId) GROUP BY c.CustomerId"
)


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("which customer has the fewest invoices?", f"{INVOICES} HAVING n = 0 ORDER BY 1, 2"),
        ("哪位客户的发票最少", f"{INVOICES} HAVING n = 0 ORDER BY 1, 2"),
        ("bottom 3 customers by number of invoices", f"{INVOICES} ORDER BY 3, 1, 2 LIMIT 3"),
        ("customers with fewer than 2 invoices", f"{INVOICES} HAVING n < 2 ORDER BY 3 DESC, 1, 2"),
        ("which playlist has the fewest tracks?",
         "SELECT Name, COUNT(*) FROM Playlist JOIN PlaylistTrack USING (PlaylistId)"
         " GROUP BY PlaylistId ORDER BY 2 LIMIT 1"),
        ("which countries have the fewest customers?",
         "SELECT Country, COUNT(*) FROM Customer GROUP BY 1 ORDER BY 2, 1 LIMIT 10"),
    ],
)  # fmt: skip
def test_who_has_none_is_among_those_with_the_fewest(
    source: Source, question: str, sql: str
) -> None:
    assert_rows(source, question, sql)


@pytest.mark.parametrize(
    "question", ["which customer had the fewest invoices in 2023?", "2023年发票最少的客户"]
)
def test_the_fewest_under_a_condition_on_what_is_counted_are_declined(
    source: Source, question: str
) -> None:
    player = Player(source)
    player.ask(question)
    assert not player.was_answered


@pytest.mark.parametrize(
    ("question", "states"),
    [
        ("how many customers are not in MA?", "('MA')"),
        ("how many customers except MA and BA", "('MA', 'BA')"),
    ],
)
def test_a_row_without_a_value_is_not_of_that_value(
    source: Source, question: str, states: str
) -> None:
    """Most customers have no state, and so are in none of these."""
    wanted = f"SELECT COUNT(*) - SUM(coalesce(State, '') IN {states}) FROM Customer"
    assert_rows(source, question, wanted)


def crew() -> Source:
    """Employees of whom one has no department."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript(
        "CREATE TABLE department (department_id INTEGER PRIMARY KEY, name TEXT);"
        "CREATE TABLE employee (employee_id INTEGER PRIMARY KEY, name TEXT,"
        " department_id INTEGER REFERENCES department (department_id));"
        "INSERT INTO department VALUES (1, 'Kitchen'), (2, 'Bar');"
        "INSERT INTO employee VALUES (1, 'Ada', 1), (2, 'Bo', 2), (3, 'Cy', NULL);"
    )
    return sqlite_source("crew", connection, {})


def test_who_belongs_nowhere_does_not_belong_to_what_is_ruled_out() -> None:
    assert_rows(crew(), "how many employees are not in Kitchen?", "SELECT 2")
    assert_rows(crew(), "how many employees are in Kitchen?", "SELECT 1")


# -- what does not fit ---------------------------------------------------------------------------


def wide() -> Source:
    """More tables than are read at once."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript("".join(f"CREATE TABLE box_{n} (size REAL);" for n in range(80)))
    source = sqlite_source("wide", connection, {})
    source.room = 1_000
    return source


def test_tables_that_are_not_listed_are_counted() -> None:
    text = Player(wide()).ask("which tables are there?")
    listed = text.count("| box_")
    assert 0 < listed < 80
    assert f"The source has {80 - listed} tables more." in text


def test_a_list_of_all_tables_counts_none(source: Source) -> None:
    tight = replace(source, room=4_000)
    text = Player(tight).ask("有哪些表")
    assert all(f"| {table['name']} |" in text for table in source.tables)
    assert "还有" not in text


def test_a_tie_at_the_end_of_a_top_list_is_told(source: Source) -> None:
    tie = "rows that are not shown may share their place"
    assert tie in Player(source).ask("the 5 most expensive tracks")
    assert "可能还有并列的行未显示" in Player(source).ask("最便宜的5首歌")
    assert tie not in Player(source).ask("top 5 countries by sales")
    assert tie not in Player(source).ask("customers by country")


# -- charts -------------------------------------------------------------------------------------


def drawn(player: Player) -> dict[str, Any]:
    (spec,) = [m.call.args["spec"] for m in player.made if m.call.name == "make_chart"]
    return spec


def told_apart_by(spec: dict[str, Any]) -> list[str]:
    """The columns that decide where a row is drawn: two rows alike in all are one mark."""
    encoding: dict[str, Any] = spec["encoding"]
    is_beside = spec["mark"] == "bar" and "stack" in encoding["y"]
    keys = ("x", "xOffset") if is_beside else ("x", "color")
    fields = [str(encoding[key]["field"]) for key in keys if key in encoding]
    details: list[dict[str, Any]] = [] if is_beside else encoding.get("detail", [])
    return [*fields, *(str(detail["field"]) for detail in details)]


@pytest.mark.parametrize(
    "question",
    [
        "sales by customer as a chart",
        "sales by customer as a pie chart",
        "top 10 customers by number of invoices as a chart",
        "sales by customer and month as a chart",
        "average invoice total by country and year as a bar chart",
        "sales by country, genre and year as a chart",
        "number of tracks by playlist and genre as a chart",
    ],
)
def test_each_row_of_a_chart_is_a_mark_of_its_own(source: Source, question: str) -> None:
    player = Player(source)
    player.ask(question)
    names = [column["name"] for column in player.query.answer["columns"]]
    places = [names.index(field) for field in told_apart_by(drawn(player))]
    marks = {tuple(row[place] for place in places) for row in player.rows}
    assert len(marks) == len(player.rows)


def test_bars_stand_on_each_other_only_where_they_add_up(source: Source) -> None:
    totals, averages, namesakes = Player(source), Player(source), Player(source)
    totals.ask("sales by country and genre as a chart")
    assert "stack" not in drawn(totals)["encoding"]["y"]
    averages.ask("average track length by genre and media type as a chart")
    assert drawn(averages)["encoding"]["y"]["stack"] is None
    namesakes.ask("the 10 most expensive tracks as a chart")
    assert drawn(namesakes)["encoding"]["y"]["stack"] is None
