"""Tables in an answer: no figure is cut and no column left out, however narrow the screen is."""

from __future__ import annotations

from io import StringIO

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from dataagent_cli.ui.markdown import AnswerMarkdown

FIGURES = st.decimals(-(10**12), 10**12, places=2).map(lambda number: f"{number:,}")
CELLS = st.sampled_from(["北京", "a few words", "净利润", "x"]) | FIGURES


def drawn(rows: list[list[str]], width: int) -> list[str]:
    marked = [f"| {' | '.join(row)} |" for row in (rows[0], ["---"] * len(rows[0]), *rows[1:])]
    file = StringIO()
    Console(file=file, width=width, _environ={}).print(AnswerMarkdown("\n".join(marked)))
    return [line.rstrip() for line in file.getvalue().split("\n") if line.strip()]


@given(st.lists(FIGURES, min_size=1, max_size=30), st.integers(30, 160))
def test_every_figure_is_whole(figures: list[str], width: int) -> None:
    names = [f"column{at}" for at in range(len(figures))]
    lines = drawn([names, figures], width)
    assert [word for line in lines for word in line.split() if word in figures] == figures
    assert max(cell_len(line) for line in lines) <= width


@given(
    st.integers(1, 6).flatmap(
        lambda count: st.lists(
            st.lists(CELLS, min_size=count, max_size=count), min_size=2, max_size=4
        )
    ),
    st.integers(30, 160),
)
def test_every_word_is_there(rows: list[list[str]], width: int) -> None:
    said = [word for line in drawn(rows, width) for word in line.replace(":", " ").split()]
    for word in (word for row in rows for cell in row for word in cell.split()):
        assert word in said


def test_a_table_that_is_too_wide_is_shown_one_row_after_another() -> None:
    assert drawn([["城市", "total", "before"], ["北京", "1,234,567", "9,876,543"]], 24) == [
        "── row 1 ───────────────",
        "城市: 北京",
        "total: 1,234,567",
        "before: 9,876,543",
    ]


def test_the_longest_text_makes_room_for_what_cannot_be_broken() -> None:
    link = "https://example.com/" + "a" * 25
    lines = drawn([["where", "what", "说明"], [link, "some words " * 9, "很长的说明" * 9]], 80)
    assert lines[2].startswith(f" {link}  some words")
    chinese = "".join(sign for line in lines[2:] for sign in line if cell_len(sign) == 2)
    assert chinese == "很长的说明" * 9
