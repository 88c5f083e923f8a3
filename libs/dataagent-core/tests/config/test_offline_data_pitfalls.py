"""Questions whose obvious SQL gives a wrong number: what the offline model makes of them."""

from __future__ import annotations

import pytest

from .offline_data_player import Player, Source, same_rows
from .offline_data_sources import shop


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
