"""What stands below an answer over data: results, figures, tokens and their cost."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from dataagent_cli.data.result_commands import figure_lines
from dataagent_cli.ui import PlainRenderer, TerminalRenderer
from dataagent_cli.ui.describe import result_summary, short_args
from dataagent_core.config import Prices
from dataagent_core.events import ArtifactEvent, DoneEvent

USAGE = {"input_tokens": 1_000, "output_tokens": 234, "total_tokens": 1_234}
RESULT = ArtifactEvent(
    artifact_id="a1",
    kind="table",
    title="Umsatz 按地区",
    url="/x",
    preview={
        "row_count": 1_234,
        "truncated": None,
        "columns": [
            {"name": "地区", "type": "string"},
            {"name": "total", "type": "decimal128(9, 2)"},
        ],
        "rows": [["北京", "12.50"], ["Nord", None]],
    },
)
FIGURES = {"verified": [{"text": "12.50"}], "unbacked": [{"text": "42"}, {"text": "17 %"}]}


def drawn(
    *events: ArtifactEvent | DoneEvent,
    prices: Prices | None = None,
    export: str | None = "dataagent export",
) -> list[str]:
    seconds = [0.0]
    out, err = StringIO(), StringIO()
    consoles = [Console(file=file, width=80, _environ={}) for file in (out, err)]
    renderer = TerminalRenderer(*consoles, clock=lambda: seconds[0], prices=prices, export=export)
    renderer.begin()
    seconds[0] = 3.2
    for event in events:
        renderer.render(event)
    assert out.getvalue() == "", "none of it is the answer"
    return err.getvalue().splitlines()


def test_a_result_is_a_table_with_its_count_and_the_way_to_all_of_it() -> None:
    lines = drawn(RESULT)
    assert lines == [
        "▤ Umsatz 按地区",
        "  地区  total",
        "  ────  ─────",
        "  北京  12.50",
        "  Nord   NULL",
        "  2 of 1,234 rows · dataagent export a1 FILE.csv",
    ]
    assert drawn(RESULT, export="/export")[-1] == "  2 of 1,234 rows · /export a1 FILE.csv"
    assert drawn(RESULT, export=None)[-1] == "  2 of 1,234 rows"
    assert cell_len(lines[1]) == cell_len(lines[2]) == cell_len(lines[3]) == cell_len(lines[4])


def test_the_end_has_tokens_cost_and_time_and_later_the_sum() -> None:
    prices = Prices(3, 15, "USD")
    done = DoneEvent(token_usage=USAGE)
    assert drawn(done, done, prices=prices) == [
        "1,234 tokens · $0.0065 · 3.2 s",
        "1,234 tokens · $0.0065 · 3.2 s · session: $0.0130",
    ]
    assert drawn(done, done)[1] == "1,234 tokens · 3.2 s · session: 2,468 tokens"
    assert drawn(done, prices=Prices(3, 15, "CHF")) == ["1,234 tokens · 0.0065 CHF · 3.2 s"]


def test_figures_that_nothing_backs_are_named() -> None:
    done = DoneEvent(metadata={"figures": FIGURES})
    assert drawn(done) == [
        "! 2 figures not found in the data: 42, 17 %",
        "3.2 s · 1 figure verified",
    ]
    out, err = StringIO(), StringIO()
    PlainRenderer(out, err).render(done)
    assert err.getvalue() == "! 2 figures not found in the data: 42, 17 %\n"


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ({"unchecked": 3, "is_complete": False}, "! 3 figures could not be checked"),
        ({"unchecked": 0, "is_complete": False}, "! not all figures could be checked"),
    ],
)
def test_that_not_all_figures_could_be_checked_is_said(report: dict[str, Any], said: str) -> None:
    figures = {"verified": [{"text": "12.50", "expression": "n"}], "unbacked": [], **report}
    done = DoneEvent(metadata={"figures": figures})
    assert drawn(done) == [said, "3.2 s · 1 figure verified"]
    out, err = StringIO(), StringIO()
    PlainRenderer(out, err).render(done)
    assert err.getvalue() == f"{said}\n"
    assert figure_lines(figures) == ["Figures   ✓ 12.50: n", f"          {said}"]


def test_what_data_tools_answer_is_put_in_words() -> None:
    assert result_summary('{"row_count": 1234, "source": "shop"}') == "1,234 rows · shop"
    assert result_summary('{"source": "shop", "tables": [1], "omitted": 2}') == "3 tables · shop"
    assert result_summary('{"kind": "chart", "mark": "bar"}') == "chart (bar)"
    assert (
        result_summary('{"error": {"code": "x", "message": "No such table."}}') == "No such table."
    )
    assert (
        result_summary('{"error": {"message": "No such table.", "source": "shop"}}')
        == "shop: No such table."
    )
    assert result_summary('{"other": 1}') == '{"other": 1}'
    assert result_summary("['/a.md', '/数据/']") == "2 paths: /a.md, /数据/"
    assert result_summary("['/a.md', ") == "['/a.md',"
    assert short_args({"tables": [], "source": None, "limit": 0}) == "limit=0"
