"""The chart of a result: which mark, which columns; or why there is none."""

from __future__ import annotations

from typing import Any

import orjson

from dataagent_core.config.models.conversation import Conversation
from dataagent_core.config.models.offline_data.plan import Plan
from dataagent_core.config.models.offline_data.results import Result


def can_be_drawn(plan: Plan, result: Result) -> bool:
    """Whether the result has groups or ranks with a number each."""
    has_number = plan.aggregate is not None or bool(plan.factors)
    return has_number and not plan.is_scalar and result.row_count > 0


def spec_of(plan: Plan, result: Result, mark: str) -> dict[str, Any]:
    """The Vega-Lite specification, without data. Times are a line, all else bars."""
    measure, first = result.columns[-1], result.columns[0]
    is_time = any(group.bucket for group in plan.groups)
    if mark == "auto":
        mark = "line" if is_time and result.row_count > 2 else "bar"
    if mark == "arc":
        return {
            "mark": "arc",
            "encoding": {
                "theta": {"field": measure, "type": "quantitative"},
                "color": {"field": first, "type": "nominal"},
            },
        }
    x, color = _axes(plan, result)
    encoding: dict[str, Any] = {
        "x": {"field": x, "type": "ordinal" if is_time else "nominal"},
        "y": {"field": measure, "type": "quantitative"},
    }
    if not is_time:
        encoding["x"]["sort"] = "y" if plan.direction == "asc" else "-y"
    if color:
        encoding["color"] = {"field": color, "type": "nominal"}
    return {"mark": mark, "encoding": encoding}


def mark_of(text: str) -> str:
    """The mark that was drawn, from the chart tool's answer."""
    try:
        return str(orjson.loads(text)["mark"])
    except (ValueError, KeyError, TypeError):
        return "chart"


def sentence(conversation: Conversation, mark: str | None) -> str:
    """What the answer says about the chart."""
    if mark is None:
        return conversation.say(
            "There is no chart: the chart could not be made.", "没有图表：图表未能生成。"
        )
    return conversation.say(f"The chart ({mark}) is with this answer.", f"图表（{mark}）见本回答。")


def no_tool(conversation: Conversation) -> str:
    """When the agent has no chart tool."""
    return conversation.say(
        "There is no chart: this agent has no tool `make_chart`.",
        "没有图表：此智能体没有工具 `make_chart`。",
    )


def nothing_to_draw(conversation: Conversation) -> str:
    """When the answer is one number, or has none."""
    return conversation.say(
        "There is no chart: the answer has no groups to draw.",
        "没有图表：答案没有可以画成图的分组。",
    )


def _axes(plan: Plan, result: Result) -> tuple[str, str | None]:
    """The column along the axis, and the one told apart by colour."""
    shown = list(result.columns[:-1])
    if len(plan.groups) < 2:
        return shown[-1], None
    place = 0
    for group in plan.groups:
        if group.bucket:
            x = shown[place]
            return x, next((name for name in shown if name != x), None)
        place += len(group.shown)
    return shown[0], shown[-1]
