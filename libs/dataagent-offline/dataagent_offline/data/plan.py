"""A question with its columns chosen: everything `sql` needs to write the statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from dataagent_offline.data.joins import Hop
from dataagent_offline.data.terms import Bucket, Direction, Period

PlannedAggregate: TypeAlias = Literal["count", "count_distinct", "sum", "avg", "min", "max"]


@dataclass(frozen=True, slots=True)
class Ref:
    """A column of a table."""

    table: str
    column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


@dataclass(frozen=True, slots=True)
class Group:
    """A grouping: the columns shown, the keys that keep two of the same name apart."""

    shown: tuple[Ref, ...]
    keys: tuple[Ref, ...] = ()
    bucket: Bucket | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """`in`, `not_in`, `is`, `is_not` (a yes), or a comparison with one number."""

    ref: Ref
    operator: str
    values: tuple[str | float, ...]


@dataclass(frozen=True, slots=True)
class SelectPlan:
    """A statement to be. With no aggregate it lists `shown`."""

    base: str
    aggregate: PlannedAggregate | None
    factors: tuple[Ref, ...] = ()
    """What is added up: a column, or columns whose product is. Empty: rows are counted."""
    name: str = ""
    shown: tuple[Ref, ...] = ()
    groups: tuple[Group, ...] = ()
    conditions: tuple[Condition, ...] = ()
    date: Ref | None = None
    periods: tuple[Period, ...] = ()
    hops: tuple[Hop, ...] = ()
    direction: Direction | None = None
    limit: int | None = None
    is_single: bool = False
    """The first alone is asked for, with all that share its place."""
    having: tuple[str, float] | None = None
    is_distinct: bool = False
    has_zeros: bool = False
    """Groups to which no row belongs are among the counts, as zero."""

    @property
    def is_scalar(self) -> bool:
        """Whether the answer is one number."""
        return self.aggregate is not None and not self.groups
