"""A first message becomes a title."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.session.types import TITLE_LENGTH, clean_title, title_of

SENTENCE = "How many invoices did each customer in Germany pay in the spring of last year?"
CHINESE = (
    "请帮我分析一下过去三年里每个地区的销售额变化趋势并且按照产品类别进行分组"
    "然后画出折线图和柱状图以便下周开会时使用好吗"
)


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("Sales by country?", "Sales by country?"),
        ("  \n\n  Sales \t by\u3000country\nand year", "Sales by country"),
        ("## **Sales** of `tracks`", "Sales of tracks"),
        ("- 1. > why?", "why?"),
        ("```sql\nSELECT 1\n```", "SELECT 1"),
        ("---\n???\nreal question", "real question"),
        (SENTENCE, "How many invoices did each customer in Germany…"),
        ("x" * 80, "x" * 49 + "…"),
        ("上个月的销售额是多少？", "上个月的销售额是多少？"),
        (CHINESE, CHINESE[:49] + "…"),
        (
            "按国家统计 invoices 的数量，" + "数据" * 30,
            "按国家统计 invoices 的数量，" + "数据" * 15 + "…",
        ),
        ("a\u202eb\u0000c\u200bd", "abcd"),
        ("", None),
        ("  \n ```\n!?\n", None),
        ("😀", None),
    ],
)
def test_title_is_the_first_line_that_says_something(message: str, title: str | None) -> None:
    assert title_of(message) == title


def test_cut_does_not_take_a_character_apart() -> None:
    family = "👨\u200d👩\u200d👧"
    for text in ("a" * 48 + "e\u0301" * 10, "a" * 47 + family * 5, "a" * 48 + "👍🏽" * 5):
        title = title_of(text)
        assert title is not None
        assert len(title) <= TITLE_LENGTH
        kept = title.removesuffix("…")
        assert text.startswith(kept)
        following = text[len(kept)]
        assert unicodedata.category(following)[0] != "M"
        assert following != "\u200d"
        assert not kept.endswith("\u200d")
        assert not "\U0001f3fb" <= following <= "\U0001f3ff"


@given(st.text())
def test_any_title_is_one_short_visible_line(message: str) -> None:
    for title in (title_of(message), clean_title(message)):
        if title:
            assert len(title) <= TITLE_LENGTH
            assert title == title.strip()
            assert len(title.splitlines()) == 1
            assert "\x00" not in title
            title.encode()


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=12), min_size=1, max_size=20))
def test_words_are_not_cut(words: list[str]) -> None:
    title = title_of(" ".join(words))
    assert title is not None
    shown = title.removesuffix("…").split()
    assert shown == words[: len(shown)]


def test_a_huge_message_costs_no_more_than_its_beginning() -> None:
    assert title_of("\n" * 5_000_000 + "far away") is None
    assert title_of("word " * 1_000_000) == "word " * 9 + "word…"
