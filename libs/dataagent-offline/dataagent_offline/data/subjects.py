"""The readings of what a question counts, adds up or lists: a table in the middle and columns.

Every reading is given; which one holds is `link`'s to find. Below: `facts`, for sales and units.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from dataagent_offline.data.facts import (
    Fact,
    is_amount,
    sales_facts,
    unit_facts,
)
from dataagent_offline.data.intent import Intent
from dataagent_offline.data.joins import Joins
from dataagent_offline.data.labels import label_columns
from dataagent_offline.data.lexicon import is_number_of
from dataagent_offline.data.plan import PlannedAggregate, Ref
from dataagent_offline.data.schema import SourceSchema
from dataagent_offline.data.terms import ColumnTerm, Noun, QuestionError
from dataagent_offline.data.vocabulary import fixed_words
from dataagent_offline.data.words import atoms, keys

_AGGREGATE_NAMES: Final = {"sum": "total", "avg": "average", "min": "lowest", "max": "highest"}


@dataclass(frozen=True, slots=True)
class Subject:
    """One reading of what is counted, added up or listed."""

    base: str
    aggregate: PlannedAggregate | None
    factors: tuple[Ref, ...] = ()
    name: str = ""
    shown: tuple[Ref, ...] = ()
    quality: int = 4
    rank: int = 0
    is_document: bool = False
    """A total of documents that have lines: it must not be split."""


def subjects(intent: Intent, schema: SourceSchema, joins: Joins) -> Iterator[Subject]:
    """All readings of the question's subject."""
    if intent.measure and intent.measure.noun:
        yield from _column_subjects(intent, intent.measure.noun, schema, joins)
    elif intent.measure:
        yield from _fact_subjects(intent, intent.measure.kind, schema, joins)
    elif intent.counted:
        yield from _count_subjects(intent, intent.counted, schema, joins)
    elif intent.listed:
        yield from _list_subjects(intent.listed, schema)


def _fact_subjects(
    intent: Intent, kind: str, schema: SourceSchema, joins: Joins
) -> Iterator[Subject]:
    facts = sales_facts(schema, joins) if kind == "sales" else unit_facts(schema, joins)
    if not facts:
        raise QuestionError("no_sales", subject_text(intent))
    aggregate = intent.aggregate or "sum"
    if aggregate != "sum" and intent.dimensions:
        raise QuestionError("average_of_groups", subject_text(intent))
    for fact in facts:
        if fact.is_line and aggregate != "sum":
            continue
        yield _of_fact(fact, aggregate, kind, facts)


def _of_fact(fact: Fact, aggregate: PlannedAggregate, kind: str, facts: list[Fact]) -> Subject:
    factors = tuple(Ref(fact.table, column) for column in fact.columns)
    return Subject(
        fact.table,
        aggregate,
        factors,
        kind if aggregate == "sum" else f"{_AGGREGATE_NAMES[aggregate]}_{kind}",
        rank=-int(fact.is_line),
        is_document=any(other.head == fact.table for other in facts),
    )


def _column_subjects(
    intent: Intent, noun: Noun, schema: SourceSchema, joins: Joins
) -> Iterator[Subject]:
    facts = sales_facts(schema, joins)
    if intent.aggregate not in {None, "sum"} and _is_sales_word(noun) and _others(intent, noun):
        raise QuestionError("average_of_groups", noun.text)
    if not any(_can_be_measured(intent, term, schema) for term in noun.columns):
        raise QuestionError("which_aggregate", noun.text)
    for term in noun.columns:
        ref = Ref(term.table, term.column)
        if intent.aggregate is None and ranks_its_own_rows(intent, term.table):
            shown = names_of(schema, term.table)
            yield Subject(term.table, None, (ref,), shown=shown, quality=term.quality)
            continue
        if intent.aggregate is None and _is_looked_up(intent, term.table, schema):
            shown = tuple(dict.fromkeys((*names_of(schema, term.table), ref)))
            yield Subject(term.table, None, shown=shown, quality=term.quality)
            continue
        aggregate = intent.aggregate
        if aggregate is None and is_amount(schema.column(term.table, term.column)):
            aggregate = "sum"
        if aggregate is None:
            continue
        lines = [fact for fact in facts if fact.is_line and fact.head == term.table]
        is_total = any(
            fact.table == term.table and fact.columns == (term.column,) for fact in facts
        )
        name = "_".join(dict.fromkeys((_AGGREGATE_NAMES[aggregate], _snake(term.column))))
        is_document = is_total and bool(lines)
        yield Subject(
            term.table, aggregate, (ref,), name, quality=term.quality, is_document=is_document
        )
        if is_document and aggregate == "sum":
            yield from (
                replace(_of_fact(line, "sum", "sales", facts), quality=term.quality)
                for line in lines
            )


def _is_sales_word(noun: Noun) -> bool:
    """Whether the column was named by a word for sales, not by its own name."""
    return any(word.role == "measure" for word in fixed_words().get(keys(noun.text), ()))


def _others(intent: Intent, noun: Noun) -> bool:
    """Whether the answer is grouped by anything but the rows that hold the column."""
    tables = {term.table for term in noun.columns}
    return any(
        each.noun is None or not tables & {term.table for term in each.noun.tables}
        for each in intent.dimensions
    )


def _can_be_measured(intent: Intent, term: ColumnTerm, schema: SourceSchema) -> bool:
    is_named = (
        intent.aggregate is not None
        or ranks_its_own_rows(intent, term.table)
        or _is_looked_up(intent, term.table, schema)
    )
    return is_named or is_amount(schema.column(term.table, term.column))


def _is_looked_up(intent: Intent, table: str, schema: SourceSchema) -> bool:
    """`the salary of Ada`: one row's own value, nothing to add up."""
    labels = {(table, name) for name in label_columns(schema.tables[table])}
    return not intent.dimensions and any(value.places <= labels for value in intent.values)


def ranks_its_own_rows(intent: Intent, table: str) -> bool:
    """`the 5 longest tracks`: rows of the table that holds the column."""
    if intent.direction is None or len(intent.dimensions) != 1:
        return False
    noun = intent.dimensions[0].noun
    return noun is not None and any(term.table == table for term in noun.tables)


def _count_subjects(
    intent: Intent, noun: Noun, schema: SourceSchema, joins: Joins
) -> Iterator[Subject]:
    best = max((term.quality for term in (*noun.tables, *noun.columns)), default=0)
    tables = [term for term in noun.tables if term.quality == best]
    for term in tables:
        sold = _sold_subject(intent, term.table, schema, joins) if intent.verb else None
        yield sold or Subject(term.table, "count", name=f"{_snake(term.table)}_count")
    if tables:
        return
    numbered = [term for term in noun.columns if is_number_of(term.column)]
    for term in numbered or noun.columns:
        if term.quality == best:
            ref = Ref(term.table, term.column)
            name = f"{_snake(term.column)}_count"
            yield Subject(term.table, "count_distinct", (ref,), name)


def _sold_subject(intent: Intent, table: str, schema: SourceSchema, joins: Joins) -> Subject | None:
    """`how many tracks were sold`: units; `how many customers bought`: each buyer once."""
    for fact in unit_facts(schema, joins):
        parents = {link.table: link for link in schema.tables[fact.table].links}
        if table in parents and table != fact.head:
            if intent.is_distinct:
                ref = Ref(fact.table, parents[table].columns[0])
                return Subject(fact.table, "count_distinct", (ref,), f"{_snake(table)}_count")
            return _of_fact(fact, "sum", "units", [fact])
        heads = schema.tables[fact.head].links if fact.head else ()
        for head_link in heads:
            if fact.head and head_link.table == table:
                ref = Ref(fact.head, head_link.columns[0])
                return Subject(fact.head, "count_distinct", (ref,), f"{_snake(table)}_count")
    return None


def _list_subjects(noun: Noun, schema: SourceSchema) -> Iterator[Subject]:
    best = max((term.quality for term in (*noun.tables, *noun.columns)), default=0)
    tables = [term for term in noun.tables if term.quality == best]
    for term in tables:
        yield Subject(term.table, None, shown=names_of(schema, term.table))
    if not tables:
        for term in _names_first(noun.columns):
            if term.quality == best:
                yield Subject(term.table, None, shown=(Ref(term.table, term.column),))


def _names_first(terms: tuple[ColumnTerm, ...]) -> list[ColumnTerm]:
    """Names if there are any, else numbers: `客户名称` before `客户编号`."""
    named = [term for term in terms if not is_number_of(term.column)]
    return named or list(terms)


def names_of(schema: SourceSchema, table: str) -> tuple[Ref, ...]:
    """The columns that say what a row of the table is called."""
    return tuple(Ref(table, name) for name in label_columns(schema.tables[table]))


def subject_text(intent: Intent) -> str:
    """The word of the question for its subject."""
    if intent.measure:
        return intent.measure.text
    noun = intent.counted or intent.listed
    return noun.text if noun else ""


def _snake(name: str) -> str:
    return "_".join(atom.text.lower() for atom in atoms(name)) if name.isascii() else name
