"""The walk from a question to its answer, with the data tools as the only eyes.

Written as generators: they yield a tool call and are sent the tool's answer. They keep nothing;
`skill` walks again over the answers that are already in the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from langchain_core.messages import ToolMessage

from dataagent_core.models.conversation import Conversation
from dataagent_core.models.steps import Call
from dataagent_offline.data import charts
from dataagent_offline.data.about import about
from dataagent_offline.data.answer import answer_text, described
from dataagent_offline.data.catalogue import last_source, load, other_sources
from dataagent_offline.data.excuse import excuse, failed
from dataagent_offline.data.intent import Intent, merged
from dataagent_offline.data.lexicon import Lexicon, lexicon_of
from dataagent_offline.data.link import link
from dataagent_offline.data.mentions import mentions
from dataagent_offline.data.parse import parse, refuse
from dataagent_offline.data.plan import Plan
from dataagent_offline.data.probe import (
    flag_check,
    found_values,
    key_check,
    question_for,
    wanted,
)
from dataagent_offline.data.reading import LONGEST_QUESTION, Reading, read
from dataagent_offline.data.results import Failure, Result, result_of
from dataagent_offline.data.schema import Schema
from dataagent_offline.data.sql import Writer
from dataagent_offline.data.terms import Noun, Trouble

_MOST_REPAIRS: Final = 3
_FINAL_CODES: Final = ("denied", "timeout", "cancel", "quota", "limit")
_ELSEWHERE: Final = frozenset({"unknown", "unlinked", "no_sales", "no_subject"})
"""Troubles that another source may not have."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A question that was answered: what a follow-up builds on."""

    text: str
    intent: Intent
    plan: Plan
    result: Result


@dataclass(frozen=True, slots=True)
class Told:
    """Anything else that was said: what there is, or why there is no answer."""

    text: str


@dataclass(frozen=True, slots=True)
class _Understood:
    schema: Schema
    intent: Intent
    plan: Plan
    before: Answered | None


Outcome: TypeAlias = Answered | Told
Before: TypeAlias = Callable[[], "Answered | None"]
Walk: TypeAlias = Generator[Call, ToolMessage, Outcome]


def walk(conversation: Conversation, before: Before) -> Walk:
    """Answer the question, or say why not. `before` gives the last earlier answer, if needed."""
    if len(conversation.question) > LONGEST_QUESTION:
        return Told(excuse(conversation, Trouble("long"), None))
    named = mentions(conversation.question, [file.filename for file in conversation.files])
    if len(named.sources) > 1:
        return Told(excuse(conversation, Trouble("sources", *named.sources), None))
    question = named.question or conversation.say("Which tables?", "有哪些表？")
    return (yield from _answer(replace(conversation, question=question), before, named.sources))


def _answer(conversation: Conversation, before: Before, named: Sequence[str]) -> Walk:
    """Answer the question from the source it names, if any; repair what fails."""
    tried: set[str] = set()
    failure = Failure("", "")
    is_plain = False
    for _ in range(_MOST_REPAIRS + 1):
        found = yield from _understand(conversation, before, named)
        if isinstance(found, Told):
            return found
        try:
            sql = Writer(found.schema, is_plain=is_plain).write(found.plan)
        except Trouble as trouble:
            return Told(excuse(conversation, trouble, found.schema))
        if sql in tried:
            break
        tried.add(sql)
        result = yield from _result(conversation, found, sql)
        if isinstance(result, Result):
            return (yield from _told(conversation, found, result))
        failure = result
        if any(code in failure.code for code in _FINAL_CODES):
            break
        is_plain = is_plain or failure.code != "unknown_name"
    return Told(failed(conversation, failure.message))


def _understand(
    conversation: Conversation, before: Before, named: Sequence[str]
) -> Generator[Call, ToolMessage, _Understood | Told]:
    """The question with its plan, in the source at hand or in the only other one it fits."""
    source = named[0] if named else last_source(conversation)
    schema = yield from load(conversation, source)
    if isinstance(schema, Failure):
        return Told(failed(conversation, schema.message))
    try:
        return (yield from _in_source(conversation, schema, before))
    except Trouble as trouble:
        excuse_here = Told(excuse(conversation, trouble, schema))
        if named or trouble.kind not in _ELSEWHERE:
            return excuse_here
    return (yield from _elsewhere(conversation, schema, before)) or excuse_here


def _elsewhere(
    conversation: Conversation, schema: Schema, before: Before
) -> Generator[Call, ToolMessage, _Understood | Told | None]:
    sources = yield from other_sources(conversation, schema.source)
    fitting: list[_Understood | Told] = []
    for source in sources:
        other = yield from load(conversation, source)
        if isinstance(other, Schema):
            try:
                fitting.append((yield from _in_source(conversation, other, before)))
            except Trouble:
                continue
    if len(fitting) > 1:
        return Told(excuse(conversation, Trouble("sources", *sources), schema))
    return fitting[0] if fitting else None


def _in_source(
    conversation: Conversation, schema: Schema, before: Before
) -> Generator[Call, ToolMessage, _Understood | Told]:
    lexicon = lexicon_of(schema)
    reading = read(conversation.question, lexicon)
    if text := about(conversation, reading, schema):
        return Told(text)
    refuse(reading, schema)
    lexicon = yield from _with_values(reading, schema, lexicon)
    reading = read(conversation.question, lexicon)
    if reading.unknown:
        raise Trouble("unknown", *_texts(reading))
    asked = parse(reading, schema, lexicon)
    earlier = before() if asked.is_follow_up else None
    intent = asked.intent
    if (counted := intent.of_flags) and not _is_of(earlier, counted):
        intent, earlier = replace(intent, counted=counted), None
    if earlier is None and not intent.has_subject:
        raise _without_subject(intent)
    intent = merged(earlier.intent, intent) if earlier else intent
    plan = link(intent, schema)
    yield from _check_keys(plan, schema)
    yield from _check_flags(plan, schema)
    return _Understood(schema, intent, plan, earlier)


def _is_of(earlier: Answered | None, noun: Noun) -> bool:
    """Whether the answer before was about rows of one of the noun's tables."""
    if earlier is None or not (earlier.intent.counted or earlier.intent.listed):
        return False
    return any(term.table == earlier.plan.base for term in noun.tables)


def _check_flags(plan: Plan, schema: Schema) -> Generator[Call, ToolMessage, None]:
    """See in the data that a number which is taken for yes or no is nothing else."""
    sql = flag_check(plan, schema)
    if sql is None:
        return
    message = yield Call("sql_db_query", {"query": sql, "source": schema.source, "title": None})
    result = result_of(message)
    if isinstance(result, Failure) or any(row[1] for row in result.rows):
        flags = [str(each.ref) for each in plan.conditions if each.operator in {"is", "is_not"}]
        raise Trouble("unplaced", *flags)


def _check_keys(plan: Plan, schema: Schema) -> Generator[Call, ToolMessage, None]:
    """See in the data that what is taken for a key is one; else joins would repeat rows."""
    sql = key_check(plan, schema)
    if sql is None:
        return
    message = yield Call("sql_db_query", {"query": sql, "source": schema.source, "title": None})
    result = result_of(message)
    if isinstance(result, Failure) or any(row[1] != row[2] for row in result.rows):
        raise Trouble("double_count", *(hop.target for hop in plan.hops if hop.is_inferred))


def _without_subject(intent: Intent) -> Trouble:
    """`top 5 customers`: by what? `and in 2023?`: what was the question?"""
    if intent.direction and intent.dimensions:
        return Trouble("by_what", intent.dimensions[0].text)
    return Trouble("no_subject" if intent.aggregate == "count" else "no_context")


def _with_values(
    reading: Reading, schema: Schema, lexicon: Lexicon
) -> Generator[Call, ToolMessage, Lexicon]:
    """The schema's words, with values of the question that only the data knows."""
    spellings = wanted(reading, schema)
    sql = question_for(list(spellings), schema)
    if sql is None:
        return lexicon
    message = yield Call("sql_db_query", {"query": sql, "source": schema.source, "title": None})
    result = result_of(message)
    if isinstance(result, Failure):
        return lexicon
    return lexicon.with_values(found_values(result.rows, spellings, schema))


def _texts(reading: Reading) -> Sequence[str]:
    return [
        reading.text[run[0].start : run[-1].end].strip("“”\"'`「」《》") for run in reading.unknown
    ]


def _result(
    conversation: Conversation, found: _Understood, sql: str
) -> Generator[Call, ToolMessage, Result | Failure]:
    """The rows; a follow-up that only changes how they are shown has them already."""
    if found.before and found.before.plan == found.plan and found.before.result.artifact_id:
        return found.before.result
    title = described(conversation, found.plan)[:120]
    args = {"query": sql, "source": found.schema.source, "title": title}
    return result_of((yield Call("sql_db_query", args)), sql)


def _told(
    conversation: Conversation, found: _Understood, result: Result
) -> Generator[Call, ToolMessage, Answered]:
    chart = yield from _chart(conversation, found, result)
    text = answer_text(conversation, found.plan, result, found.schema, chart=chart)
    return Answered(text, found.intent, found.plan, result)


def _chart(
    conversation: Conversation, found: _Understood, result: Result
) -> Generator[Call, ToolMessage, str]:
    mark = found.intent.chart
    if mark in {None, "none"}:
        return ""
    if "make_chart" not in conversation.tools:
        return charts.no_tool(conversation)
    if not charts.can_be_drawn(found.plan, result):
        return charts.nothing_to_draw(conversation)
    title = described(conversation, found.plan)[:120]
    for spec in (charts.spec_of(found.plan, result, mark or "auto"), None):
        args = {"artifact_id": result.artifact_id, "spec": spec, "title": title}
        message = yield Call("make_chart", args)
        if message.status != "error":
            return charts.sentence(conversation, charts.mark_of(str(message.text)))
    return charts.sentence(conversation, None)
