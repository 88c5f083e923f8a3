"""What is said instead of a number: what was not understood, and what can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dataagent_core.models.rule_based import Conversation
from dataagent_offline.data.answer import note
from dataagent_offline.data.schema import SourceSchema
from dataagent_offline.data.terms import QuestionError

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
    """Why there is no answer, what can be asked, and who speaks."""
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
            f"{possible} {_tables(conversation, schema)}".strip(),
            note(conversation),
        )
        if part
    )


def failure_text(conversation: Conversation, message: str) -> str:
    """What is said when a tool gave nothing, even after repair."""
    head = conversation.say(
        "The data could not be read, so I have no number.", "数据未能读取，因此没有数字。"
    )
    return f"{head}\n\n```\n{message}\n```\n\n{note(conversation)}"


def _tables(conversation: Conversation, schema: SourceSchema | None) -> str:
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
