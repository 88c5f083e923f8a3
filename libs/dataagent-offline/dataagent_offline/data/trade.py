"""Selling and buying as what a question ranks by: `which genre sells best`, `哪个国家买得最多`.

Without another measure the verb means sales. It also says who is ranked: what is sold is ranked by
its sales, and a buyer by what was spent, never one in place of the other. Above: `parse`, `link`.
"""

from __future__ import annotations

from typing import Final

from dataagent_offline.data.column_choice import JoinContext
from dataagent_offline.data.facts import sales_facts, unit_facts
from dataagent_offline.data.intent import Intent, Measure
from dataagent_offline.data.joins import Hop, Joins
from dataagent_offline.data.lexicon import entity_names, table_names
from dataagent_offline.data.plan import Group
from dataagent_offline.data.schema import SourceSchema
from dataagent_offline.data.spans import SpanList
from dataagent_offline.data.synonyms import nouns
from dataagent_offline.data.terms import Direction, Noun, QuestionError
from dataagent_offline.data.words import keys

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
