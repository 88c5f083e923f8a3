"""Data that a question names with `@`, as the composer of the web app writes it."""

from __future__ import annotations

import pytest

from dataagent_offline.data.pipeline import SourceMentions, parse_mentions

from .data_player import Player, Source
from .data_sources import company, shop


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return shop(tmp_path_factory.mktemp("shop"))


@pytest.mark.parametrize(
    "question",
    [
        "How many rows are in @chinook.Customer?",
        "How many customers are there in @chinook?",
        "@chinook how many customers?",
        "@chinook: how many customers?",
        "@chinook.Customer 一共有多少？",
        "在@chinook 里有多少客户？",
    ],
)
def test_a_table_and_a_source_that_are_named_are_used(source: Source, question: str) -> None:
    player = Player(company(), source)
    assert "**129**" in player.ask(question)
    assert {made.call.args["source"] for made in player.made} == {"chinook"}


def test_a_named_source_alone_shows_its_tables(source: Source) -> None:
    assert "InvoiceLine" in Player(company(), source).ask("@chinook")


def test_a_named_source_is_not_left_for_another_that_would_fit(source: Source) -> None:
    text = Player(company(), source).ask("How many tracks are in @company?")
    assert "tracks" in text
    assert "SELECT" not in text


def test_two_named_sources_are_asked_back(source: Source) -> None:
    player = Player(company(), source)
    text = player.ask("How many rows are in @chinook.Customer and @company.orders?")
    assert "“chinook”, “company”" in text
    assert player.made == []


@pytest.mark.parametrize(
    ("question", "files", "found"),
    [
        ("plain: words,", [], SourceMentions((), "plain: words,")),
        ("mail ann@example.org", [], SourceMentions((), "mail ann@example.org")),
        ("sum up @a.csv", ["a.csv"], SourceMentions((), "sum up a.csv")),
        ('count @s."Order details"', [], SourceMentions(("s",), "count Order details")),
        ("count @s.dbo.orders.", [], SourceMentions(("s",), "count orders.")),
        ("统计@销售.订单", [], SourceMentions(("销售",), "统计订单")),
    ],
)
def test_a_mention_becomes_plain_words(
    question: str, files: list[str], found: SourceMentions
) -> None:
    assert parse_mentions(question, files) == found
