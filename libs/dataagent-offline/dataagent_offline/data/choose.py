"""Which column a word stands for, seen from the table the question is about.

The better name wins, then the way on which no row repeats, then the shorter way. Two that are as
good are a `Trouble`: the user is asked, nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from dataagent_offline.data.facts import head_of, sales_facts
from dataagent_offline.data.intent import ValueFilter
from dataagent_offline.data.joins import Joins, Path, repeats
from dataagent_offline.data.labels import label_columns
from dataagent_offline.data.lexicon import is_number_of
from dataagent_offline.data.plan import Condition, Group, Ref
from dataagent_offline.data.schema import Column, Schema, Table
from dataagent_offline.data.terms import Noun, Trouble
from dataagent_offline.data.words import keys

_Scored: TypeAlias = tuple[tuple[int, ...], Ref, Path]


@dataclass(slots=True)
class Scene:
    """One table in the middle, and the ways from it that are in use."""

    schema: Schema
    joins: Joins
    base: str
    verb: str = ""
    mentioned: frozenset[str] = frozenset()
    """Tables the question names."""
    is_summed: bool = False
    """Whether amounts are added up, and not rows counted."""
    paths: list[Path] = field(default_factory=list[Path])
    quality: int = 0

    def way(self, table: str) -> Path | None:
        """The way to a table; one that repeats rows only if there is no other."""
        path = self.joins.up(self.base, table)
        return self.joins.any(self.base, table) if path is None else path

    def go(self, path: Path) -> None:
        """Use a way."""
        self.paths.append(path)


def choose_group(scene: Scene, noun: Noun) -> Group:
    """The grouping a noun stands for: a column, or the rows of a table by their name."""
    found: list[_Scored] = []
    for term in noun.tables:
        found.extend(_scored(scene, Ref(term.table, ""), (term.quality, 1)))
    named = [term for term in noun.columns if not is_number_of(term.column)]
    for term in named or noun.columns:
        if target := _linked_table(scene, term.table, term.column):
            found.extend(_scored(scene, Ref(target, ""), (min(term.quality, 3), 0)))
        else:
            found.extend(_scored(scene, Ref(term.table, term.column), (term.quality, 0)))
    ref, path, quality = _best(scene, noun.text, found)
    if repeats(path) and not scene.verb and not _is_near(path, 2 if scene.is_summed else 3):
        raise Trouble("unreachable", noun.text, scene.base)
    scene.go(path)
    scene.quality += quality
    if ref.column:
        return Group((ref,))
    table = scene.schema.tables[ref.table]
    shown = tuple(Ref(ref.table, name) for name in label_columns(table))
    known = table.primary_key or (path[-1].target_columns if path and path[-1].is_one else ())
    extra = tuple(Ref(ref.table, name) for name in known)
    return Group(shown, tuple(each for each in extra if each not in shown))


def choose_column(scene: Scene, noun: Noun) -> Ref:
    """The column a noun stands for, on a way that repeats no row."""
    found = [
        scored
        for term in noun.columns
        for scored in _scored(scene, Ref(term.table, term.column), (term.quality, 0))
        if not repeats(scored[2])
    ]
    ref, path, quality = _best(scene, noun.text, found)
    scene.go(path)
    scene.quality += quality
    return ref


def choose_value(scene: Scene, value: ValueFilter) -> Condition:
    """The condition a value stands for."""
    found: list[_Scored] = []
    for table, column in sorted(value.places):
        path = scene.way(table)
        if path is None or not _may_filter(scene, value, table, column, path):
            continue
        score = (
            int(not repeats(path)),
            int(table in scene.mentioned),
            -len(keys(column)),
            -_rows_named(scene.schema.tables[table], column),
            -len(path),
        )
        found.append((score, Ref(table, column), path))
    if not found:
        raise Trouble("value_unreachable", value.text, scene.base, *_places(value))
    ref, path, _ = _best(scene, value.text, found)
    if value.is_negated and repeats(path):  # rows without it are not those that lack it
        raise Trouble("absence", value.text)
    scene.go(path)
    stored = {term.value for term in value.terms if (term.table, term.column) == _pair(ref)}
    return Condition(ref, "not_in" if value.is_negated else "in", tuple(sorted(stored)))


def choose_date(scene: Scene, noun: Noun | None) -> Ref:
    """The date that a time is of: the named one, the table's own, or its document's."""
    if noun is not None:
        return choose_column(scene, noun)
    tables = [scene.base]
    if head := head_of(scene.base, scene.schema, scene.joins):
        tables.append(head)
    if scene.verb:
        facts = sales_facts(scene.schema, scene.joins)
        tables.extend(fact.table for fact in facts)
    for table in tables:
        dates = [c for c in scene.schema.tables[table].columns.values() if c.kind == "date"]
        path = scene.way(table)
        if dates and path is not None:
            ref = Ref(table, _own_date(table, dates).name)
            scene.go(path)
            return ref
    raise Trouble("no_date", scene.base)


def _own_date(table: str, dates: Sequence[Column]) -> Column:
    """The only date, or the one that carries the table's name: `order_date` of `orders`."""
    if len(dates) == 1:
        return dates[0]
    own = [date for date in dates if keys(date.name)[0] in keys(table)]
    if len(own) != 1:
        raise Trouble("which_date", table, *(date.name for date in dates))
    return own[0]


def _scored(scene: Scene, ref: Ref, names: tuple[int, int]) -> Iterable[_Scored]:
    path = scene.way(ref.table)
    if path is None:
        return
    quality, is_table = names
    is_mentioned = int(ref.table in scene.mentioned and bool(ref.column))
    yield (quality, is_mentioned, int(not repeats(path)), -len(path), is_table), ref, path


def _best(scene: Scene, text: str, found: list[_Scored]) -> tuple[Ref, Path, int]:
    if not found:
        raise Trouble("unreachable", text, scene.base)
    found.sort(key=lambda each: each[0], reverse=True)
    score, ref, path = found[0]
    same = [each for each in found if each[0] == score]
    if len({str(each[1]) for each in same}) > 1:
        raise Trouble("ambiguous", text, *(str(each[1]).rstrip(".") for each in same))
    return ref, path, score[0]


def _linked_table(scene: Scene, table: str, column: str) -> str | None:
    """The table that a key column points at: to group by `dept_id` is to group by departments."""
    for link in scene.schema.tables[table].links:
        if link.columns == (column,) and link.table in scene.schema.tables and link.table != table:
            return link.table
    return None


def _is_near(path: Path, most: int) -> bool:
    """Whether a way that repeats rows is short enough to be meant without a verb.

    Tracks are on playlists; but a department has no budget because its people work on a project.
    """
    return len(path) <= most and sum(not hop.is_one for hop in path) <= 2


def _may_filter(scene: Scene, value: ValueFilter, table: str, column: str, path: Path) -> bool:
    """Whether the value, so far away, can be meant.

    `employees in Germany` must not mean employees with customers in Germany; so a way that repeats
    rows needs a verb or a named table. And where a nearer table has a column of the same kind that
    does not hold the value, the farther one is not meant.
    """
    beyond = [hop.target for hop in path]
    if repeats(path) and not scene.verb and not scene.mentioned & set(beyond):
        return False
    nearer = [scene.base, *beyond[:-1]] if path else []
    return not any(_shadows(scene, each, column, value) for each in nearer)


def _shadows(scene: Scene, table: str, column: str, value: ValueFilter) -> bool:
    known = scene.schema.tables[table]
    return any(
        other.kind == "text"
        and keys(name)[-1:] == keys(column)[-1:]
        and name not in label_columns(known)
        and (table, name) not in value.everywhere
        for name, other in known.columns.items()
    )


def _rows_named(table: Table, column: str) -> int:
    """Of two rows with the same name, the one of the smaller table is meant: `Rock` is a genre."""
    return (table.row_count or 0) if column in label_columns(table) else 0


def _places(value: ValueFilter) -> list[str]:
    return [f"{table}.{column}" for table, column in sorted(value.places)]


def _pair(ref: Ref) -> tuple[str, str]:
    return (ref.table, ref.column)
