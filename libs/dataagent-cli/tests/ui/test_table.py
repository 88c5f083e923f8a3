"""Aligned text, whatever the cells hold and however narrow the screen is."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from dataagent_cli.ui.tables import Heading, draw

ROWS = st.integers(1, 5).flatmap(
    lambda count: st.lists(
        st.lists(st.none() | st.text(max_size=300), min_size=count, max_size=count), max_size=5
    ).map(lambda rows: (count, rows))
)


@given(ROWS, st.integers(40, 200))
def test_no_line_is_wider_than_the_screen_and_no_cell_breaks_out(
    shaped: tuple[int, list[list[str | None]]], width: int
) -> None:
    count, rows = shaped
    drawn = draw([Heading(f"c{at}") for at in range(count)], rows, width=width)
    lines = drawn.split("\n")
    assert max(cell_len(line) for line in lines) <= width
    assert not [char for char in drawn if unicodedata.category(char) == "Cc" and char != "\n"]
    if count * 10 <= width:  # they fit beside each other: one line a row
        assert len(lines) == len(rows) + 2


def test_numbers_stand_on_the_right_and_are_whole() -> None:
    headings = [Heading("city"), Heading("total", is_number=True)]
    rows = [["上海" * 20, "12345678901234567890"], [None, None]]
    assert draw(headings, rows, width=32).split("\n") == [
        "city                       total",
        "──────────  ────────────────────",
        "上海上海…   12345678901234567890",
        "NULL                        NULL",
    ]


def test_a_screen_that_is_too_narrow_shows_one_row_after_another() -> None:
    headings = [Heading(f"column{at}") for at in range(5)]
    drawn = draw(headings, [["x" * 50, "二", None, "", "\x1b[31mred"]], width=30)
    assert drawn.split("\n") == [
        "── row 1 ─────────────────────",
        "column0  " + "x" * 20 + "…",
        "column1  二",
        "column2  NULL",
        "column3",
        "column4  red",
    ]


def test_no_screen_is_too_narrow_for_a_whole_number() -> None:
    headings = [Heading("city"), Heading("total", is_number=True), Heading("id", is_whole=True)]
    number = "-" + "1234567890" * 3 + ".25"
    lines = draw(headings, [["Ulm" * 20, number, "0123456789abcdef"]], width=20).split("\n")
    assert lines[1:] == ["city   UlmUlmUlmUlm…", f"total  {number}", "id     0123456789abcdef"]


def test_without_a_screen_nothing_is_fitted() -> None:
    headings = [Heading(f"column{at}") for at in range(30)]
    row = ["y" * 150] * 30
    assert len(draw(headings, [row], width=None).split("\n")) == 3
