"""A reading → what is asked. Every span is given a part, or the question is not understood.

Conditions first, then groupings, then the ranking; what is left is the subject. Below: `filters`,
`grouping`, `ordering`, `sentence`; above: `skill`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, cast

from dataagent_offline.data.filters import Conditions, conditions_of
from dataagent_offline.data.grouping import dimensions_of
from dataagent_offline.data.intent import Asked, Dimension, Intent, Measure
from dataagent_offline.data.lexicon import Lexicon
from dataagent_offline.data.ordering import (
    Ranking,
    asked_for,
    people,
    ranking_of,
)
from dataagent_offline.data.reading import Reading
from dataagent_offline.data.schema import Schema
from dataagent_offline.data.sentence import Sentence, sentence_of
from dataagent_offline.data.terms import Aggregate, Noun, Role, Trouble
from dataagent_offline.data.trade import traded, verb_of

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


def parse(reading: Reading, schema: Schema, lexicon: Lexicon) -> Asked:
    """What the question asks; `Trouble` if a part of it has no place in that."""
    sentence = sentence_of(reading, schema)
    is_marked = bool(sentence.find("follow")) or any(i.has("and") for i in sentence.items[:1])
    verb, verb_text = verb_of(sentence)
    shown = Intent(
        chart=_chart(sentence),
        is_distinct=bool(sentence.find("distinct")) or _has_distinct_count(sentence),
        cleared=_cleared(sentence) if is_marked else (),
        verb=verb,
        verb_text=verb_text,
        per_person=_per_person(sentence, lexicon),
    )
    sentence.use(*sentence.find("verb"))
    conditions = conditions_of(sentence, reading.text)
    dimensions = dimensions_of(sentence, reading.text)
    ranking = ranking_of(sentence, lexicon, dimensions)
    if conditions.having and not dimensions and ranking.entity is None:
        dimensions = _ranked_by_condition(sentence)
    if ranking.entity and dimensions and ranking.limit:
        raise Trouble("top_per_group", ranking.entity.text, dimensions[0].text)
    ranked_by = None if ranking.is_sorted_only else traded(verb, verb_text, ranking.direction)
    subject = _subject(
        sentence, lexicon, conditions, ranking, is_grouped=bool(dimensions), traded_as=ranked_by
    )
    intent = replace(
        shown,
        aggregate=subject.aggregate,
        measure=subject.measure,
        counted=subject.counted,
        listed=subject.listed,
        dimensions=(*_entity(ranking, is_trader=_is_trader(sentence, subject)), *dimensions),
        date=_date(sentence, conditions, dimensions),
        contexts=(*_contexts(sentence), *conditions.mentioned),
    )
    _check_leftovers(sentence)
    intent = _limited(intent, conditions, ranking)
    return Asked(intent, _is_follow_up(intent, sentence, is_marked=is_marked))


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


def refuse(reading: Reading, schema: Schema) -> None:
    """`Trouble` if a word asks for what is out of reach, whatever the rest means."""
    sentence = sentence_of(reading, schema)
    for place in sentence.find("refused"):
        item = sentence.items[place]
        raise Trouble(item.value_of("refused"), item.text)


def _chart(sentence: Sentence) -> str | None:
    tables, charts = sentence.find("table_format"), sentence.find("chart")
    sentence.use(*tables, *charts)
    if charts:
        marks = [sentence.items[place].value_of("chart") for place in charts]
        return next((mark for mark in marks if mark), "auto")
    return "none" if tables else None


def _has_distinct_count(sentence: Sentence) -> bool:
    """`有多少不同的国家`."""
    for place in sentence.find("by"):
        before = sentence.at(place - 1)
        if sentence.items[place].text == "不同" and before and before.has("count"):
            sentence.use(place)
            return True
    return False


def _cleared(sentence: Sentence) -> tuple[Noun, ...]:
    """`for all countries`: the noun whose filter is lifted."""
    found: list[Noun] = []
    for place in sentence.find("all"):
        if noun := sentence.noun(place + 1):
            found.append(noun)
            sentence.use(place, place + 1)
    return tuple(found)


def _per_person(sentence: Sentence, lexicon: Lexicon) -> Noun | None:
    """`人均`: an average over people, and so only of what each of them has one of."""
    said = [item for item in sentence.items if item.value_of("agg") == "avg person"]
    return people(lexicon, said[0].text) if said else None


def _entity(ranking: Ranking, *, is_trader: bool) -> tuple[Dimension, ...]:
    if ranking.entity is None:
        return ()
    return (Dimension(ranking.entity.text, ranking.entity, is_trader=is_trader),)


def _is_trader(sentence: Sentence, subject: _Subject) -> bool:
    """Whether what is ranked sells or buys: `sold the most tracks`, not `the most tracks sold`."""
    if subject.measure:
        return subject.measure.is_traded
    verbs = [place for place, item in enumerate(sentence.items) if item.has("verb")]
    ranks = [place for place, item in enumerate(sentence.items) if item.has("order", "take")]
    return bool(verbs and ranks) and verbs[0] < ranks[0]


def _ranked_by_condition(sentence: Sentence) -> list[Dimension]:
    """`countries with more than 5 customers`: what the condition is about is the grouping."""
    for place, noun in sentence.nouns():
        if not sentence.is_number(noun) and not sentence.find("count"):
            sentence.use(place)
            return [Dimension(noun.text, noun)]
    raise Trouble("nested")


# -- the subject --------------------------------------------------------------------------------


def _subject(
    sentence: Sentence,
    lexicon: Lexicon,
    conditions: Conditions,
    ranking: Ranking,
    *,
    is_grouped: bool,
    traded_as: Measure | None,
) -> _Subject:
    """What is counted, added up or listed."""
    aggregate = _aggregate(sentence) or ranking.aggregate
    if measure := _named_measure(sentence):
        if sentence.find("count"):
            raise Trouble("count_of_sales", measure.text)
        sentence.use(*sentence.find("trade"))
        return _Subject(aggregate, measure)
    if noun := ranking.target or conditions.counted:
        return _of_target(sentence, noun, aggregate)
    if aggregate and aggregate != "count":
        return _of_aggregate(sentence, aggregate)
    if sentence.find("count", "people", "how_much") and (asked := _of_asking(sentence, lexicon)):
        return asked
    if traded_as is not None:
        sentence.use(*sentence.find("trade"))
        return _Subject(aggregate, traded_as)
    return _of_nouns(sentence, is_grouped=is_grouped, is_ranked=ranking.entity is not None)


def _of_asking(sentence: Sentence, lexicon: Lexicon) -> _Subject | None:
    """`how many`, `how many people`, `how much`."""
    for place in sentence.find("people"):
        item = sentence.items[place]
        if item.value_of("people") == "count":
            sentence.use(place, *sentence.find("count"))
            return _Subject("count", counted=people(lexicon, item.text))
    if counts := sentence.find("count"):
        return _of_count(sentence, counts)
    return _of_how_much(sentence) if sentence.find("how_much") else None


def _aggregate(sentence: Sentence) -> Aggregate | None:
    places = sentence.find("agg")
    said = {sentence.items[place].value_of("agg").partition(" ")[0] for place in places}
    if len(said) > 1 and said != {"sum"}:
        raise Trouble("several", *(sentence.items[place].text for place in places))
    sentence.use(*places)
    return cast("Aggregate", said.pop()) if said else None  # the vocabulary lists no other value


def _named_measure(sentence: Sentence) -> Measure | None:
    places = sentence.find("measure")
    kinds = {sentence.items[place].value_of("measure") for place in places}
    if len(kinds) > 1:
        raise Trouble("several", *(sentence.items[place].text for place in places))
    sentence.use(*places)
    if not places:
        return None
    kind = cast("Literal['sales', 'units']", kinds.pop())  # the vocabulary lists no other value
    return Measure(kind, sentence.items[places[0]].text)


def _of_target(sentence: Sentence, noun: Noun, aggregate: Aggregate | None) -> _Subject:
    sentence.use(*sentence.find("count"))
    if sentence.is_number(noun) or (sentence.dates(noun) and not noun.tables):
        return _Subject(aggregate, Measure("column", noun.text, sentence.numbers(noun) or noun))
    if aggregate not in {None, "sum", "count"}:
        raise Trouble("unplaced", noun.text)
    return _Subject("count", counted=noun)


def _of_aggregate(sentence: Sentence, aggregate: Aggregate) -> _Subject:
    numbers = [(p, n) for p, noun in sentence.nouns() if (n := sentence.numbers(noun))]
    exact = [(p, n) for p, n in numbers if sentence.is_number(n)]
    if choice := exact or numbers:
        if len(exact) > 1:
            raise Trouble("several", *(noun.text for _, noun in exact))
        place, noun = choice[0]
        sentence.use(place)
        return _Subject(aggregate, Measure("column", noun.text, noun))
    if counts := sentence.find("count"):
        if aggregate == "sum":
            return _of_count(sentence, counts)
        raise Trouble("several", *(sentence.items[place].text for place in counts))
    nouns = list(sentence.nouns())
    if aggregate == "sum" and nouns:
        sentence.use(nouns[0][0])
        return _Subject("count", counted=nouns[0][1])
    return _Subject(aggregate)


def _of_count(sentence: Sentence, counts: list[int]) -> _Subject:
    """`how many X`, `有多少 X`: the next noun; `X 数量`: the one before."""
    sentence.use(*counts)
    nouns = list(sentence.nouns())
    after = [each for each in nouns if each[0] > counts[0]]
    before = [each for each in nouns if each[0] < counts[0]]
    near = before[-1:] if before and before[-1][0] == counts[0] - 1 else []
    choice = (after[:1] or before[-1:]) if _is_open(sentence, counts[0]) else (near or after[:1])
    if not choice:
        return _Subject("count")
    sentence.use(choice[0][0])
    return _Subject("count", counted=choice[0][1])


def _is_open(sentence: Sentence, place: int) -> bool:
    """Whether the count word asks (`how many`, `有多少`) and so looks ahead for its noun."""
    return sentence.items[place].text not in {"数量", "个数", "数目", "总数", "数", "总数量"}


def _of_how_much(sentence: Sentence) -> _Subject:
    nouns = [(p, n) for p, noun in sentence.nouns() if (n := sentence.numbers(noun))]
    if len(nouns) == 1:
        sentence.use(nouns[0][0])
        return _Subject("sum", Measure("column", nouns[0][1].text, nouns[0][1]))
    return _Subject("sum", Measure("sales", "sales"))


def _of_nouns(sentence: Sentence, *, is_grouped: bool, is_ranked: bool) -> _Subject:
    """No word says what to do with the nouns: a number is added up, rows are counted or listed."""
    nouns = list(sentence.nouns())
    for place, noun in nouns:
        if sentence.is_number(noun) and (is_grouped or is_ranked or len(nouns) <= 2):
            sentence.use(place)
            return _Subject(None, Measure("column", noun.text, sentence.numbers(noun)))
    tables = [each for each in nouns if each[1].tables]
    is_number = any(sentence.items[p].value_of("ask") == "number" for p in sentence.find("ask"))
    if (is_grouped or is_number) and tables:
        sentence.use(tables[0][0])
        return _Subject("count", counted=tables[0][1])
    if nouns and not is_ranked:
        asked = asked_for(sentence)
        place, noun = next((each for each in nouns if each[0] == asked), nouns[0])
        sentence.use(place)
        return _Subject(listed=noun)
    return _Subject()


# -- what is left -------------------------------------------------------------------------------


def _date(sentence: Sentence, conditions: Conditions, dimensions: list[Dimension]) -> Noun | None:
    """The date that a time is of: `hired in 2020`."""
    if not conditions.periods and not any(each.bucket for each in dimensions):
        return None
    for place, noun in sentence.nouns():
        if dates := sentence.dates(noun):
            sentence.use(place)
            return dates
    return None


def _contexts(sentence: Sentence) -> tuple[Noun, ...]:
    """Nouns that only say what the rest is about: `the average price of tracks`."""
    found: list[Noun] = []
    for place, noun in list(sentence.nouns()):
        for near in (place - 1, place + 1):
            item, beyond = sentence.at(near), near + near - place
            others = sentence.items[beyond : beyond + 1] if beyond >= 0 else []
            if item and item.has("and") and any(other.noun for other in others):
                raise Trouble("several", others[0].text, noun.text)
        if not noun.tables:
            raise Trouble("unplaced", noun.text)
        found.append(noun)
        sentence.use(place)
    return tuple(found)


def _check_leftovers(sentence: Sentence) -> None:
    has_noun = any(item.noun for item in sentence.items)
    tolerated: tuple[Role, ...] = (*_TOLERATED, "schema") if has_noun else _TOLERATED
    left = [
        item.text
        for place, item in enumerate(sentence.items)
        if place not in sentence.used and not item.has(*tolerated)
    ]
    if left:
        raise Trouble("unplaced", *left)


def _is_follow_up(intent: Intent, sentence: Sentence, *, is_marked: bool) -> bool:
    """Whether the question needs the one before: it lacks a subject, or says so and is short."""
    if not intent.has_subject:
        return True
    if not is_marked:
        return False
    is_counted = bool(intent.counted) and any(item.has("count") for item in sentence.items)
    has_more = bool(intent.dimensions or intent.values or intent.periods)
    is_listed = bool(intent.listed) and any(item.has("list", "which") for item in sentence.items)
    return not (is_counted or is_listed or (intent.measure is not None and has_more))
