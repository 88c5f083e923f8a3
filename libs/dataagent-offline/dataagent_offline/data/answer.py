"""Writes the answer: the number or a small table, how the question was read, the receipt.

Also what is said instead: what was not understood and what can be asked, which tables a source has,
what a table holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Context, Decimal
from typing import Any, Final

from dataagent_core.models.rule_based import Conversation
from dataagent_offline.data.data_tools import TableResult
from dataagent_offline.data.plan import Condition, Group, SelectPlan
from dataagent_offline.data.schema import SchemaTable, SourceSchema
from dataagent_offline.data.segmentation import Segmentation
from dataagent_offline.data.terms import QuestionError, QuestionSpan, Role

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
    """The whole answer. `chart` is what to say about the chart, if one was requested."""
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
    table = _markdown_table(result.columns, result.rows[:_MOST_ROWS])
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


def _markdown_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
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


_REASONS: Final[dict[str, tuple[str, str]]] = {
    "unknown": (
        "I do not know {all}: no table, no column and no value of this source is called that.",
        "我不认识{all}：此数据源中没有这样的表、列或值。",
    ),
    "unlinked": ("I find nothing in this source for {all}.", "此数据源中没有与{all}对应的内容。"),
    "unplaced": (
        "I cannot place {all} in the question, so I would have to guess.",
        "我不清楚{all}在问题中的作用，因此不作猜测。",
    ),
    "several": (
        "That asks for several things at once: {all}. Please ask one at a time.",
        "问题中同时问了多件事：{all}。请一次只问一件。",
    ),
    "ambiguous": (
        "{first} can be read in more than one way: {rest}. Please say which is meant.",
        "{first}有多种理解：{rest}。请说明指的是哪一个。",
    ),
    "two_ways": (
        "{first} and the next table hang together in more than one way: {rest}. "
        "I cannot tell which is meant.",
        "{first}与另一张表之间有多种关联方式：{rest}。我无法判断指的是哪一种。",
    ),
    "unreachable": (
        "I see no way to relate {first} to what is asked about ({rest}).",
        "我找不到{first}与所问内容（{rest}）之间的关联。",
    ),
    "value_unreachable": (
        "{first} does not belong to what is asked about: {rest}.",
        "{first}不属于所问的内容：{rest}。",
    ),
    "which_date": (
        "{first} has several dates: {rest}. Please say which one is meant.",
        "{first}有多个日期：{rest}。请说明指的是哪一个。",
    ),
    "no_date": (
        "{first} has no date by which that could be answered.",
        "{first}没有可用来回答此问题的日期。",
    ),
    "which_aggregate": (
        "Is the sum or the average of {first} meant? Please say which.",
        "要的是{first}的总和还是平均值？请说明。",
    ),
    "average_of_groups": (
        "An average of {first} by group can mean the average of single documents or of the groups' "
        "totals. Please name the column, or ask for the total.",
        "按组的平均{first}既可以指单笔的平均，也可以指各组总额的平均。请指明列名，或改问总额。",
    ),
    "count_of_sales": (
        "Is the number of documents or of units meant by {first}? Please name what to count.",
        "{first}指的是单据数还是件数？请说明要统计什么。",
    ),
    "double_count": (
        "That would count rows of {first} more than once, and so give a wrong number.",
        "这样会重复计算{first}的行，得到错误的数字。",
    ),
    "no_sales": (
        "I find no amounts in this source that {first} could mean.",
        "此数据源中没有可以表示{first}的金额。",
    ),
    "no_subject": (
        "I do not see what is to be counted, added up or listed.",
        "我没有看出要统计、求和或列出什么。",
    ),
    "no_measure": (
        "The earlier question has nothing to average or add up.",
        "前一个问题没有可求和或平均的列。",
    ),
    "no_context": (
        "That builds on an earlier question, and I see none that I answered.",
        "这需要承接前一个问题，但我没有看到已回答过的问题。",
    ),
    "nothing_to_rank": (
        "There is nothing to rank: the question has no groups.",
        "没有可以排名的内容：问题没有分组。",
    ),
    "least_traded": (
        "I cannot rank {first} from below: what was never sold or bought is not among the sales. "
        "Ask for the lowest sales to rank only what is there.",
        "我无法从低到高排名{first}：从未成交的不在销售记录中。请改问销售额最低的，那样只比较有记录的。",
    ),
    "least_counted": (
        "I cannot count {first} from below like this: who has none is not among the rows of "
        "{rest}. Ask without the other conditions.",
        "我无法这样从低到高比较{first}：一条都没有的不在{rest}的记录中。请去掉其他条件再问。",
    ),
    "top_per_group": (
        "A ranking of {first} within each {rest} is out of my reach; I rank the whole.",
        "我不会在每个{rest}内对{first}排名；我只能整体排名。",
    ),
    "nested": (
        "That is a count of a count; I only do one step.",
        "这需要对计数再计数；我只能做一步。",
    ),
    "relative": (
        "I do not know today's date, so I cannot place {first}. Please name the year or month.",
        "我不知道今天的日期，无法确定{first}。请写明年份或月份。",
    ),
    "calendar": (
        "I group by day, month, quarter or year, and cannot place {first}.",
        "我只会按日、月、季度或年分组，无法处理{first}。",
    ),
    "statistics": (
        "{first} is out of my reach; I do counts, sums, averages, minima and maxima.",
        "我不会{first}；我只会计数、求和、平均、最小和最大。",
    ),
    "ratio": (
        "{first} is out of my reach: I give the numbers themselves, not shares or changes.",
        "我不会{first}：我只给出数字本身，不计算占比或变化。",
    ),
    "reason": ("{first} asks for judgement, which I do not have.", "{first}需要判断力，我没有。"),
    "absence": (
        "I cannot answer for what is not there ({first}).",
        "我无法回答关于“没有”的问题（{first}）。",
    ),
    "dialect": ("I do not know how {first} writes dates.", "我不知道{first}如何处理日期。"),
    "sources": (
        "Several sources could answer that: {all}. Please name the tables or columns of one.",
        "有多个数据源可以回答：{all}。请写明其中一个的表名或列名。",
    ),
    "long": ("That is too long for me.", "问题太长了。"),
}
_BY_WHAT: Final = (
    "{first} by what? For example by sales, by units, or by number.",
    "{first}是按什么衡量？例如按销售额、按销量或按数量。",
)


def refusal_text(
    conversation: Conversation, problem: QuestionError, schema: SourceSchema | None
) -> str:
    """The text of a declined question: the reason, and what can be asked."""
    english, chinese = _REASONS.get(problem.kind, _BY_WHAT)
    template = conversation.say(english, chinese)
    named = [_named(text) for text in problem.about]
    reason = template.format(
        all=_listed(conversation, named),
        first=named[0] if named else "",
        rest=_listed(conversation, named[1:]),
    )
    possible = conversation.say(
        "I answer plain questions about one source: how many, total, average, lowest, highest, "
        "top, by group, by month, for a value, as a chart.",
        "我能回答关于一个数据源的简单问题：多少、总和、平均、最低、最高、排名、分组、按月、按某个值筛选、画图。",
    )
    return "\n\n".join(
        part
        for part in (
            reason,
            f"{possible} {_available_tables(conversation, schema)}".strip(),
            note(conversation),
        )
        if part
    )


def failure_text(conversation: Conversation, message: str) -> str:
    """The text for a tool that failed even after repair."""
    head = conversation.say(
        "The data could not be read, so I have no number.", "数据未能读取，因此没有数字。"
    )
    return f"{head}\n\n```\n{message}\n```\n\n{note(conversation)}"


def _available_tables(conversation: Conversation, schema: SourceSchema | None) -> str:
    if schema is None or not schema.tables:
        return ""
    names = list(schema.tables)[:20]
    more = " …" if schema.omitted or len(schema.tables) > len(names) else ""
    listed = ", ".join(f"`{name}`" for name in names)
    return conversation.say("Tables", "表") + f": {listed}{more}"


def _named(text: str) -> str:
    return f"“{text}”"


def _listed(conversation: Conversation, named: Sequence[str]) -> str:
    return conversation.say(", ", "、").join(named)


_QUESTION_ROLES: Final[tuple[Role, ...]] = (
    "noise", "which", "list", "ask", "all", "with", "schema", "and", "follow",
)  # fmt: skip


def describe_source(
    conversation: Conversation, segmentation: Segmentation, schema: SourceSchema
) -> str | None:
    """The tables, or the columns of the named table; None for any other question."""
    if not any(item.has("schema") for item in segmentation.items):
        return None
    rest = [item for item in segmentation.items if not item.has(*_QUESTION_ROLES)]
    if not rest:
        return _describe_schema(
            conversation, schema, _table_list(schema) + _more(conversation, schema)
        )
    named = _mentioned_table(rest[0]) if len(rest) == 1 else None
    if named is None or not any(item.value_of("schema") for item in segmentation.items):
        return None
    return _describe_schema(conversation, schema, _columns(schema.tables[named]))


def _mentioned_table(item: QuestionSpan) -> str | None:
    terms = [term for term in (item.noun.tables if item.noun else ()) if term.quality >= 3]
    return terms[0].table if len(terms) == 1 else None


def _describe_schema(conversation: Conversation, schema: SourceSchema, table: str) -> str:
    source = conversation.say("Source", "数据源")
    return f"{table}\n\n{source}: {schema.source}\n\n{note(conversation)}"


def _table_list(schema: SourceSchema) -> str:
    lines = ["| table | comment | columns |", "| --- | --- | --- |"]
    for table in schema.tables.values():
        columns = ", ".join(table.columns)
        lines.append(f"| {cell(table.name)} | {cell(table.comment)} | {cell(columns)} |")
    return "\n".join(lines)


def _more(conversation: Conversation, schema: SourceSchema) -> str:
    if not schema.omitted:
        return ""
    return conversation.say(
        f"\n\nThe source has {schema.omitted} tables more. Ask about one by its name.",
        f"\n\n此数据源还有 {schema.omitted} 张表。请按名称询问。",
    )


def _columns(table: SchemaTable) -> str:
    lines = [f"**{table.name}**", "", "| column | type | comment |", "| --- | --- | --- |"]
    for column in table.columns.values():
        lines.append(f"| {cell(column.name)} | {cell(column.type)} | {cell(column.comment)} |")
    return "\n".join(lines)
