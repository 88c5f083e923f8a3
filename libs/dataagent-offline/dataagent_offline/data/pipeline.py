"""Runs a question about data through all steps, calling the data tools on the way.

Written as generators: they yield a tool call and are sent the tool's answer. Nothing is stored
between turns: each turn replays the tool results that the conversation already holds, and the first
call without a result is the next step. Earlier questions are replayed in the same way when a
follow-up needs one. A question may name its data with `@`, as the composer writes it: `@sales` is a
source, `@sales.orders` and `@sales."Order details"` tables of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from langchain_core.messages import ToolMessage

from dataagent_core.models.rule_based import Call, Conversation, Exchange, Say, Turn
from dataagent_offline.data import charts
from dataagent_offline.data.answer import (
    answer_text,
    describe_plan,
    describe_source,
    failure_text,
    refusal_text,
)
from dataagent_offline.data.data_tools import (
    TableResult,
    ToolFailure,
    last_source,
    load,
    other_sources,
    result_of,
)
from dataagent_offline.data.intent import Intent, merge_intents
from dataagent_offline.data.lexicon import Lexicon, lexicon_of
from dataagent_offline.data.parse import parse, refuse
from dataagent_offline.data.plan import SelectPlan
from dataagent_offline.data.planner import make_plan
from dataagent_offline.data.probe import (
    flag_check,
    found_values,
    key_check,
    lookup_query,
    unmatched_spellings,
)
from dataagent_offline.data.schema import SourceSchema
from dataagent_offline.data.segmentation import LONGEST_QUESTION, Segmentation, roles_of, segment
from dataagent_offline.data.sql import Writer
from dataagent_offline.data.terms import Noun, QuestionError
from dataagent_offline.data.vocabulary import atoms, has_han

_MENTION: Final = re.compile(
    r"(?P<before>\b(?:in|of|from|on|using)\s+|(?:在|从|使用|用))?"
    r"(?<![A-Za-z0-9._%+-])@(?P<source>\w[\w-]{0,63})"
    r"(?:\.(?:\"(?P<quoted>[^\"\n]+)\"|(?P<plain>[\w$-]+(?:\.[\w$-]+)*)))?"
    r"(?P<after>\s*(?:里面|里|中))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SourceMentions:
    """The sources that a question names, each once, and the question in plain words."""

    sources: tuple[str, ...]
    question: str


def parse_mentions(question: str, filenames: Collection[str]) -> SourceMentions:
    """What a question names. A file that comes with it is no source, whatever it is called."""
    for name in sorted(filenames, key=len, reverse=True):
        question = question.replace(f"@{name}", name)
    sources = dict.fromkeys(found["source"] for found in _MENTION.finditer(question))
    if not sources:
        return SourceMentions((), question)
    return SourceMentions(tuple(sources), _MENTION.sub(_plain, question).strip(" \t\n:：,，"))


def _plain(found: re.Match[str]) -> str:
    table = found["quoted"] or (found["plain"] or "").rpartition(".")[2]
    if not table:
        return " "
    return f"{found['before'] or ''}{table}{found['after'] or ''}"


_MOST_REPAIRS: Final = 3
_FINAL_CODES: Final = ("denied", "timeout", "cancel", "quota", "limit")
_MAY_FIT_OTHER_SOURCE: Final = frozenset({"unknown", "unlinked", "no_sales", "no_subject"})
"""Troubles that another source may not have."""


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question that was answered: what a follow-up builds on."""

    text: str
    intent: Intent
    plan: SelectPlan
    result: TableResult


@dataclass(frozen=True, slots=True)
class TextReply:
    """An answer without a result: about the source, or why there is none."""

    text: str


@dataclass(frozen=True, slots=True)
class _Understood:
    schema: SourceSchema
    intent: Intent
    plan: SelectPlan
    before: AnsweredQuestion | None


QuestionOutcome: TypeAlias = AnsweredQuestion | TextReply
PreviousAnswer: TypeAlias = Callable[[], "AnsweredQuestion | None"]
AnswerSteps: TypeAlias = Generator[Call, ToolMessage, QuestionOutcome]


def answer_question(conversation: Conversation, before: PreviousAnswer) -> AnswerSteps:
    """Answer the question, or say why not. `before` gives the last earlier answer, if needed."""
    if len(conversation.question) > LONGEST_QUESTION:
        return TextReply(refusal_text(conversation, QuestionError("long"), None))
    named = parse_mentions(conversation.question, [file.filename for file in conversation.files])
    if len(named.sources) > 1:
        return TextReply(refusal_text(conversation, QuestionError("sources", *named.sources), None))
    question = named.question or conversation.say("Which tables?", "有哪些表？")
    return (yield from _answer(replace(conversation, question=question), before, named.sources))


def _answer(
    conversation: Conversation, before: PreviousAnswer, named: Sequence[str]
) -> AnswerSteps:
    """Answer the question from the source it names, if any; repair what fails."""
    tried: set[str] = set()
    failure = ToolFailure("", "")
    is_plain = False
    for _ in range(_MOST_REPAIRS + 1):
        found = yield from _understand(conversation, before, named)
        if isinstance(found, TextReply):
            return found
        try:
            sql = Writer(found.schema, is_plain=is_plain).write(found.plan)
        except QuestionError as problem:
            return TextReply(refusal_text(conversation, problem, found.schema))
        if sql in tried:
            break
        tried.add(sql)
        result = yield from _result(conversation, found, sql)
        if isinstance(result, TableResult):
            return (yield from _present_result(conversation, found, result))
        failure = result
        if any(code in failure.code for code in _FINAL_CODES):
            break
        is_plain = is_plain or failure.code != "unknown_name"
    return TextReply(failure_text(conversation, failure.message))


def _understand(
    conversation: Conversation, before: PreviousAnswer, named: Sequence[str]
) -> Generator[Call, ToolMessage, _Understood | TextReply]:
    """The question with its plan, in the source at hand or in the only other one it fits."""
    source = named[0] if named else last_source(conversation)
    schema = yield from load(conversation, source)
    if isinstance(schema, ToolFailure):
        return TextReply(failure_text(conversation, schema.message))
    try:
        return (yield from _in_source(conversation, schema, before))
    except QuestionError as problem:
        refusal = TextReply(refusal_text(conversation, problem, schema))
        if named or problem.kind not in _MAY_FIT_OTHER_SOURCE:
            return refusal
    return (yield from _elsewhere(conversation, schema, before)) or refusal


def _elsewhere(
    conversation: Conversation, schema: SourceSchema, before: PreviousAnswer
) -> Generator[Call, ToolMessage, _Understood | TextReply | None]:
    sources = yield from other_sources(conversation, schema.source)
    fitting: list[_Understood | TextReply] = []
    for source in sources:
        other = yield from load(conversation, source)
        if isinstance(other, SourceSchema):
            try:
                fitting.append((yield from _in_source(conversation, other, before)))
            except QuestionError:
                continue
    if len(fitting) > 1:
        return TextReply(refusal_text(conversation, QuestionError("sources", *sources), schema))
    return fitting[0] if fitting else None


def _in_source(
    conversation: Conversation, schema: SourceSchema, before: PreviousAnswer
) -> Generator[Call, ToolMessage, _Understood | TextReply]:
    lexicon = lexicon_of(schema)
    segmentation = segment(conversation.question, lexicon)
    if text := describe_source(conversation, segmentation, schema):
        return TextReply(text)
    refuse(segmentation, schema)
    lexicon = yield from _with_values(segmentation, schema, lexicon)
    segmentation = segment(conversation.question, lexicon)
    if segmentation.unknown:
        raise QuestionError("unknown", *_texts(segmentation))
    parsed = parse(segmentation, schema, lexicon)
    earlier = before() if parsed.is_follow_up else None
    intent = parsed.intent
    if (counted := intent.of_flags) and not _is_of(earlier, counted):
        intent, earlier = replace(intent, counted=counted), None
    if earlier is None and not intent.has_subject:
        raise _without_subject(intent)
    intent = merge_intents(earlier.intent, intent) if earlier else intent
    plan = make_plan(intent, schema)
    yield from _check_keys(plan, schema)
    yield from _check_flags(plan, schema)
    return _Understood(schema, intent, plan, earlier)


def _is_of(earlier: AnsweredQuestion | None, noun: Noun) -> bool:
    """Whether the answer before was about rows of one of the noun's tables."""
    if earlier is None or not (earlier.intent.counted or earlier.intent.listed):
        return False
    return any(term.table == earlier.plan.base for term in noun.tables)


def _check_flags(plan: SelectPlan, schema: SourceSchema) -> Generator[Call, ToolMessage, None]:
    """See in the data that a number which is taken for yes or no is nothing else."""
    sql = flag_check(plan, schema)
    if sql is None:
        return
    message = yield Call("sql_db_query", {"query": sql, "source": schema.source, "title": None})
    result = result_of(message)
    if isinstance(result, ToolFailure) or any(row[1] for row in result.rows):
        flags = [str(each.ref) for each in plan.conditions if each.operator in {"is", "is_not"}]
        raise QuestionError("unplaced", *flags)


def _check_keys(plan: SelectPlan, schema: SourceSchema) -> Generator[Call, ToolMessage, None]:
    """Check in the data that an assumed key is one; else joins would repeat rows."""
    sql = key_check(plan, schema)
    if sql is None:
        return
    message = yield Call("sql_db_query", {"query": sql, "source": schema.source, "title": None})
    result = result_of(message)
    if isinstance(result, ToolFailure) or any(row[1] != row[2] for row in result.rows):
        raise QuestionError("double_count", *(hop.target for hop in plan.hops if hop.is_inferred))


def _without_subject(intent: Intent) -> QuestionError:
    """`top 5 customers`: by what? `and in 2023?`: what was the question?"""
    if intent.direction and intent.dimensions:
        return QuestionError("by_what", intent.dimensions[0].text)
    return QuestionError("no_subject" if intent.aggregate == "count" else "no_context")


def _with_values(
    segmentation: Segmentation, schema: SourceSchema, lexicon: Lexicon
) -> Generator[Call, ToolMessage, Lexicon]:
    """The schema's words, with values of the question that only the data knows."""
    spellings = unmatched_spellings(segmentation, schema)
    sql = lookup_query(list(spellings), schema)
    if sql is None:
        return lexicon
    message = yield Call("sql_db_query", {"query": sql, "source": schema.source, "title": None})
    result = result_of(message)
    if isinstance(result, ToolFailure):
        return lexicon
    return lexicon.with_values(found_values(result.rows, spellings, schema))


def _texts(segmentation: Segmentation) -> Sequence[str]:
    return [
        segmentation.text[run[0].start : run[-1].end].strip("“”\"'`「」《》")
        for run in segmentation.unknown
    ]


def _result(
    conversation: Conversation, found: _Understood, sql: str
) -> Generator[Call, ToolMessage, TableResult | ToolFailure]:
    """The rows; a follow-up that only changes how they are shown has them already."""
    if found.before and found.before.plan == found.plan and found.before.result.artifact_id:
        return found.before.result
    title = describe_plan(conversation, found.plan)[:120]
    args = {"query": sql, "source": found.schema.source, "title": title}
    return result_of((yield Call("sql_db_query", args)), sql)


def _present_result(
    conversation: Conversation, found: _Understood, result: TableResult
) -> Generator[Call, ToolMessage, AnsweredQuestion]:
    chart = yield from _chart(conversation, found, result)
    text = answer_text(conversation, found.plan, result, found.schema, chart=chart)
    return AnsweredQuestion(text, found.intent, found.plan, result)


def _chart(
    conversation: Conversation, found: _Understood, result: TableResult
) -> Generator[Call, ToolMessage, str]:
    mark = found.intent.chart
    if mark in {None, "none"}:
        return ""
    if "make_chart" not in conversation.tools:
        return charts.no_chart_tool_text(conversation)
    if not charts.can_be_drawn(found.plan, result):
        return charts.not_drawable_text(conversation)
    title = describe_plan(conversation, found.plan)[:120]
    for spec in (charts.spec_of(found.plan, result, mark or "auto"), None):
        args = {"artifact_id": result.artifact_id, "spec": spec, "title": title}
        message = yield Call("make_chart", args)
        if message.status != "error":
            return charts.chart_note(conversation, charts.mark_of(str(message.text)))
    return charts.chart_note(conversation, None)


_NEEDED: Final = frozenset({"sql_db_schema", "sql_db_query"})
_MOST_EARLIER: Final = 30
_SHORT: Final = 6
"""Words, or twice as many Chinese characters. `customers in Germany` asks without a word for it."""
_DATA_ROLES: Final = frozenset(
    {"count", "agg", "order", "take", "extreme", "by", "bucket", "trend", "list", "which",
     "people", "chart", "compare", "measure", "how_much", "table_format", "ask", "schema", "op",
     "trade"}
)  # fmt: skip
_FOLLOW_ROLES: Final = _DATA_ROLES | {"follow", "and", "period", "not", "with", "noise"}


def answer_from_data(conversation: Conversation) -> Turn | None:
    """Answer a plain question about data with the SQL tools; None if it is no such question."""
    if not conversation.tools.keys() >= _NEEDED:
        return None
    if not _may_be_data_question(conversation):
        return None
    match _replay(conversation):
        case Call() as call:
            return [call]
        case AnsweredQuestion(text=text) | TextReply(text=text):
            return [Say(text)]
        case None:
            return None


def sounds_like_data(question: str) -> bool:
    """Whether a question uses the words of one about data, whatever the tools."""
    return bool(roles_of(question[:LONGEST_QUESTION]) & _DATA_ROLES)


def _may_be_data_question(conversation: Conversation) -> bool:
    """Whether the question may be one about data: by its words, or because it is short."""
    question = conversation.question[:LONGEST_QUESTION]
    length = sum(0.5 if has_han(atom.text) else 1 for atom in atoms(question))
    if 0 < length <= _SHORT:
        return True
    return bool(
        roles_of(question) & (_FOLLOW_ROLES if _has_data(conversation.earlier) else _DATA_ROLES)
    )


def _has_data(earlier: Sequence[Exchange]) -> bool:
    return any(result.name in _NEEDED for exchange in earlier for result in exchange.results)


def _replay(conversation: Conversation) -> Call | QuestionOutcome | None:
    """Replay the results: the next call, the outcome, or None if the results do not fit."""
    steps = answer_question(conversation, lambda: _previous_answer(conversation))
    try:
        call = next(steps)
        for result in conversation.results:
            if result.name not in {None, call.name}:
                return None
            call = steps.send(result)
    except StopIteration as end:
        outcome: QuestionOutcome = end.value
        return outcome
    return call


def _previous_answer(conversation: Conversation) -> AnsweredQuestion | None:
    """The last earlier question that was answered from data."""
    earlier = conversation.earlier
    for position in range(len(earlier) - 1, max(-1, len(earlier) - 1 - _MOST_EARLIER), -1):
        then = replace(
            conversation,
            question=earlier[position].question,
            results=earlier[position].results,
            earlier=earlier[:position],
        )
        outcome = _replay(then) if then.results else None
        if isinstance(outcome, AnsweredQuestion):
            return outcome
    return None
