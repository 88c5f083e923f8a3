"""Parses a segmented question into an intent; a span without a part is not understood.

Conditions first, then groupings (`by country and year`, `per month`, `每个国家`), then the ranking;
what is left is the subject.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, cast

from dataagent_offline.data.filters import Conditions, conditions_of
from dataagent_offline.data.intent import Dimension, Intent, Measure, ParsedQuestion
from dataagent_offline.data.lexicon import Lexicon
from dataagent_offline.data.ranking import (
    Ranking,
    noun_after_which,
    people,
    ranking_of,
    traded_measure,
    verb_of,
)
from dataagent_offline.data.schema import SourceSchema
from dataagent_offline.data.segmentation import Segmentation, SpanList, resolve_spans
from dataagent_offline.data.terms import Aggregate, Bucket, Noun, QuestionError, QuestionSpan, Role

_LISTED: Final = frozenset(",、，&/ ")


def dimensions_of(spans: SpanList, text: str) -> list[Dimension]:
    """Take the groupings out of a sentence, in order."""
    found: list[Dimension] = []
    for position in spans.find("by"):
        if _asks_for_distinct(spans, position):
            continue
        run = _run(spans, position + 1, text)
        if run or _is_before_a_measure(spans, position + 1) or _is_before_a_value(spans, position):
            spans.use(position)
        found.extend(run)
    for position in spans.find("bucket"):
        found.append(_bucket(spans, position))
    trends = spans.find("trend")
    spans.use(*trends)
    if trends and not any(each.bucket for each in found):
        found.append(Dimension("month", bucket="month"))
    return found


def _asks_for_distinct(spans: SpanList, position: int) -> bool:
    """`有多少不同的国家`: here `不同` groups nothing."""
    before = spans.at(position - 1)
    return spans.items[position].text == "不同" and bool(before and before.has("count"))


def _run(spans: SpanList, position: int, text: str) -> list[Dimension]:
    """The groupings from a place on, joined by `and` or a comma."""
    found: list[Dimension] = []
    while (item := spans.at(position)) is not None:
        if item.has("bucket"):
            found.append(_bucket(spans, position))
        elif item.noun and not _is_measured(spans, item.noun):
            found.append(_noun(spans, position, item.noun))
        else:
            break
        following = _following(spans, position, text)
        if following is None:
            break
        position = following
    return found


def _noun(spans: SpanList, position: int, noun: Noun) -> Dimension:
    spans.use(position)
    after = spans.at(position + 1)
    if (dates := spans.dates(noun)) and after and after.has("bucket"):
        spans.use(position + 1)
        return Dimension(f"{noun.text} {after.text}", dates, _step(after))
    return Dimension(noun.text, noun)


def _bucket(spans: SpanList, position: int) -> Dimension:
    item = spans.items[position]
    spans.use(position)
    for near in (position - 1, position + 1):
        noun = spans.noun(near)
        if noun and (dates := spans.dates(noun)):
            spans.use(near)
            return Dimension(f"{noun.text} {item.text}", dates, _step(item))
    return Dimension(item.text, item.noun, _step(item))


def _step(item: QuestionSpan) -> Bucket:
    return cast("Bucket", item.value_of("bucket"))  # the vocabulary lists no other value


def _following(spans: SpanList, position: int, text: str) -> int | None:
    """Where the next grouping of the list stands, if the list goes on."""
    here = max(each for each in spans.used if each <= position + 1)
    link, after = spans.at(here + 1), spans.at(here + 2)
    if link and after and link.has("and") and (after.noun or after.has("bucket")):
        if after.noun and _is_measured(spans, after.noun):
            return None
        spans.use(here + 1)
        return here + 2
    if link and (link.noun or link.has("bucket")):
        between = text[spans.items[here].end : link.start]
        return here + 1 if between.strip() and set(between) <= _LISTED else None
    return None


def _is_measured(spans: SpanList, noun: Noun) -> bool:
    """Whether a number after `by` is what is ranked by: `top 5 tracks by unit price`."""
    return spans.is_number(noun) and bool(spans.find("order", "take", "extreme"))


def _is_before_a_value(spans: SpanList, position: int) -> bool:
    """`tracks by Queen`: here `by` groups nothing."""
    after = spans.items[position + 1 : position + 2]
    return spans.items[position].text.casefold() == "by" and any(item.values for item in after)


def _is_before_a_measure(spans: SpanList, position: int) -> bool:
    item = spans.at(position)
    if item is None:
        return False
    if item.noun:
        return _is_measured(spans, item.noun)
    return item.has("measure", "agg", "count", "order")


_TOLERATED: Final[tuple[Role, ...]] = (
    "and", "ask", "with", "all", "follow", "list", "which", "compare", "to", "how_much", "distinct",
    "people",
)  # fmt: skip
"""Words that ask or join. What else is left over was not understood."""


@dataclass(slots=True)
class _Subject:
    aggregate: Aggregate | None = None
    measure: Measure | None = None
    counted: Noun | None = None
    listed: Noun | None = None


def parse(segmentation: Segmentation, schema: SourceSchema, lexicon: Lexicon) -> ParsedQuestion:
    """What the question asks; `QuestionError` if a part of it has no place in that."""
    spans = resolve_spans(segmentation, schema)
    is_marked = bool(spans.find("follow")) or any(i.has("and") for i in spans.items[:1])
    verb, verb_text = verb_of(spans)
    shown = Intent(
        chart=_chart(spans),
        is_distinct=bool(spans.find("distinct")) or _has_distinct_count(spans),
        cleared=_cleared(spans) if is_marked else (),
        verb=verb,
        verb_text=verb_text,
        per_person=_per_person(spans, lexicon),
    )
    spans.use(*spans.find("verb"))
    conditions = conditions_of(spans, segmentation.text)
    dimensions = dimensions_of(spans, segmentation.text)
    ranking = ranking_of(spans, lexicon, dimensions)
    if conditions.having and not dimensions and ranking.entity is None:
        dimensions = _ranked_by_condition(spans)
    if ranking.entity and dimensions and ranking.limit:
        raise QuestionError("top_per_group", ranking.entity.text, dimensions[0].text)
    ranked_by = (
        None if ranking.is_sorted_only else traded_measure(verb, verb_text, ranking.direction)
    )
    subject = _subject(
        spans, lexicon, conditions, ranking, is_grouped=bool(dimensions), traded_as=ranked_by
    )
    intent = replace(
        shown,
        aggregate=subject.aggregate,
        measure=subject.measure,
        counted=subject.counted,
        listed=subject.listed,
        dimensions=(*_entity(ranking, is_trader=_is_trader(spans, subject)), *dimensions),
        date=_date(spans, conditions, dimensions),
        contexts=(*_contexts(spans), *conditions.mentioned),
    )
    _check_leftovers(spans)
    intent = _limited(intent, conditions, ranking)
    return ParsedQuestion(intent, _is_follow_up(intent, spans, is_marked=is_marked))


def _limited(intent: Intent, conditions: Conditions, ranking: Ranking) -> Intent:
    """The same, with its conditions and its ranking."""
    return replace(
        intent,
        values=tuple(conditions.values),
        numbers=tuple(conditions.numbers),
        flags=tuple(conditions.flags),
        periods=tuple(conditions.periods),
        having=conditions.having,
        direction=ranking.direction,
        is_sorted_only=ranking.is_sorted_only,
        limit=ranking.limit,
        is_single=ranking.is_single,
    )


def refuse(segmentation: Segmentation, schema: SourceSchema) -> None:
    """`QuestionError` if a word asks for what is out of reach, whatever the rest means."""
    spans = resolve_spans(segmentation, schema)
    for position in spans.find("refused"):
        item = spans.items[position]
        raise QuestionError(item.value_of("refused"), item.text)


def _chart(spans: SpanList) -> str | None:
    tables, charts = spans.find("table_format"), spans.find("chart")
    spans.use(*tables, *charts)
    if charts:
        marks = [spans.items[position].value_of("chart") for position in charts]
        return next((mark for mark in marks if mark), "auto")
    return "none" if tables else None


def _has_distinct_count(spans: SpanList) -> bool:
    """`有多少不同的国家`."""
    for position in spans.find("by"):
        before = spans.at(position - 1)
        if spans.items[position].text == "不同" and before and before.has("count"):
            spans.use(position)
            return True
    return False


def _cleared(spans: SpanList) -> tuple[Noun, ...]:
    """`for all countries`: the noun whose filter is lifted."""
    found: list[Noun] = []
    for position in spans.find("all"):
        if noun := spans.noun(position + 1):
            found.append(noun)
            spans.use(position, position + 1)
    return tuple(found)


def _per_person(spans: SpanList, lexicon: Lexicon) -> Noun | None:
    """`人均`: an average over people, and so only of what each of them has one of."""
    said = [item for item in spans.items if item.value_of("agg") == "avg person"]
    return people(lexicon, said[0].text) if said else None


def _entity(ranking: Ranking, *, is_trader: bool) -> tuple[Dimension, ...]:
    if ranking.entity is None:
        return ()
    return (Dimension(ranking.entity.text, ranking.entity, is_trader=is_trader),)


def _is_trader(spans: SpanList, subject: _Subject) -> bool:
    """Whether what is ranked sells or buys: `sold the most tracks`, not `the most tracks sold`."""
    if subject.measure:
        return subject.measure.is_traded
    verbs = [position for position, item in enumerate(spans.items) if item.has("verb")]
    ranks = [position for position, item in enumerate(spans.items) if item.has("order", "take")]
    return bool(verbs and ranks) and verbs[0] < ranks[0]


def _ranked_by_condition(spans: SpanList) -> list[Dimension]:
    """`countries with more than 5 customers`: what the condition is about is the grouping."""
    for position, noun in spans.nouns():
        if not spans.is_number(noun) and not spans.find("count"):
            spans.use(position)
            return [Dimension(noun.text, noun)]
    raise QuestionError("nested")


# -- the subject --------------------------------------------------------------------------------


def _subject(
    spans: SpanList,
    lexicon: Lexicon,
    conditions: Conditions,
    ranking: Ranking,
    *,
    is_grouped: bool,
    traded_as: Measure | None,
) -> _Subject:
    """What is counted, added up or listed."""
    aggregate = _aggregate(spans) or ranking.aggregate
    if measure := _named_measure(spans):
        if spans.find("count"):
            raise QuestionError("count_of_sales", measure.text)
        spans.use(*spans.find("trade"))
        return _Subject(aggregate, measure)
    if noun := ranking.target or conditions.counted:
        return _of_target(spans, noun, aggregate)
    if aggregate and aggregate != "count":
        return _of_aggregate(spans, aggregate)
    if spans.find("count", "people", "how_much") and (subject := _of_asking(spans, lexicon)):
        return subject
    if traded_as is not None:
        spans.use(*spans.find("trade"))
        return _Subject(aggregate, traded_as)
    return _of_nouns(spans, is_grouped=is_grouped, is_ranked=ranking.entity is not None)


def _of_asking(spans: SpanList, lexicon: Lexicon) -> _Subject | None:
    """`how many`, `how many people`, `how much`."""
    for position in spans.find("people"):
        item = spans.items[position]
        if item.value_of("people") == "count":
            spans.use(position, *spans.find("count"))
            return _Subject("count", counted=people(lexicon, item.text))
    if counts := spans.find("count"):
        return _of_count(spans, counts)
    return _of_how_much(spans) if spans.find("how_much") else None


def _aggregate(spans: SpanList) -> Aggregate | None:
    places = spans.find("agg")
    said = {spans.items[position].value_of("agg").partition(" ")[0] for position in places}
    if len(said) > 1 and said != {"sum"}:
        raise QuestionError("several", *(spans.items[position].text for position in places))
    spans.use(*places)
    return cast("Aggregate", said.pop()) if said else None  # the vocabulary lists no other value


def _named_measure(spans: SpanList) -> Measure | None:
    places = spans.find("measure")
    kinds = {spans.items[position].value_of("measure") for position in places}
    if len(kinds) > 1:
        raise QuestionError("several", *(spans.items[position].text for position in places))
    spans.use(*places)
    if not places:
        return None
    kind = cast("Literal['sales', 'units']", kinds.pop())  # the vocabulary lists no other value
    return Measure(kind, spans.items[places[0]].text)


def _of_target(spans: SpanList, noun: Noun, aggregate: Aggregate | None) -> _Subject:
    spans.use(*spans.find("count"))
    if spans.is_number(noun) or (spans.dates(noun) and not noun.tables):
        return _Subject(aggregate, Measure("column", noun.text, spans.numbers(noun) or noun))
    if aggregate not in {None, "sum", "count"}:
        raise QuestionError("unplaced", noun.text)
    return _Subject("count", counted=noun)


def _of_aggregate(spans: SpanList, aggregate: Aggregate) -> _Subject:
    numbers = [(p, n) for p, noun in spans.nouns() if (n := spans.numbers(noun))]
    exact = [(p, n) for p, n in numbers if spans.is_number(n)]
    if choice := exact or numbers:
        if len(exact) > 1:
            raise QuestionError("several", *(noun.text for _, noun in exact))
        position, noun = choice[0]
        spans.use(position)
        return _Subject(aggregate, Measure("column", noun.text, noun))
    if counts := spans.find("count"):
        if aggregate == "sum":
            return _of_count(spans, counts)
        raise QuestionError("several", *(spans.items[position].text for position in counts))
    nouns = list(spans.nouns())
    if aggregate == "sum" and nouns:
        spans.use(nouns[0][0])
        return _Subject("count", counted=nouns[0][1])
    return _Subject(aggregate)


def _of_count(spans: SpanList, counts: list[int]) -> _Subject:
    """`how many X`, `有多少 X`: the next noun; `X 数量`: the one before."""
    spans.use(*counts)
    nouns = list(spans.nouns())
    after = [each for each in nouns if each[0] > counts[0]]
    before = [each for each in nouns if each[0] < counts[0]]
    near = before[-1:] if before and before[-1][0] == counts[0] - 1 else []
    choice = (after[:1] or before[-1:]) if _is_open(spans, counts[0]) else (near or after[:1])
    if not choice:
        return _Subject("count")
    spans.use(choice[0][0])
    return _Subject("count", counted=choice[0][1])


def _is_open(spans: SpanList, position: int) -> bool:
    """Whether the count word asks (`how many`, `有多少`) and so looks ahead for its noun."""
    return spans.items[position].text not in {"数量", "个数", "数目", "总数", "数", "总数量"}


def _of_how_much(spans: SpanList) -> _Subject:
    nouns = [(p, n) for p, noun in spans.nouns() if (n := spans.numbers(noun))]
    if len(nouns) == 1:
        spans.use(nouns[0][0])
        return _Subject("sum", Measure("column", nouns[0][1].text, nouns[0][1]))
    return _Subject("sum", Measure("sales", "sales"))


def _of_nouns(spans: SpanList, *, is_grouped: bool, is_ranked: bool) -> _Subject:
    """No word says what to do with the nouns: a number is added up, rows are counted or listed."""
    nouns = list(spans.nouns())
    for position, noun in nouns:
        if spans.is_number(noun) and (is_grouped or is_ranked or len(nouns) <= 2):
            spans.use(position)
            return _Subject(None, Measure("column", noun.text, spans.numbers(noun)))
    tables = [each for each in nouns if each[1].tables]
    is_number = any(spans.items[p].value_of("ask") == "number" for p in spans.find("ask"))
    if (is_grouped or is_number) and tables:
        spans.use(tables[0][0])
        return _Subject("count", counted=tables[0][1])
    if nouns and not is_ranked:
        wanted = noun_after_which(spans)
        position, noun = next((each for each in nouns if each[0] == wanted), nouns[0])
        spans.use(position)
        return _Subject(listed=noun)
    return _Subject()


# -- the rest -----------------------------------------------------------------------------------


def _date(spans: SpanList, conditions: Conditions, dimensions: list[Dimension]) -> Noun | None:
    """The date that a time is of: `hired in 2020`."""
    if not conditions.periods and not any(each.bucket for each in dimensions):
        return None
    for position, noun in spans.nouns():
        if dates := spans.dates(noun):
            spans.use(position)
            return dates
    return None


def _contexts(spans: SpanList) -> tuple[Noun, ...]:
    """Nouns that only say what the rest is about: `the average price of tracks`."""
    found: list[Noun] = []
    for position, noun in list(spans.nouns()):
        for near in (position - 1, position + 1):
            item, beyond = spans.at(near), near + near - position
            others = spans.items[beyond : beyond + 1] if beyond >= 0 else []
            if item and item.has("and") and any(other.noun for other in others):
                raise QuestionError("several", others[0].text, noun.text)
        if not noun.tables:
            raise QuestionError("unplaced", noun.text)
        found.append(noun)
        spans.use(position)
    return tuple(found)


def _check_leftovers(spans: SpanList) -> None:
    has_noun = any(item.noun for item in spans.items)
    tolerated: tuple[Role, ...] = (*_TOLERATED, "schema") if has_noun else _TOLERATED
    left = [
        item.text
        for position, item in enumerate(spans.items)
        if position not in spans.used and not item.has(*tolerated)
    ]
    if left:
        raise QuestionError("unplaced", *left)


def _is_follow_up(intent: Intent, spans: SpanList, *, is_marked: bool) -> bool:
    """Whether the question needs the one before: it lacks a subject, or says so and is short."""
    if not intent.has_subject:
        return True
    if not is_marked:
        return False
    is_counted = bool(intent.counted) and any(item.has("count") for item in spans.items)
    has_more = bool(intent.dimensions or intent.values or intent.periods)
    is_listed = bool(intent.listed) and any(item.has("list", "which") for item in spans.items)
    return not (is_counted or is_listed or (intent.measure is not None and has_more))
