"""Plans an intent: the table in the middle, the columns, the joins.

Every reading of the subject is tried; the best that accounts for the whole question is the plan.
A sum never counts a row twice: where a join would repeat rows, the lines are summed instead of the
documents' totals, or each row once per group, or the question is declined. A question for the least
(`which customer has the fewest invoices`) must not pass over groups without rows, so the plan
starts from the groups where it can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from dataagent_offline.data.column_choice import (
    Fact,
    JoinContext,
    choose_column,
    choose_date,
    choose_group,
    choose_value,
    is_amount,
    sales_facts,
    unit_facts,
)
from dataagent_offline.data.intent import Dimension, FlagFilter, Intent
from dataagent_offline.data.lexicon import is_number_of
from dataagent_offline.data.plan import (
    Condition,
    Group,
    Hop,
    Joins,
    PlannedAggregate,
    Ref,
    SelectPlan,
    join_tree,
    repeats_rows,
)
from dataagent_offline.data.ranking import check_list, check_side
from dataagent_offline.data.schema import SourceSchema, label_columns, yes_values
from dataagent_offline.data.terms import ColumnTerm, Noun, QuestionError
from dataagent_offline.data.vocabulary import atoms, fixed_words, keys

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


def with_zeros(plan: SelectPlan, schema: SourceSchema) -> SelectPlan:
    """The plan with empty groups, if it looks for few; `QuestionError` if they cannot be had."""
    if plan.aggregate not in {"count", "count_distinct"} or not _is_from_below(plan):
        return plan
    if all(ref.table == plan.base for group in plan.groups for ref in group.shown):
        return plan
    if not _can_start_from_the_group(plan, schema):
        raise QuestionError("least_counted", plan.groups[0].shown[0].table, plan.base)
    return replace(plan, has_zeros=True)


def _is_from_below(plan: SelectPlan) -> bool:
    return plan.direction == "asc" or (plan.having is not None and plan.having[0] in {"lt", "le"})


def _can_start_from_the_group(plan: SelectPlan, schema: SourceSchema) -> bool:
    """Whether the joins are one way to one group, and every condition is on that group."""
    way = [plan.base, *(hop.target for hop in plan.hops)]
    is_one_way = all(
        hop.source == source for hop, (source, _) in zip(plan.hops, pairwise(way), strict=True)
    )
    return (
        plan.aggregate == "count"
        and len(schema.tables[plan.base].primary_key) == 1
        and len(plan.groups) == 1
        and plan.groups[0].shown[0].table == way[-1]
        and is_one_way
        and not plan.periods
        and all(condition.ref.table == way[-1] for condition in plan.conditions)
    )


_MOST_GROUPS: Final = 3


def make_plan(intent: Intent, schema: SourceSchema) -> SelectPlan:
    """The plan; `QuestionError` if there is none, or two that are as good."""
    joins = Joins(schema)
    plans: list[tuple[tuple[int, ...], SelectPlan]] = []
    troubles: list[QuestionError] = []
    for subject in subjects(intent, schema, joins):
        try:
            plans.append(_planned(subject, intent, schema, joins))
        except QuestionError as problem:
            troubles.append(problem)
    if not plans:
        raise troubles[0] if troubles else QuestionError("no_subject")
    plans.sort(key=lambda each: each[0], reverse=True)
    best = [plan for score, plan in plans if score == plans[0][0]]
    if len({(plan.base, plan.factors, plan.shown) for plan in best}) > 1:
        raise QuestionError("ambiguous", subject_text(intent), *(_described(plan) for plan in best))
    return best[0]


def _described(plan: SelectPlan) -> str:
    return " × ".join(map(str, plan.factors or plan.shown)) or plan.base


# -- the plan -----------------------------------------------------------------------------------


def _planned(
    subject: Subject, intent: Intent, schema: SourceSchema, joins: Joins
) -> tuple[tuple[int, ...], SelectPlan]:
    """The plan around one reading of the subject, and how good it is."""
    is_summed = subject.aggregate in {"sum", "avg"}
    context = JoinContext(schema, joins, subject.base, intent.verb, _mentioned(intent), is_summed)
    groups = _groups(context, subject, intent)
    conditions = _conditions(context, intent)
    date = choose_date(context, intent.date) if intent.periods else None
    if subject.aggregate is not None:
        groups.extend(_compared(intent, conditions, groups, date))
    owned = _check_contexts(context, intent) + _own_names(subject.base, conditions, schema)
    hops = join_tree(context.paths)
    if subject.aggregate is None:
        check_list(intent, subject.base, hops, schema, joins)
    _check_person(subject, intent)
    _check_ranking(subject, intent, groups)
    _check_repeats(subject, schema, is_repeated=repeats_rows(hops))
    plan = SelectPlan(
        base=subject.base,
        aggregate=subject.aggregate,
        factors=subject.factors,
        name=subject.name,
        shown=_shown(subject, schema, hops),
        groups=tuple(groups),
        conditions=tuple(conditions),
        date=date,
        periods=intent.periods,
        hops=hops,
        direction=intent.direction,
        limit=intent.limit,
        is_single=intent.is_single,
        having=intent.having,
        is_distinct=subject.aggregate is None and _lists_values(subject, schema, hops),
    )
    plan = with_zeros(plan, schema) if not intent.is_sorted_only else plan
    return (subject.quality, owned, subject.rank, context.quality), plan


def _mentioned(intent: Intent) -> frozenset[str]:
    nouns = [*intent.contexts, *(each.noun for each in intent.dimensions if each.noun)]
    nouns.extend(noun for noun in (intent.counted, intent.listed) if noun)
    return frozenset(term.table for noun in nouns for term in noun.tables if term.quality >= 3)


def _dimensions(subject: Subject, intent: Intent) -> list[Dimension]:
    """The groupings; `average amount per invoice` groups nothing, nor does a list of rows."""
    if subject.aggregate is None:
        if intent.dimensions and not ranks_its_own_rows(intent, subject.base):
            raise QuestionError("unplaced", *(each.text for each in intent.dimensions))
        return []
    if subject.aggregate == "avg" and subject.factors:
        return [
            each
            for each in intent.dimensions
            if not (each.noun and any(t.table == subject.base for t in each.noun.tables))
        ]
    return list(intent.dimensions)


def _groups(context: JoinContext, subject: Subject, intent: Intent) -> list[Group]:
    """Each grouping once, however often it is named."""
    dimensions = _dimensions(subject, intent)
    groups = list(dict.fromkeys(_group(context, each, intent) for each in dimensions))
    if len(groups) > _MOST_GROUPS:
        raise QuestionError("several", *(each.text for each in dimensions))
    return groups


def _group(context: JoinContext, dimension: Dimension, intent: Intent) -> Group:
    if dimension.bucket is None:
        if dimension.noun is None:
            raise QuestionError("unplaced", dimension.text)
        group = choose_group(context, dimension.noun)
        if dimension.is_trader:
            check_side(intent.verb, dimension.noun, group, context)
        return group
    own = [
        term
        for term in (dimension.noun.columns if dimension.noun else ())
        if term.table == context.base and term.quality == 4
    ]
    if len(own) == 1 and context.schema.column(own[0].table, own[0].column).kind != "date":
        return Group((Ref(own[0].table, own[0].column),))
    dates = dimension.noun if dimension.noun and _is_date(context, dimension.noun) else intent.date
    return Group((choose_date(context, dates),), bucket=dimension.bucket)


def _is_date(context: JoinContext, noun: Noun) -> bool:
    kinds = {context.schema.column(term.table, term.column).kind for term in noun.columns}
    return kinds == {"date"}


def _conditions(context: JoinContext, intent: Intent) -> list[Condition]:
    """One condition a column: values of the same column are alternatives."""
    found: dict[tuple[Ref, str], Condition] = {}
    for value in intent.values:
        condition = choose_value(context, value)
        position = (condition.ref, condition.operator)
        known = found[position].values if position in found else ()
        found[position] = replace(
            condition, values=tuple(dict.fromkeys((*known, *condition.values)))
        )
    numbers = [
        Condition(choose_column(context, each.noun), each.operator, (each.number,))
        for each in intent.numbers
    ]
    return [*found.values(), *numbers, *(_flagged(context, each) for each in intent.flags)]


def _flagged(context: JoinContext, flag: FlagFilter) -> Condition:
    ref = choose_column(context, flag.noun)
    yes = yes_values(context.schema.column(ref.table, ref.column), context.schema.dialect)
    return Condition(ref, "is_not" if flag.is_negated else "is", yes)


def _compared(
    intent: Intent, conditions: list[Condition], groups: list[Group], date: Ref | None
) -> Iterator[Group]:
    """`Germany and France`, `2022 and 2023`: several of a kind are shown one by one."""
    shown = {ref for group in groups for ref in group.shown}
    for condition in conditions:
        if condition.operator == "in" and len(condition.values) > 1 and condition.ref not in shown:
            yield Group((condition.ref,))
    is_bucketed = any(group.bucket for group in groups)
    if date and len(intent.periods) > 1 and not is_bucketed:
        yield Group((date,), bucket=intent.periods[0].bucket)


def _check_contexts(context: JoinContext, intent: Intent) -> int:
    """Each noun that was only mentioned must be on the way; how many are the base itself.

    Amounts may also be said to be of what they belong to: `sales of tracks`.
    """
    reached = {context.base, *(hop.target for path in context.paths for hop in path)}
    owned = 0
    for noun in intent.contexts:
        tables = {term.table for term in (*noun.tables, *noun.columns)}
        if context.base in {term.table for term in noun.tables}:
            owned += 1
        elif not tables & reached and not (
            intent.measure
            and any(context.joins.path_without_repeats(context.base, table) for table in tables)
        ):
            raise QuestionError("unreachable", noun.text, context.base)
    return owned


def _own_names(base: str, conditions: list[Condition], schema: SourceSchema) -> int:
    """How many conditions name rows of the base itself: `email of Ada` is of the table with Ada."""
    labels = label_columns(schema.tables[base])
    return sum(each.ref.table == base and each.ref.column in labels for each in conditions)


def _check_person(subject: Subject, intent: Intent) -> None:
    """`人均工资` is the average over employees; `人均消费` is no average over invoices."""
    person = intent.per_person
    if person and not any(term.table == subject.base for term in person.tables):
        raise QuestionError("average_of_groups", subject_text(intent))


def _check_ranking(subject: Subject, intent: Intent, groups: list[Group]) -> None:
    """A list is ranked by a column, numbers by the groups that have them."""
    if subject.aggregate is None:
        if intent.direction and not intent.is_sorted_only and not subject.factors:
            raise QuestionError("by_what", subject_text(intent))
    elif (intent.having or intent.limit or intent.direction) and not groups:
        raise QuestionError("nothing_to_rank")


def _check_repeats(subject: Subject, schema: SourceSchema, *, is_repeated: bool) -> None:
    if not is_repeated or subject.aggregate in {None, "min", "max", "count_distinct"}:
        return
    if subject.is_document or not schema.tables[subject.base].primary_key:
        raise QuestionError("double_count", subject.base)


def _lists_values(subject: Subject, schema: SourceSchema, hops: tuple[Hop, ...]) -> bool:
    """Whether a list is of different values, not of rows."""
    has_key = bool(schema.tables[subject.base].primary_key)
    names = names_of(schema, subject.base)
    is_label = subject.shown[: len(names)] == names
    return not subject.factors and (not is_label or repeats_rows(hops) or not has_key)


def _shown(subject: Subject, schema: SourceSchema, hops: tuple[Hop, ...]) -> tuple[Ref, ...]:
    """What a list shows: with repeated rows also the key, so that namesakes stay apart."""
    if subject.aggregate is None and repeats_rows(hops) and not subject.factors:
        key = tuple(Ref(subject.base, name) for name in schema.tables[subject.base].primary_key)
        if subject.shown == names_of(schema, subject.base):
            return tuple(dict.fromkeys((*key, *subject.shown)))
    return subject.shown
