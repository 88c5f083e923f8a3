"""What a question ranks: `top 5 artists by sales`, `which genre has the most tracks`, `最高工资`.

A superlative either ranks something (`entity`) by something (`target`), or, with nothing to rank,
asks for the highest or lowest value itself. Without another measure a verb of selling or buying
means sales (`which genre sells best`, `哪个国家买得最多`): what is sold is ranked by its sales,
and a buyer by what was spent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

from dataagent_offline.data.column_choice import JoinContext, sales_facts, unit_facts
from dataagent_offline.data.intent import Dimension, Intent, Measure
from dataagent_offline.data.lexicon import Lexicon, entity_names, table_names
from dataagent_offline.data.plan import Group, Hop, Joins
from dataagent_offline.data.schema import SourceSchema
from dataagent_offline.data.segmentation import SpanList
from dataagent_offline.data.terms import (
    Aggregate,
    ColumnTerm,
    Direction,
    Noun,
    QuestionError,
    TableTerm,
)
from dataagent_offline.data.vocabulary import has_han, keys, nouns

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


def ranking_of(spans: SpanList, lexicon: Lexicon, dimensions: list[Dimension]) -> Ranking:
    """Take the ranking out of a sentence."""
    found = Ranking()
    takes, orders = spans.find("take"), spans.find("order", "extreme")
    trades = [p for p in spans.find("trade") if " " in spans.items[p].value_of("trade")]
    for position in (*takes, *orders, *trades):
        _set_direction(spans, position, found)
    found.is_sorted_only = not takes and not trades and _is_sorted_only(spans, orders)
    if takes:
        _take(spans, takes[0], found)
    for position in orders:
        spans.use(position)
        if spans.items[position].has("extreme"):
            _extreme(spans, position, lexicon, found)
        elif not spans.items[position].value_of("order").endswith("all"):
            _order(spans, position, found, is_grouped=bool(dimensions))
    if found.direction and found.entity is None:
        found.entity = _ranked(spans, lexicon, found, is_grouped=bool(dimensions))
    if found.direction and found.aggregate is None:
        _set_limit(spans, found, dimensions)
    return found


def people(lexicon: Lexicon, text: str) -> Noun:
    """The tables of people, as a noun."""
    terms: dict[str, TableTerm] = {}
    for word in _PEOPLE:
        for term in lexicon.tables.get(keys(word), {}).values():
            if term.quality >= 3:
                terms[term.table] = TableTerm(term.table, 4)
    if not terms:
        raise QuestionError("unlinked", text)
    return Noun(text, tuple(terms.values()))


def _set_direction(spans: SpanList, position: int, found: Ranking) -> None:
    item = spans.items[position]
    said = item.value_of("take") or item.value_of("order") or item.value_of("extreme")
    said = said.split()[0] if said else item.value_of("trade").split()[1]
    direction = cast("Direction", said)  # the vocabulary lists no other value
    if found.direction not in {None, direction}:
        raise QuestionError("unplaced", item.text)
    found.direction = direction


def _take(spans: SpanList, position: int, found: Ranking) -> None:
    """`top 5 artists`: the number and the noun that follow."""
    spans.use(position)
    step = position + 1
    if (number := spans.at(step)) and number.number is not None:
        found.limit = _whole(number.number, number.text)
        spans.use(step)
        step += 1
    while (item := spans.at(step)) and item.has("order", "extreme", "trade"):
        step += 1
    noun = spans.noun(step)
    if noun and not spans.is_number(noun):
        found.entity = noun
        spans.use(step)


def _extreme(spans: SpanList, position: int, lexicon: Lexicon, found: Ranking) -> None:
    """`longest tracks`: the adjective names the column, the noun what is ranked."""
    word = spans.items[position].value_of("extreme").split()[1]
    columns = tuple(lexicon.columns.get(keys(word), {}).values())
    if found.entity is None:
        found.entity = _noun_near(spans, position, lambda noun: bool(noun.tables))
    if found.entity is None:
        raise QuestionError("unplaced", spans.items[position].text)
    tables = {term.table for term in found.entity.tables}
    if word == "date" and (named := _named_date(spans, position)):
        columns = named.columns
    elif word == "date":
        columns = tuple(
            ColumnTerm(table, column.name, 4)
            for table in tables
            for column in spans.schema.tables[table].columns.values()
            if column.kind == "date"
        )
    own = tuple(term for term in columns if term.table in tables)
    if not own:
        raise QuestionError("unlinked", spans.items[position].text)
    found.target = Noun(spans.items[position].text, columns=own)


def _named_date(spans: SpanList, position: int) -> Noun | None:
    """`入职最早`: the date that is early."""
    for near in (position - 1, position + 1):
        noun = spans.noun(near)
        if noun and (dates := spans.dates(noun)):
            spans.use(near)
            return dates
    return None


def _noun_near(spans: SpanList, position: int, fits: Callable[[Noun], bool]) -> Noun | None:
    """The first fitting noun after a place, or else the last before it."""
    after = [each for each in spans.nouns() if each[0] > position and fits(each[1])]
    before = [each for each in spans.nouns() if each[0] < position and fits(each[1])]
    choice = after[:1] or before[-1:]
    if not choice:
        return None
    spans.use(choice[0][0])
    return choice[0][1]


def _order(spans: SpanList, position: int, found: Ranking, *, is_grouped: bool) -> None:
    """`most`, `highest`, `最多`: what is ranked stands before or after, by language."""
    before, after = _beside(spans, position, -1), _beside(spans, position, 1)
    wanted = noun_after_which(spans)
    if found.entity is None and wanted is not None:
        found.entity = spans.noun(wanted)
        spans.use(wanted)
        before, after = (None if each == wanted else each for each in (before, after))
    elif found.entity is None and after is not None and _is_head(spans, after, before):
        found.entity = spans.noun(after)
        spans.use(after)
        after = None
    elif found.entity is None and (owner := _owner(spans, position)) is not None:
        found.entity = spans.noun(owner)
        spans.use(owner)
        before = None if before == owner else before
    _set_target(spans, (after, before), found, is_grouped=is_grouped)


def _set_target(
    spans: SpanList,
    sides: tuple[int | None, int | None],
    found: Ranking,
    *,
    is_grouped: bool,
) -> None:
    is_named = bool(spans.find("measure", "count", "agg"))
    for position in sides:
        noun = None if position is None else spans.noun(position)
        if position is None or noun is None or (is_named and not spans.is_number(noun)):
            continue
        is_ranked = found.entity is not None or bool(spans.find("which", "bucket", "people"))
        if not is_ranked and spans.is_number(noun):
            if not spans.find("agg"):
                found.aggregate = "max" if found.direction == "desc" else "min"
                found.direction = None
            return
        if is_ranked or is_grouped:
            found.target = noun
            spans.use(position)
        return


def _beside(spans: SpanList, position: int, step: int) -> int | None:
    """The noun next to a place, numbers and joining words skipped."""
    position += step
    while (item := spans.at(position)) is not None:
        if item.noun and not item.has("bucket"):
            beyond = spans.noun(position + 1) if step == 1 else None
            is_owner = beyond is not None and spans.is_number(beyond)
            return position + 1 if is_owner and not spans.is_number(item.noun) else position
        if item.number is None and not item.has("with", "ask"):
            return None
        position += step
    return None


def noun_after_which(spans: SpanList) -> int | None:
    """The noun right after `which` or `哪些`."""
    for position in spans.find("which", "list", "ask"):
        number = spans.at(position + 1)
        near = position + 2 if number and number.number is not None else position + 1
        noun = spans.noun(near)
        if noun and not spans.is_number(noun):
            return near
    return None


def _ranked(spans: SpanList, lexicon: Lexicon, found: Ranking, *, is_grouped: bool) -> Noun | None:
    """What is ranked, where it does not stand beside the word that ranks."""
    verbs = [position for position, item in enumerate(spans.items) if item.has("verb")]
    trades = [*verbs, *spans.find("trade")]
    if is_grouped and not trades:
        return None
    wanted = None if found.is_sorted_only else noun_after_which(spans)
    if wanted is not None:
        noun = spans.noun(wanted)
        spans.use(wanted)
        return noun
    is_named = bool(spans.find("count") or (verbs and spans.find("measure", "agg")))
    if trades and not (is_named or found.is_sorted_only or found.target):
        near = _noun_near(spans, trades[0], lambda noun: not spans.is_number(noun))
        if near is not None:
            return near
    return None if is_grouped else _who(spans, lexicon)


def _who(spans: SpanList, lexicon: Lexicon) -> Noun | None:
    """`who spent the most`: people, where no noun says which."""
    places = [p for p in spans.find("people") if spans.items[p].value_of("people") == "who"]
    return people(lexicon, spans.items[places[0]].text) if places else None


def _is_head(spans: SpanList, after: int, before: int | None) -> bool:
    """`曲目最多的流派`, `工资最高的员工`: in Chinese what is ranked comes last."""
    noun = spans.noun(after)
    if noun is None or spans.is_number(noun) or not has_han(spans.items[after].text):
        return False
    return before is not None or bool(spans.find("measure", "count", "agg"))


def _owner(spans: SpanList, position: int) -> int | None:
    """`artists with the most albums`, `customers spending the most`."""
    item = spans.at(position - 1)
    if item is None or not item.has("with", "measure"):
        return None
    noun = spans.noun(position - 2)
    return position - 2 if noun and not spans.is_number(noun) else None


def _set_limit(spans: SpanList, found: Ranking, dimensions: list[Dimension]) -> None:
    numbers = [position for position, item in enumerate(spans.items) if item.number is not None]
    free = [position for position in numbers if position not in spans.used]
    if found.limit is None and len(free) == 1:
        number = spans.items[free[0]]
        found.limit = _whole(number.number or 0, number.text)
        spans.use(free[0])
    if found.limit is not None or found.is_sorted_only:
        return
    is_which = bool(spans.find("which", "people"))
    is_several = bool(spans.find("list"))
    if found.entity is not None:
        found.limit = _MOST_ROWS if found.entity.is_plural or is_several else 1
    elif is_which and dimensions:
        found.limit = 1
    found.is_single = found.limit == 1


def _is_sorted_only(spans: SpanList, orders: list[int]) -> bool:
    return bool(orders) and all(
        spans.items[position].value_of("order").endswith("all") for position in orders
    )


def _whole(number: float, text: str) -> int:
    if number != int(number) or not 0 < number <= 1000:
        raise QuestionError("unplaced", text)
    return int(number)


_BUYERS: Final = frozenset(
    keys(word) for name in ("customer", "user", "member") for word in nouns()[keys(name)]
)


def verb_of(spans: SpanList) -> tuple[str, str]:
    """`sell` or `buy` if the question says so, and its word for it."""
    for position in spans.find("verb", "trade"):
        item = spans.items[position]
        return item.value_of("verb") or item.value_of("trade").split()[0], item.text
    return "", ""


def traded_measure(verb: str, text: str, direction: Direction | None) -> Measure | None:
    """What a verb ranks by, if the question ranks and names nothing else."""
    if not verb or direction is None:
        return None
    if direction == "asc":
        raise QuestionError("least_traded", text)
    return Measure("sales", text, is_traded=True)


def check_side(verb: str, noun: Noun, group: Group, context: JoinContext) -> None:
    """`QuestionError` if the ranked cannot do what the verb says: genres buy nothing."""
    ref, path, tables = group.shown[0], context.paths[-1], context.schema.tables
    own = [*table_names(tables[ref.table]), keys(ref.column), *entity_names(keys(ref.column))]
    passed = [phrase for hop in path for phrase in table_names(tables[hop.target])]
    is_buyer = any(phrase in _BUYERS for phrase in own)
    is_sold = not is_buyer and not any(phrase in _BUYERS for phrase in passed)
    is_deal = any(
        term.table == ref.table and term.table in _deals(context.schema, context.joins)
        for term in noun.tables
    )
    if is_deal or not (is_buyer if verb == "buy" else is_sold):
        raise QuestionError("by_what", noun.text)


def check_list(
    intent: Intent, base: str, hops: tuple[Hop, ...], schema: SourceSchema, joins: Joins
) -> None:
    """`QuestionError` if a list pays no heed to the verb: `genres sold` are not all genres."""
    if intent.verb and not _deals(schema, joins) & {base, *(hop.target for hop in hops)}:
        raise QuestionError("unplaced", intent.verb_text)


def _deals(schema: SourceSchema, joins: Joins) -> set[str]:
    """The tables that hold what was sold: documents and their lines."""
    facts = (*sales_facts(schema, joins), *unit_facts(schema, joins))
    return {table for fact in facts for table in (fact.table, fact.head) if table}
