"""Which column a word stands for, seen from the table the question is about.

The better name wins, then the way on which no row repeats, then the shorter way. Two that are as
good are a `QuestionError`: the user is asked, nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from dataagent_offline.data.facts import head_of, sales_facts
from dataagent_offline.data.intent import ValueFilter
from dataagent_offline.data.joins import Joins, Path, repeats_rows
from dataagent_offline.data.labels import label_columns
from dataagent_offline.data.lexicon import is_number_of
from dataagent_offline.data.plan import Condition, Group, Ref
from dataagent_offline.data.schema import SchemaColumn, SchemaTable, SourceSchema
from dataagent_offline.data.terms import Noun, QuestionError
from dataagent_offline.data.words import keys

_Scored: TypeAlias = tuple[tuple[int, ...], Ref, Path]


@dataclass(slots=True)
class JoinContext:
    """One table in the middle, and the ways from it that are in use."""

    schema: SourceSchema
    joins: Joins
    base: str
    verb: str = ""
    mentioned: frozenset[str] = frozenset()
    """Tables the question names."""
    is_summed: bool = False
    """Whether amounts are added up, and not rows counted."""
    paths: list[Path] = field(default_factory=list[Path])
    quality: int = 0

    def path_to(self, table: str) -> Path | None:
        """The way to a table; one that repeats rows only if there is no other."""
        path = self.joins.path_without_repeats(self.base, table)
        return self.joins.any(self.base, table) if path is None else path

    def use_path(self, path: Path) -> None:
        """Use a way."""
        self.paths.append(path)


def choose_group(context: JoinContext, noun: Noun) -> Group:
    """The grouping a noun stands for: a column, or the rows of a table by their name."""
    found: list[_Scored] = []
    for term in noun.tables:
        found.extend(_scored(context, Ref(term.table, ""), (term.quality, 1)))
    named = [term for term in noun.columns if not is_number_of(term.column)]
    for term in named or noun.columns:
        if target := _linked_table(context, term.table, term.column):
            found.extend(_scored(context, Ref(target, ""), (min(term.quality, 3), 0)))
        else:
            found.extend(_scored(context, Ref(term.table, term.column), (term.quality, 0)))
    ref, path, quality = _best(context, noun.text, found)
    if (
        repeats_rows(path)
        and not context.verb
        and not _is_near(path, 2 if context.is_summed else 3)
    ):
        raise QuestionError("unreachable", noun.text, context.base)
    context.use_path(path)
    context.quality += quality
    if ref.column:
        return Group((ref,))
    table = context.schema.tables[ref.table]
    shown = tuple(Ref(ref.table, name) for name in label_columns(table))
    known = table.primary_key or (path[-1].target_columns if path and path[-1].is_one else ())
    extra = tuple(Ref(ref.table, name) for name in known)
    return Group(shown, tuple(each for each in extra if each not in shown))


def choose_column(context: JoinContext, noun: Noun) -> Ref:
    """The column a noun stands for, on a way that repeats no row."""
    found = [
        scored
        for term in noun.columns
        for scored in _scored(context, Ref(term.table, term.column), (term.quality, 0))
        if not repeats_rows(scored[2])
    ]
    ref, path, quality = _best(context, noun.text, found)
    context.use_path(path)
    context.quality += quality
    return ref


def choose_value(context: JoinContext, value: ValueFilter) -> Condition:
    """The condition a value stands for."""
    found: list[_Scored] = []
    for table, column in sorted(value.places):
        path = context.path_to(table)
        if path is None or not _may_filter(context, value, table, column, path):
            continue
        score = (
            int(not repeats_rows(path)),
            int(table in context.mentioned),
            -len(keys(column)),
            -_rows_named(context.schema.tables[table], column),
            -len(path),
        )
        found.append((score, Ref(table, column), path))
    if not found:
        raise QuestionError("value_unreachable", value.text, context.base, *_places(value))
    ref, path, _ = _best(context, value.text, found)
    if value.is_negated and repeats_rows(path):  # rows without it are not those that lack it
        raise QuestionError("absence", value.text)
    context.use_path(path)
    stored = {term.value for term in value.terms if (term.table, term.column) == _pair(ref)}
    return Condition(ref, "not_in" if value.is_negated else "in", tuple(sorted(stored)))


def choose_date(context: JoinContext, noun: Noun | None) -> Ref:
    """The date that a time is of: the named one, the table's own, or its document's."""
    if noun is not None:
        return choose_column(context, noun)
    tables = [context.base]
    if head := head_of(context.base, context.schema, context.joins):
        tables.append(head)
    if context.verb:
        facts = sales_facts(context.schema, context.joins)
        tables.extend(fact.table for fact in facts)
    for table in tables:
        dates = [c for c in context.schema.tables[table].columns.values() if c.kind == "date"]
        path = context.path_to(table)
        if dates and path is not None:
            ref = Ref(table, _own_date(table, dates).name)
            context.use_path(path)
            return ref
    raise QuestionError("no_date", context.base)


def _own_date(table: str, dates: Sequence[SchemaColumn]) -> SchemaColumn:
    """The only date, or the one that carries the table's name: `order_date` of `orders`."""
    if len(dates) == 1:
        return dates[0]
    own = [date for date in dates if keys(date.name)[0] in keys(table)]
    if len(own) != 1:
        raise QuestionError("which_date", table, *(date.name for date in dates))
    return own[0]


def _scored(context: JoinContext, ref: Ref, names: tuple[int, int]) -> Iterable[_Scored]:
    path = context.path_to(ref.table)
    if path is None:
        return
    quality, is_table = names
    is_mentioned = int(ref.table in context.mentioned and bool(ref.column))
    yield (quality, is_mentioned, int(not repeats_rows(path)), -len(path), is_table), ref, path


def _best(context: JoinContext, text: str, found: list[_Scored]) -> tuple[Ref, Path, int]:
    if not found:
        raise QuestionError("unreachable", text, context.base)
    found.sort(key=lambda each: each[0], reverse=True)
    score, ref, path = found[0]
    same = [each for each in found if each[0] == score]
    if len({str(each[1]) for each in same}) > 1:
        raise QuestionError("ambiguous", text, *(str(each[1]).rstrip(".") for each in same))
    return ref, path, score[0]


def _linked_table(context: JoinContext, table: str, column: str) -> str | None:
    """The table that a key column points at: to group by `dept_id` is to group by departments."""
    for link in context.schema.tables[table].links:
        if (
            link.columns == (column,)
            and link.table in context.schema.tables
            and link.table != table
        ):
            return link.table
    return None


def _is_near(path: Path, most: int) -> bool:
    """Whether a way that repeats rows is short enough to be meant without a verb.

    Tracks are on playlists; but a department has no budget because its people work on a project.
    """
    return len(path) <= most and sum(not hop.is_one for hop in path) <= 2


def _may_filter(
    context: JoinContext, value: ValueFilter, table: str, column: str, path: Path
) -> bool:
    """Whether the value, so far away, can be meant.

    `employees in Germany` must not mean employees with customers in Germany; so a way that repeats
    rows needs a verb or a named table. And where a nearer table has a column of the same kind that
    does not hold the value, the farther one is not meant.
    """
    beyond = [hop.target for hop in path]
    if repeats_rows(path) and not context.verb and not context.mentioned & set(beyond):
        return False
    nearer = [context.base, *beyond[:-1]] if path else []
    return not any(_shadows(context, each, column, value) for each in nearer)


def _shadows(context: JoinContext, table: str, column: str, value: ValueFilter) -> bool:
    known = context.schema.tables[table]
    return any(
        other.kind == "text"
        and keys(name)[-1:] == keys(column)[-1:]
        and name not in label_columns(known)
        and (table, name) not in value.everywhere
        for name, other in known.columns.items()
    )


def _rows_named(table: SchemaTable, column: str) -> int:
    """Of two rows with the same name, the one of the smaller table is meant: `Rock` is a genre."""
    return (table.row_count or 0) if column in label_columns(table) else 0


def _places(value: ValueFilter) -> list[str]:
    return [f"{table}.{column}" for table, column in sorted(value.places)]


def _pair(ref: Ref) -> tuple[str, str]:
    return (ref.table, ref.column)
