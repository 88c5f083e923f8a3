"""Selling and buying as what a question ranks by: `which genre sells best`, `哪个国家买得最多`.

Without another measure the verb means sales. It also says who is ranked: what is sold is ranked by
its sales, and a buyer by what was spent, never one in place of the other. Above: `parse`, `link`.
"""

from __future__ import annotations

from typing import Final

from dataagent_offline.data.choose import Scene
from dataagent_offline.data.facts import sales_facts, unit_facts
from dataagent_offline.data.intent import Intent, Measure
from dataagent_offline.data.joins import Hop, Joins
from dataagent_offline.data.lexicon import named_by, table_names
from dataagent_offline.data.plan import Group
from dataagent_offline.data.schema import Schema
from dataagent_offline.data.sentence import Sentence
from dataagent_offline.data.synonyms import nouns
from dataagent_offline.data.terms import Direction, Noun, Trouble
from dataagent_offline.data.words import keys

_BUYERS: Final = frozenset(
    keys(word) for name in ("customer", "user", "member") for word in nouns()[keys(name)]
)


def verb_of(sentence: Sentence) -> tuple[str, str]:
    """`sell` or `buy` if the question says so, and its word for it."""
    for place in sentence.find("verb", "trade"):
        item = sentence.items[place]
        return item.value_of("verb") or item.value_of("trade").split()[0], item.text
    return "", ""


def traded(verb: str, text: str, direction: Direction | None) -> Measure | None:
    """What a verb ranks by, if the question ranks and names nothing else."""
    if not verb or direction is None:
        return None
    if direction == "asc":
        raise Trouble("least_traded", text)
    return Measure("sales", text, is_traded=True)


def check_side(verb: str, noun: Noun, group: Group, scene: Scene) -> None:
    """`Trouble` if the ranked cannot do what the verb says: genres buy nothing."""
    ref, path, tables = group.shown[0], scene.paths[-1], scene.schema.tables
    own = [*table_names(tables[ref.table]), keys(ref.column), *named_by(keys(ref.column))]
    passed = [phrase for hop in path for phrase in table_names(tables[hop.target])]
    is_buyer = any(phrase in _BUYERS for phrase in own)
    is_sold = not is_buyer and not any(phrase in _BUYERS for phrase in passed)
    is_deal = any(
        term.table == ref.table and term.table in _deals(scene.schema, scene.joins)
        for term in noun.tables
    )
    if is_deal or not (is_buyer if verb == "buy" else is_sold):
        raise Trouble("by_what", noun.text)


def check_list(
    intent: Intent, base: str, hops: tuple[Hop, ...], schema: Schema, joins: Joins
) -> None:
    """`Trouble` if a list pays no heed to the verb: `genres sold` are not all genres."""
    if intent.verb and not _deals(schema, joins) & {base, *(hop.target for hop in hops)}:
        raise Trouble("unplaced", intent.verb_text)


def _deals(schema: Schema, joins: Joins) -> set[str]:
    """The tables that hold what was sold: documents and their lines."""
    facts = (*sales_facts(schema, joins), *unit_facts(schema, joins))
    return {table for fact in facts for table in (fact.table, fact.head) if table}
