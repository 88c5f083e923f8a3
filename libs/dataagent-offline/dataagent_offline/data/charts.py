"""The chart of a result: which mark, which columns; or why there is none."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import orjson

from dataagent_core.models.rule_based import Conversation
from dataagent_offline.data.data_tools import TableResult
from dataagent_offline.data.plan import SelectPlan, repeats_rows


def can_be_drawn(plan: SelectPlan, result: TableResult) -> bool:
    """Whether the result has groups or ranks with a number each."""
    has_number = plan.aggregate is not None or bool(plan.factors)
    return has_number and not plan.is_scalar and result.row_count > 0


def spec_of(plan: SelectPlan, result: TableResult, mark: str) -> dict[str, Any]:
    """The Vega-Lite specification, without data. Times are a line, all else bars.

    A bar stands for one row, except where rows add up: two people of one name are not one bar.
    """
    is_time = any(group.bucket for group in plan.groups)
    x, *rest = _axes(plan, result)
    if mark == "auto":
        mark = "line" if is_time and result.row_count > 2 else "bar"
    if mark == "arc" and not rest:
        return {"mark": "arc", "encoding": {"theta": _measure(result), "color": _category(x)}}
    if mark == "arc":
        mark = "bar"
    adds_up = _adds_up(plan)
    if mark == "bar" and len(rest) > 1 and not adds_up:
        mark = "point"
    encoding: dict[str, Any] = {
        "x": {"field": x, "type": "ordinal"} if is_time else _category(x),
        "y": _measure(result),
    }
    if not is_time:
        encoding["x"]["sort"] = "y" if plan.direction == "asc" else "-y"
    if rest:
        encoding["color"] = _category(rest[0])
    if rest[1:]:
        encoding["detail"] = [_category(name) for name in rest[1:]]
    if mark == "bar" and not adds_up:
        encoding["y"]["stack"] = None
        encoding |= {"xOffset": _category(rest[0])} if rest else {}
    return {"mark": mark, "encoding": encoding}


def mark_of(text: str) -> str:
    """The mark that was drawn, from the chart tool's answer."""
    try:
        return str(orjson.loads(text)["mark"])
    except (ValueError, KeyError, TypeError):
        return "chart"


def chart_note(conversation: Conversation, mark: str | None) -> str:
    """What the answer says about the chart."""
    if mark is None:
        return conversation.say(
            "There is no chart: the chart could not be made.", "没有图表：图表未能生成。"
        )
    return conversation.say(f"The chart ({mark}) is with this answer.", f"图表（{mark}）见本回答。")


def no_chart_tool_text(conversation: Conversation) -> str:
    """When the agent has no chart tool."""
    return conversation.say(
        "There is no chart: this agent has no tool `make_chart`.",
        "没有图表：此智能体没有工具 `make_chart`。",
    )


def not_drawable_text(conversation: Conversation) -> str:
    """When the answer is one number, or has none."""
    return conversation.say(
        "There is no chart: the answer has no groups to draw.",
        "没有图表：答案没有可以画成图的分组。",
    )


def _measure(result: TableResult) -> dict[str, Any]:
    return {"field": result.columns[-1], "type": "quantitative"}


def _category(name: str) -> dict[str, Any]:
    return {"field": name, "type": "nominal"}


def _adds_up(plan: SelectPlan) -> bool:
    """Whether bars may stand on each other: totals of several groupings, no row in two of them."""
    is_total = plan.aggregate in {"sum", "count"} and not repeats_rows(plan.hops)
    return is_total and len(plan.groups) > 1


def _axes(plan: SelectPlan, result: TableResult) -> list[str]:
    """The column along the axis, then those shown by colour, the most informative first."""
    shown = list(result.columns[:-1])
    lasts = [end - 1 for end in accumulate(len(group.shown) for group in plan.groups)]
    steps = [last for last, group in zip(lasts, plan.groups, strict=True) if group.bucket]
    order = [*steps[:1], *lasts, len(shown) - 1, *range(len(shown))]
    return [shown[position] for position in dict.fromkeys(order)]
