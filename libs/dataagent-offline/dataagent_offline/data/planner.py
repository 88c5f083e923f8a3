"""What is asked → a plan: the table in the middle, the columns, the joins.

Every reading of the subject is tried; the best that accounts for the whole question is the plan.
A sum never counts a row twice: where a join would repeat rows, the lines are summed instead of the
documents' totals, or each row once per group, or the question is declined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from dataagent_offline.data.column_choice import (
    JoinContext,
    choose_column,
    choose_date,
    choose_group,
    choose_value,
)
from dataagent_offline.data.flags import yes_values
from dataagent_offline.data.intent import Dimension, FlagFilter, Intent
from dataagent_offline.data.joins import Hop, Joins, join_tree, repeats_rows
from dataagent_offline.data.labels import label_columns
from dataagent_offline.data.plan import (
    Condition,
    Group,
    Ref,
    SelectPlan,
)
from dataagent_offline.data.schema import SourceSchema
from dataagent_offline.data.subjects import (
    Subject,
    names_of,
    ranks_its_own_rows,
    subject_text,
    subjects,
)
from dataagent_offline.data.terms import Noun, QuestionError
from dataagent_offline.data.trade import check_list, check_side
from dataagent_offline.data.zeros import with_zeros

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
