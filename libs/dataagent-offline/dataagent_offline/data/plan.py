"""A question with its columns chosen, and the join paths between tables along foreign keys.

Files declare no keys; there a column named after a table (`customer_id`, `customers`) is one. A
step to a table that the key points at keeps every row once (`is_one`); a step against the key
repeats rows, which a sum must not count twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dataagent_offline.data.lexicon import entity_names, table_names
from dataagent_offline.data.schema import SchemaTable, SourceSchema
from dataagent_offline.data.terms import Bucket, Direction, Period, QuestionError
from dataagent_offline.data.vocabulary import keys


@dataclass(frozen=True, slots=True)
class Hop:
    """One join: the columns of `source` equal those of `target`, in order."""

    source: str
    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]
    is_one: bool
    """At most one row of `target` for each of `source`."""
    is_inferred: bool = False
    """Found by name, not declared: that the key is one must be seen in the data."""


Path: TypeAlias = tuple[Hop, ...]


class Joins:
    """The foreign keys of a schema, followed both ways."""

    def __init__(self, schema: SourceSchema) -> None:
        self._hops: dict[str, list[Hop]] = {name: [] for name in schema.tables}
        has_links = any(table.links for table in schema.tables.values())
        for table in schema.tables.values():
            for link in table.links:
                if link.table in schema.tables and link.table != table.name:
                    hop = Hop(table.name, link.columns, link.table, link.target_columns, True)
                    self._add(hop)
            for hop in () if has_links else inferred(table, schema):
                self._add(hop)

    def path_without_repeats(self, start: str, goal: str) -> Path | None:
        """The shortest path on which no row repeats, or None.

        `QuestionError` if two ways are as short: which is meant would be a guess.
        """
        return self._only(start, goal, self._shortest(start, goal, is_up=True))

    def any(self, start: str, goal: str) -> Path | None:
        """The shortest way, rows repeating or not."""
        return self._only(start, goal, self._shortest(start, goal, is_up=False))

    def parents(self, table: str) -> list[str]:
        """The tables that a table points at."""
        return [hop.target for hop in self._hops[table] if hop.is_one]

    def _add(self, hop: Hop) -> None:
        self._hops[hop.source].append(hop)
        back = Hop(hop.target, hop.target_columns, hop.source, hop.columns, False, hop.is_inferred)
        self._hops[hop.target].append(back)

    def _shortest(self, start: str, goal: str, *, is_up: bool) -> list[Path]:
        if start == goal:
            return [()]
        front: dict[str, list[Path]] = {start: [()]}
        seen = {start}
        while front:
            following: dict[str, list[Path]] = {}
            for table, paths in front.items():
                for hop in self._hops[table]:
                    if hop.target not in seen and (hop.is_one or not is_up):
                        longer = [(*path, hop) for path in paths]
                        following.setdefault(hop.target, []).extend(longer)
            if goal in following:
                return following[goal]
            seen |= following.keys()
            front = following
        return []

    def _only(self, start: str, goal: str, paths: Sequence[Path]) -> Path | None:
        if len(paths) > 1:
            ways = [" → ".join(_described(path)) for path in paths[:3]]
            raise QuestionError("two_ways", start, goal, *ways)
        return paths[0] if paths else None


def inferred(table: SchemaTable, schema: SourceSchema) -> Iterator[Hop]:
    """The keys of a table to others, by their names."""
    for column in table.columns:
        named = set(entity_names(keys(column)))
        targets = [
            (other.name, key)
            for other in schema.tables.values()
            if other is not table and named & set(table_names(other))
            for key in other.columns
            if key == column or keys(key) in {("id",), ("编", "号")}
        ]
        if len(targets) == 1 and column not in table.primary_key:
            (target, key) = targets[0]
            yield Hop(table.name, (column,), target, (key,), is_one=True, is_inferred=True)


def join_tree(paths: Iterable[Path]) -> tuple[Hop, ...]:
    """The joins of several ways from one table, each once, in an order that can be written.

    `QuestionError` if a table would be needed twice: that is another question.
    """
    found: dict[str, Hop] = {}
    for path in paths:
        for hop in path:
            if found.setdefault(hop.target, hop) != hop:
                raise QuestionError("two_ways", hop.source, hop.target)
    return tuple(found.values())


def repeats_rows(hops: Iterable[Hop]) -> bool:
    """Whether rows of the first table can come more than once."""
    return any(not hop.is_one for hop in hops)


def _described(path: Path) -> Iterable[str]:
    for hop in path:
        holder, columns = (
            (hop.source, hop.columns) if hop.is_one else (hop.target, hop.target_columns)
        )
        yield f"{holder}.{', '.join(columns)}"


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
    """Only the first is wanted, with all that share its place."""
    having: tuple[str, float] | None = None
    is_distinct: bool = False
    has_zeros: bool = False
    """Groups to which no row belongs are among the counts, as zero."""

    @property
    def is_scalar(self) -> bool:
        """Whether the answer is one number."""
        return self.aggregate is not None and not self.groups
