"""Counts from below: `which customer has the fewest invoices` must not pass over who has none.

Joined from the rows that are counted, a group without any is not there. Where the plan can start
from the groups it does; else the question is declined. Above: `link`; `sql` writes the join.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from dataagent_offline.data.plan import SelectPlan
from dataagent_offline.data.schema import SourceSchema
from dataagent_offline.data.terms import QuestionError


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
