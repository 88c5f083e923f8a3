"""Charts as pictures and in characters; which terminal gets which."""

from __future__ import annotations

import io
import re
from base64 import standard_b64decode
from typing import Any

import pytest
from PIL import Image
from rich.cells import cell_len

from dataagent_cli.streams import register_ascii_fallback
from dataagent_cli.ui.chart_text import chart_text
from dataagent_cli.ui.graphics import graphics, picture_text, reflows


def png(width: int = 20, height: int = 14) -> bytes:
    image = Image.new("RGBA", (width, height), (0, 0, 0, 0))
    image.paste((255, 0, 0, 255), (0, 0, width // 2, 6))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def test_kitty_gets_the_picture_itself_in_pieces() -> None:
    content = png() + bytes(9_000)  # more than one piece
    text = picture_text(content, "kitty", columns=60)
    pieces = re.findall(r"\x1b_G([^;]*);([A-Za-z0-9+/=]*)\x1b\\", text)
    assert "".join(f"\x1b_G{keys};{data}\x1b\\" for keys, data in pieces) + "\n" == text
    assert pieces[0][0] == "a=T,f=100,q=2,c=60,m=1"
    assert [keys for keys, _ in pieces[1:]] == ["m=1"] * (len(pieces) - 2) + ["m=0"]
    assert all(len(data) <= 4096 for _, data in pieces)
    assert standard_b64decode("".join(data for _, data in pieces)) == content


def test_sixel_draws_every_pixel_once() -> None:
    text = picture_text(png(), "sixel", columns=60)
    found = re.fullmatch(r'\x1bPq"1;1;20;14((?:#\d+;2;\d+;\d+;\d+)+)(.*)\x1b\\\n', text)
    assert found, text[:80]
    assert "100;0;0" in found[1]
    assert "100;100;100" in found[1], "what was transparent is white"
    bands = found[2].split("-")
    assert len(bands) == 3, "fourteen rows are three times six"
    for band, rows in zip(bands, (6, 6, 2), strict=True):
        drawn = [0] * 20
        for part in band.split("$"):
            line = re.sub(r"^#\d+", "", part)
            line = re.sub(r"!(\d+)(.)", lambda run: run[2] * int(run[1]), line)
            assert len(line) == 20
            for x, sign in enumerate(line):
                assert not drawn[x] & (ord(sign) - 63), "no pixel has two colours"
                drawn[x] |= ord(sign) - 63
        assert drawn == [2**rows - 1] * 20


@pytest.mark.parametrize(
    ("env", "how"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "kitty"),
        ({"TERM": "foot"}, "sixel"),
        ({"TERM": "xterm-256color"}, None),
        ({"TERM": "tmux-256color", "TMUX": "x", "KITTY_WINDOW_ID": "1"}, None),
        ({}, None),
    ],
)
def test_only_a_terminal_that_says_so_gets_pictures(env: dict[str, str], how: str | None) -> None:
    assert graphics("auto", env) == how
    assert graphics("off", env) is None
    assert graphics("sixel", env) == "sixel"


def test_which_terminals_break_lines_anew() -> None:
    assert reflows({"TERM": "tmux-256color", "TMUX": "x"})
    assert reflows({"TERM": "screen-256color", "TMUX": "x"})
    assert not reflows({"TERM": "screen"})
    assert not reflows({"TERM": "xterm-256color", "XTERM_VERSION": "XTerm(379)"})


def spec(mark: str, x: str, y: str, rows: list[tuple[Any, Any]], **more: Any) -> dict[str, Any]:
    return {
        "mark": {"type": mark},
        "encoding": {"x": {"field": "a", "type": x}, "y": {"field": "b", "type": y}, **more},
        "data": {"values": [{"a": a, "b": b} for a, b in rows]},
    }


def test_bars_are_as_long_as_their_figures() -> None:
    drawn = chart_text(
        spec("bar", "nominal", "quantitative", [("北京", 100), ("Ulm", 50), ("x" * 60, 0.5)]),
        width=60,
    )
    assert drawn is not None
    lines = drawn.split("\n")
    assert lines[0].startswith("北京  ")
    assert [line.split()[-1] for line in lines] == ["100.00", "50.00", "0.50"]
    assert lines[0].count("█") == 2 * lines[1].count("█")
    assert all(cell_len(line) <= 60 for line in lines)
    assert "…" in lines[2]


def test_a_pie_is_shares() -> None:
    pie = {
        "mark": "arc",
        "encoding": {
            "theta": {"field": "b", "type": "quantitative", "aggregate": "sum"},
            "color": {"field": "a", "type": "nominal"},
        },
        "data": {"values": [{"a": "x", "b": 1}, {"a": "x", "b": 2}, {"a": "y", "b": 1}]},
    }
    drawn = chart_text(pie, width=60) or ""
    assert "3 (75.0%)" in drawn
    assert "1 (25.0%)" in drawn


def test_a_line_goes_from_its_lowest_to_its_highest() -> None:
    rows = [(f"2024-{month:02}", month) for month in range(1, 13)]
    drawn = (chart_text(spec("line", "ordinal", "quantitative", rows), width=50) or "").split("\n")
    assert drawn[0].startswith("12 │")
    assert drawn[-2].startswith(" 1 │")
    assert drawn[-1].split() == ["2024-01", "2024-12"]
    assert all(cell_len(line) <= 50 for line in drawn)


def test_points_and_several_lines_have_a_form_and_layers_have_none() -> None:
    points = spec("point", "quantitative", "quantitative", [(1, 2), (3, 4)])
    assert "│" in (chart_text(points, width=50) or "")
    several = spec("line", "ordinal", "quantitative", [("1", 1), ("2", 3)])
    several["encoding"]["color"] = {"field": "a", "type": "nominal"}
    assert "→" in (chart_text(several, width=60) or "")
    assert chart_text({"layer": [points]}, width=50) is None


@pytest.mark.parametrize("how", ["median", "distinct", "stdev", "valid"])
def test_a_figure_that_is_not_counted_here_is_left_to_the_picture(how: str) -> None:
    bars = spec("bar", "nominal", "quantitative", [("x", 1), ("x", 2), ("x", 30)])
    bars["encoding"]["y"]["aggregate"] = how
    assert chart_text(bars, width=60) is None
    points = spec("point", "quantitative", "quantitative", [(1, 1), (1, 2)])
    points["encoding"]["y"]["aggregate"] = how
    assert chart_text(points, width=60) is None


def test_rows_that_a_chart_filters_or_groups_by_time_are_left_to_the_picture() -> None:
    bars = spec("bar", "nominal", "quantitative", [("x", 1), ("y", 2)])
    assert (
        chart_text({**bars, "transform": [{"filter": {"field": "b", "lt": 2}}]}, width=60) is None
    )
    months = spec("bar", "temporal", "quantitative", [("2024-01-01T00:00:00", 1)])
    months["encoding"]["x"]["timeUnit"] = "yearmonth"
    assert chart_text(months, width=60) is None


def test_a_count_is_of_rows_whatever_they_hold() -> None:
    bars = spec("bar", "nominal", "quantitative", [("x", "a"), ("x", None), (None, 3)])
    bars["encoding"]["y"]["aggregate"] = "count"
    lines = (chart_text(bars, width=60) or "").split("\n")
    assert [(line.split()[0], line.split()[-1]) for line in lines] == [("x", "2"), ("NULL", "1")]


def test_a_line_is_drawn_along_its_axis_and_adds_nothing_up() -> None:
    days = [("2024-03-01T00:00:00", 30), ("2024-01-01T00:00:00", 10), ("2024-03-01T00:00:00", 40)]
    lines = spec("line", "temporal", "quantitative", [*days, (None, 99)])
    drawn = (chart_text(lines, width=50) or "").split("\n")
    assert drawn[0].startswith("40 │")
    assert drawn[-2].startswith("10 │")
    assert drawn[-1].split() == ["2024-01-01", "2024-03-01"]
    lines["encoding"]["color"] = {"field": "b", "type": "nominal"}
    assert "10 → 10" in (chart_text(lines, width=60) or "")


def test_a_chart_of_a_part_of_the_rows_says_so() -> None:
    bars = spec("bar", "nominal", "quantitative", [("x", 1)])
    title = {"text": "Sales", "subtitle": "the first 5,000 of 9,000 rows"}
    lines = (chart_text({**bars, "title": title}, width=60) or "").split("\n")
    assert lines[:2] == ["Sales", "the first 5,000 of 9,000 rows"]


def test_small_figures_differ_where_their_bars_do() -> None:
    bars = spec("bar", "nominal", "quantitative", [("x", 0.0314), ("y", 0.0349), ("z", -0.125)])
    lines = (chart_text(bars, width=60) or "").split("\n")
    assert [line.split()[-1] for line in lines] == ["0.0314", "0.0349", "-0.125"]


def test_without_utf8_signs_are_plain() -> None:
    text = "▤ ─── 3 rows · shop … █▌ ⡇ 中"
    assert text.encode("ascii", register_ascii_fallback()) == b"# --- 3 rows * shop ... ## * ?"
