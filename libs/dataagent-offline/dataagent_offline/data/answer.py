"""A result as the text of the answer: the number or a small table, how it was read, its receipt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Context, Decimal
from typing import Any, Final

from dataagent_core.models.rule_based import Conversation
from dataagent_offline.data.plan import Condition, Group, SelectPlan
from dataagent_offline.data.results import TableResult
from dataagent_offline.data.schema import SourceSchema

_MOST_ROWS: Final = 20
_STEP: Final = Decimal("0.0001")
_LONG: Final = Context(prec=500)
"""Digits enough for the largest float and the longest decimal."""
_SIGNS: Final = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤", "eq": "=", "in": "=", "not_in": "≠",
                "is": "=", "is_not": "≠"}  # fmt: skip
_AGGREGATES: Final = {
    "count": ("number of rows of", "行数："),
    "count_distinct": ("number of different", "不同值的个数："),
    "sum": ("sum of", "总和："),
    "avg": ("average of", "平均值："),
    "min": ("lowest", "最小值："),
    "max": ("highest", "最大值："),
}


def answer_text(
    conversation: Conversation,
    plan: SelectPlan,
    result: TableResult,
    schema: SourceSchema,
    *,
    chart: str,
) -> str:
    """The whole answer. `chart` is what to say about the chart, if one was asked for."""
    reading = conversation.say("Read as: ", "理解为：")
    parts = [
        _finding(conversation, plan, result),
        f"{reading}{describe_plan(conversation, plan, code='`')}",
        chart,
        receipt(conversation, plan, result, schema),
        note(conversation),
    ]
    return "\n\n".join(part for part in parts if part)


def describe_plan(conversation: Conversation, plan: SelectPlan, *, code: str = "") -> str:
    """The plan in words, so that a wrong reading can be seen. `code` marks what is a condition."""
    parts = [_subject(conversation, plan)]
    by = conversation.say("by", "按")
    parts.extend(f"{by} {_group(group)}" for group in plan.groups)
    parts.extend(f"{code}{each}{code}" for each in _conditions(plan))
    if plan.direction:
        parts.append(_ranked(conversation, plan))
    return "; ".join(parts)


def _conditions(plan: SelectPlan) -> Iterator[str]:
    yield from (_condition(condition) for condition in plan.conditions)
    if plan.date and plan.periods:
        yield f"{plan.date}: {', '.join(period.label for period in plan.periods)}"
    if plan.having:
        operator, number = plan.having
        yield f"{plan.name} {_SIGNS[operator]} {cell(number)}"


def receipt(
    conversation: Conversation, plan: SelectPlan, result: TableResult, schema: SourceSchema
) -> str:
    """Where the number comes from: source, rows, and the SQL as it ran."""
    source = conversation.say("Source", "数据源")
    rows = conversation.say("rows", "行数")
    head = f"{source}: {result.source or schema.source or ''} · {rows}: {result.row_count}"
    if result.is_truncated:
        head += conversation.say(" (truncated)", "（已截断）")
    if plan.date and schema.time_zone:
        head += conversation.say(" · time zone: ", " · 时区：") + schema.time_zone
    policy = "".join(f"\n{rule}" for rule in result.policy)
    warning = conversation.say("Warning: ", "警告：")
    warnings = "".join(f"\n{warning}{one}" for one in result.warnings)
    return f"{head}{policy}{warnings}\n\n```sql\n{result.sql_shown}\n```"


def note(conversation: Conversation) -> str:
    """Who answered, and how to have more."""
    return conversation.say(
        "(Offline model: answered by rule, without a language model. For real answers set "
        "DATAAGENT_MODEL and the provider's key.)",
        "（离线模型：按规则回答，未使用语言模型。"
        "要得到真正的回答，请设置 DATAAGENT_MODEL 和对应的密钥。）",
    )


def cell(value: Any) -> str:
    """A cell as text: numbers without noise, nothing that breaks a table."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float | Decimal):
        return _plain(Decimal(str(value)))
    return str(value).replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def _plain(number: Decimal) -> str:
    if not number.is_finite():
        return str(number)
    is_small = abs(number) < _STEP
    shown = number if is_small else number.quantize(_STEP, context=_LONG)
    text = f"{shown:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _finding(conversation: Conversation, plan: SelectPlan, result: TableResult) -> str:
    if plan.is_scalar:
        value = result.rows[0][0] if result.rows and result.rows[0] else None
        if value is None:
            return conversation.say(
                "There are no rows to calculate that from.", "没有可供计算的数据。"
            )
        return f"**{cell(value)}**"
    if not result.row_count:
        return conversation.say("No row matches.", "没有符合条件的数据。")
    table = _table(result.columns, result.rows[:_MOST_ROWS])
    shown = min(len(result.rows), _MOST_ROWS)
    if result.row_count > shown:
        table += conversation.say(
            f"\n\nThe first {shown} of {result.row_count} rows.",
            f"\n\n共 {result.row_count} 行，此处显示前 {shown} 行。",
        )
    return f"{table}\n\n{_tie(conversation)}" if _ends_in_a_tie(plan, result) else table


def _ends_in_a_tie(plan: SelectPlan, result: TableResult) -> bool:
    """Whether the last rows of a top list are equal: then the next may be, too, and is cut off."""
    if plan.limit != result.row_count or plan.is_single or len(result.rows) != result.row_count:
        return False
    return len(result.rows) > 1 and result.rows[-1][-1] == result.rows[-2][-1]


def _tie(conversation: Conversation) -> str:
    return conversation.say(
        "The last rows are equal, so rows that are not shown may share their place.",
        "最后几行数值相同，可能还有并列的行未显示。",
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [_line(columns), _line(["---"] * len(columns)), *(_line(row) for row in rows)]
    return "\n".join(lines)


def _line(cells: Sequence[Any]) -> str:
    return f"| {' | '.join(cell(each) for each in cells)} |"


def _subject(conversation: Conversation, plan: SelectPlan) -> str:
    if plan.aggregate is None:
        what = ", ".join(map(str, (*plan.shown, *plan.factors)))
        return conversation.say(f"list of {what}", f"列出 {what}")
    english, chinese = _AGGREGATES[plan.aggregate]
    what = " × ".join(map(str, plan.factors)) or plan.base
    return conversation.say(f"{english} {what}", f"{chinese}{what}")


def _group(group: Group) -> str:
    shown = ", ".join(map(str, group.shown))
    return f"{shown} ({group.bucket})" if group.bucket else shown


def _condition(condition: Condition) -> str:
    values = ", ".join(
        f"“{value}”" if isinstance(value, str) else cell(value) for value in condition.values
    )
    return f"{condition.ref} {_SIGNS[condition.operator]} {values}"


def _ranked(conversation: Conversation, plan: SelectPlan) -> str:
    is_descending = plan.direction == "desc"
    order = conversation.say(
        "highest first" if is_descending else "lowest first",
        "从高到低" if is_descending else "从低到高",
    )
    if plan.limit is None:
        return order
    if plan.is_single:
        return conversation.say(
            f"{order}, the first with its equals", f"{order}，取第一名（含并列）"
        )
    return conversation.say(f"{order}, top {plan.limit}", f"{order}，前 {plan.limit} 名")
