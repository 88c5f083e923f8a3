"""What a question ranks: `top 5 artists by sales`, `which genre has the most tracks`, `最高工资`.

A superlative either ranks something (`entity`) by something (`target`), or, with nothing to rank,
asks for the highest or lowest value itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

from dataagent_offline.data.intent import Dimension
from dataagent_offline.data.lexicon import Lexicon
from dataagent_offline.data.sentence import Sentence
from dataagent_offline.data.terms import (
    Aggregate,
    ColumnTerm,
    Direction,
    Noun,
    TableTerm,
    Trouble,
)
from dataagent_offline.data.words import has_han, keys

_PEOPLE: Final = ("customer", "employee", "user", "member", "student", "teacher", "person", "staff")
_MOST_ROWS: Final = 10
"""How many are shown when a question ranks several and names no number."""


@dataclass(slots=True)
class Ranking:
    """Which way, how many, what, by what."""

    direction: Direction | None = None
    is_sorted_only: bool = False
    limit: int | None = None
    is_single: bool = False
    entity: Noun | None = None
    target: Noun | None = None
    aggregate: Aggregate | None = None


def ranking_of(sentence: Sentence, lexicon: Lexicon, dimensions: list[Dimension]) -> Ranking:
    """Take the ranking out of a sentence."""
    found = Ranking()
    takes, orders = sentence.find("take"), sentence.find("order", "extreme")
    trades = [p for p in sentence.find("trade") if " " in sentence.items[p].value_of("trade")]
    for place in (*takes, *orders, *trades):
        _set_direction(sentence, place, found)
    found.is_sorted_only = not takes and not trades and _is_sorted_only(sentence, orders)
    if takes:
        _take(sentence, takes[0], found)
    for place in orders:
        sentence.use(place)
        if sentence.items[place].has("extreme"):
            _extreme(sentence, place, lexicon, found)
        elif not sentence.items[place].value_of("order").endswith("all"):
            _order(sentence, place, found, is_grouped=bool(dimensions))
    if found.direction and found.entity is None:
        found.entity = _ranked(sentence, lexicon, found, is_grouped=bool(dimensions))
    if found.direction and found.aggregate is None:
        _set_limit(sentence, found, dimensions)
    return found


def people(lexicon: Lexicon, text: str) -> Noun:
    """The tables of people, as a noun."""
    terms: dict[str, TableTerm] = {}
    for word in _PEOPLE:
        for term in lexicon.tables.get(keys(word), {}).values():
            if term.quality >= 3:
                terms[term.table] = TableTerm(term.table, 4)
    if not terms:
        raise Trouble("unlinked", text)
    return Noun(text, tuple(terms.values()))


def _set_direction(sentence: Sentence, place: int, found: Ranking) -> None:
    item = sentence.items[place]
    said = item.value_of("take") or item.value_of("order") or item.value_of("extreme")
    said = said.split()[0] if said else item.value_of("trade").split()[1]
    direction = cast("Direction", said)  # the vocabulary lists no other value
    if found.direction not in {None, direction}:
        raise Trouble("unplaced", item.text)
    found.direction = direction


def _take(sentence: Sentence, place: int, found: Ranking) -> None:
    """`top 5 artists`: the number and the noun that follow."""
    sentence.use(place)
    step = place + 1
    if (number := sentence.at(step)) and number.number is not None:
        found.limit = _whole(number.number, number.text)
        sentence.use(step)
        step += 1
    while (item := sentence.at(step)) and item.has("order", "extreme", "trade"):
        step += 1
    noun = sentence.noun(step)
    if noun and not sentence.is_number(noun):
        found.entity = noun
        sentence.use(step)


def _extreme(sentence: Sentence, place: int, lexicon: Lexicon, found: Ranking) -> None:
    """`longest tracks`: the adjective names the column, the noun what is ranked."""
    word = sentence.items[place].value_of("extreme").split()[1]
    columns = tuple(lexicon.columns.get(keys(word), {}).values())
    if found.entity is None:
        found.entity = _noun_near(sentence, place, lambda noun: bool(noun.tables))
    if found.entity is None:
        raise Trouble("unplaced", sentence.items[place].text)
    tables = {term.table for term in found.entity.tables}
    if word == "date" and (named := _named_date(sentence, place)):
        columns = named.columns
    elif word == "date":
        columns = tuple(
            ColumnTerm(table, column.name, 4)
            for table in tables
            for column in sentence.schema.tables[table].columns.values()
            if column.kind == "date"
        )
    own = tuple(term for term in columns if term.table in tables)
    if not own:
        raise Trouble("unlinked", sentence.items[place].text)
    found.target = Noun(sentence.items[place].text, columns=own)


def _named_date(sentence: Sentence, place: int) -> Noun | None:
    """`入职最早`: the date that is early."""
    for near in (place - 1, place + 1):
        noun = sentence.noun(near)
        if noun and (dates := sentence.dates(noun)):
            sentence.use(near)
            return dates
    return None


def _noun_near(sentence: Sentence, place: int, fits: Callable[[Noun], bool]) -> Noun | None:
    """The first fitting noun after a place, or else the last before it."""
    after = [each for each in sentence.nouns() if each[0] > place and fits(each[1])]
    before = [each for each in sentence.nouns() if each[0] < place and fits(each[1])]
    choice = after[:1] or before[-1:]
    if not choice:
        return None
    sentence.use(choice[0][0])
    return choice[0][1]


def _order(sentence: Sentence, place: int, found: Ranking, *, is_grouped: bool) -> None:
    """`most`, `highest`, `最多`: what is ranked stands before or after, by language."""
    before, after = _beside(sentence, place, -1), _beside(sentence, place, 1)
    asked = asked_for(sentence)
    if found.entity is None and asked is not None:
        found.entity = sentence.noun(asked)
        sentence.use(asked)
        before, after = (None if each == asked else each for each in (before, after))
    elif found.entity is None and after is not None and _is_head(sentence, after, before):
        found.entity = sentence.noun(after)
        sentence.use(after)
        after = None
    elif found.entity is None and (owner := _owner(sentence, place)) is not None:
        found.entity = sentence.noun(owner)
        sentence.use(owner)
        before = None if before == owner else before
    _set_target(sentence, (after, before), found, is_grouped=is_grouped)


def _set_target(
    sentence: Sentence,
    sides: tuple[int | None, int | None],
    found: Ranking,
    *,
    is_grouped: bool,
) -> None:
    is_named = bool(sentence.find("measure", "count", "agg"))
    for place in sides:
        noun = None if place is None else sentence.noun(place)
        if place is None or noun is None or (is_named and not sentence.is_number(noun)):
            continue
        is_ranked = found.entity is not None or bool(sentence.find("which", "bucket", "people"))
        if not is_ranked and sentence.is_number(noun):
            if not sentence.find("agg"):
                found.aggregate = "max" if found.direction == "desc" else "min"
                found.direction = None
            return
        if is_ranked or is_grouped:
            found.target = noun
            sentence.use(place)
        return


def _beside(sentence: Sentence, place: int, step: int) -> int | None:
    """The noun next to a place, numbers and joining words skipped."""
    place += step
    while (item := sentence.at(place)) is not None:
        if item.noun and not item.has("bucket"):
            beyond = sentence.noun(place + 1) if step == 1 else None
            is_owner = beyond is not None and sentence.is_number(beyond)
            return place + 1 if is_owner and not sentence.is_number(item.noun) else place
        if item.number is None and not item.has("with", "ask"):
            return None
        place += step
    return None


def asked_for(sentence: Sentence) -> int | None:
    """The noun right after `which` or `哪些`."""
    for place in sentence.find("which", "list", "ask"):
        number = sentence.at(place + 1)
        near = place + 2 if number and number.number is not None else place + 1
        noun = sentence.noun(near)
        if noun and not sentence.is_number(noun):
            return near
    return None


def _ranked(
    sentence: Sentence, lexicon: Lexicon, found: Ranking, *, is_grouped: bool
) -> Noun | None:
    """What is ranked, where it does not stand beside the word that ranks."""
    verbs = [place for place, item in enumerate(sentence.items) if item.has("verb")]
    trades = [*verbs, *sentence.find("trade")]
    if is_grouped and not trades:
        return None
    asked = None if found.is_sorted_only else asked_for(sentence)
    if asked is not None:
        noun = sentence.noun(asked)
        sentence.use(asked)
        return noun
    is_named = bool(sentence.find("count") or (verbs and sentence.find("measure", "agg")))
    if trades and not (is_named or found.is_sorted_only or found.target):
        near = _noun_near(sentence, trades[0], lambda noun: not sentence.is_number(noun))
        if near is not None:
            return near
    return None if is_grouped else _who(sentence, lexicon)


def _who(sentence: Sentence, lexicon: Lexicon) -> Noun | None:
    """`who spent the most`: people, where no noun says which."""
    places = [p for p in sentence.find("people") if sentence.items[p].value_of("people") == "who"]
    return people(lexicon, sentence.items[places[0]].text) if places else None


def _is_head(sentence: Sentence, after: int, before: int | None) -> bool:
    """`曲目最多的流派`, `工资最高的员工`: in Chinese what is ranked comes last."""
    noun = sentence.noun(after)
    if noun is None or sentence.is_number(noun) or not has_han(sentence.items[after].text):
        return False
    return before is not None or bool(sentence.find("measure", "count", "agg"))


def _owner(sentence: Sentence, place: int) -> int | None:
    """`artists with the most albums`, `customers spending the most`."""
    item = sentence.at(place - 1)
    if item is None or not item.has("with", "measure"):
        return None
    noun = sentence.noun(place - 2)
    return place - 2 if noun and not sentence.is_number(noun) else None


def _set_limit(sentence: Sentence, found: Ranking, dimensions: list[Dimension]) -> None:
    numbers = [place for place, item in enumerate(sentence.items) if item.number is not None]
    free = [place for place in numbers if place not in sentence.used]
    if found.limit is None and len(free) == 1:
        number = sentence.items[free[0]]
        found.limit = _whole(number.number or 0, number.text)
        sentence.use(free[0])
    if found.limit is not None or found.is_sorted_only:
        return
    is_which = bool(sentence.find("which", "people"))
    is_several = bool(sentence.find("list"))
    if found.entity is not None:
        found.limit = _MOST_ROWS if found.entity.is_plural or is_several else 1
    elif is_which and dimensions:
        found.limit = 1
    found.is_single = found.limit == 1


def _is_sorted_only(sentence: Sentence, orders: list[int]) -> bool:
    return bool(orders) and all(
        sentence.items[place].value_of("order").endswith("all") for place in orders
    )


def _whole(number: float, text: str) -> int:
    if number != int(number) or not 0 < number <= 1000:
        raise Trouble("unplaced", text)
    return int(number)
