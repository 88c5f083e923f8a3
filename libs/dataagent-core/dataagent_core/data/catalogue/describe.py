"""Describes a catalogue as text for a model or a person, within a number of characters.

Each table with its columns, types, keys, comments, row count and a few values; tables that differ
only by a number in their name (`events_2024_01` to `_12`) once. When that does not fit, values go
first, then comments, then columns, and a last line says what is missing and how to get it. Comments
and values come from the source, so they are put on one line and cut.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dataagent_core.data.types import Catalogue, Column, Table
from dataagent_core.errors import UnknownName

_LEAST_MEMBERS = 3
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class TableFamily:
    """Tables with the same columns, in the order of their names; mostly just one."""

    members: tuple[Table, ...]

    @property
    def first(self) -> Table:
        """The member that stands for all."""
        return self.members[0]

    @property
    def label(self) -> str:
        """How the family is called."""
        if len(self.members) == 1:
            return self.first.key
        return f"{self.first.key} … {self.members[-1].key}"

    @property
    def row_count(self) -> int | None:
        """Rows of all members together, if each is known."""
        counts = [table.row_count for table in self.members]
        return None if None in counts else sum(count or 0 for count in counts)


def families(tables: Sequence[Table]) -> list[TableFamily]:
    """The tables in the order given, those alike put together where the first one stands."""
    alike: dict[object, list[Table]] = defaultdict(list)
    for table in tables:
        alike[_likeness(table)].append(table)
    found: list[TableFamily] = []
    for members in alike.values():
        if len(members) >= _LEAST_MEMBERS:
            found.append(TableFamily(tuple(sorted(members, key=_by_number))))
        else:
            found += [TableFamily((table,)) for table in members]
    order = {table.key: at for at, table in enumerate(tables)}
    return sorted(found, key=lambda family: min(order[table.key] for table in family.members))


def _likeness(table: Table) -> object:
    pattern, digits = _DIGITS.subn("#", table.key)
    if not digits:
        return table.key
    return (pattern, tuple((column.name, column.type) for column in table.columns))


def _by_number(table: Table) -> tuple[list[int], str]:
    return [int(digits) for digits in _DIGITS.findall(table.key)], table.key


_MAX_COMMENT = 160
_MAX_SAMPLE = 32
_SHOWN_SAMPLES = 5
_ASCII_CHARS_PER_TOKEN = 3.5

Render = Callable[[TableFamily], str]


def fits(catalogue: Catalogue, max_tokens: int) -> bool:
    """Whether the whole catalogue, described in full, is about so many tokens or fewer."""
    total = 0.0
    for family in families(catalogue.tables):
        total += tokens_of(_full(family))
        if total > max_tokens:
            return False
    return True


def tokens_of(text: str) -> float:
    """About how many tokens a text is: a Chinese character is one, other text 3.5 a token."""
    plain = sum(1 for character in text if character < "⺀")
    return plain / _ASCII_CHARS_PER_TOKEN + (len(text) - plain)


def describe(
    catalogue: Catalogue, tables: Sequence[str] | None = None, *, max_chars: int = 16_000
) -> str:
    """The tables asked for, or all, in at most `max_chars` characters.

    Raises:
        UnknownName: a table is not in the catalogue; `details["nearest"]` may help.
    """
    chosen = catalogue.tables if tables is None else [find_table(catalogue, t) for t in tables]
    if not chosen:
        return "The source has no tables."[:max_chars]
    return _fitted(families(chosen), (_full, _without_samples, _names_and_types), max_chars)


def list_tables_text(catalogue: Catalogue, *, max_chars: int = 8_000) -> str:
    """One line a table: name, rows, comment; in at most `max_chars` characters."""
    if not catalogue.tables:
        return "The source has no tables."[:max_chars]
    return _fitted(families(catalogue.tables), (_heading, _label), max_chars)


def find_table(catalogue: Catalogue, name: str) -> Table:
    """The table of that name, exactly spelled or in another case.

    Raises:
        UnknownName: there is none; `details["nearest"]` has the nearest names.
    """
    wanted = name.strip().strip('"`[]')
    exact = [table for table in catalogue.tables if table.key == wanted]
    alike = [table for table in catalogue.tables if table.key.casefold() == wanted.casefold()]
    if found := exact or alike:
        return found[0]
    keys = {table.key.casefold(): table.key for table in catalogue.tables}
    close = difflib.get_close_matches(wanted.casefold(), keys, n=3, cutoff=0.5)
    nearest = [keys[each] for each in close]
    hint = f" Did you mean: {', '.join(nearest)}?" if nearest else " List the tables to see them."
    raise UnknownName(
        f"There is no table {wanted[:80]!r}.{hint}", details={"name": wanted, "nearest": nearest}
    )


# -- fitting --------------------------------------------------------------------------------


def _fitted(found: Sequence[TableFamily], renders: Sequence[Render], max_chars: int) -> str:
    """The most telling form in which everything fits; else as much of the tersest as does."""
    for render in renders:
        text = "\n".join(render(family) for family in found)
        if len(text) <= max_chars:
            return text
    return _cut(found, renders[-1], max_chars)


def _cut(found: Sequence[TableFamily], render: Render, max_chars: int) -> str:
    lines: list[str] = []
    used = 0
    for number, family in enumerate(found):
        text = render(family)
        rest = sum(len(each.members) for each in found[number:])
        notice = f"… {rest} more tables are not shown. Search for what you need."
        if used + len(text) + 1 + len(notice) > max_chars:
            return "\n".join([*lines, notice])[:max_chars]
        lines.append(text)
        used += len(text) + 1
    return "\n".join(lines)[:max_chars]


# -- rendering ------------------------------------------------------------------------------


def _full(family: TableFamily) -> str:
    return _with_columns(family, has_comments=True, has_samples=True)


def _without_samples(family: TableFamily) -> str:
    return _with_columns(family, has_comments=True, has_samples=False)


def _names_and_types(family: TableFamily) -> str:
    return _with_columns(family, has_comments=False, has_samples=False)


def _with_columns(family: TableFamily, *, has_comments: bool, has_samples: bool) -> str:
    table = family.first
    targets = {
        name: f"{key.target_table}.{target}"
        for key in table.foreign_keys
        for name, target in zip(key.columns, key.target_columns, strict=False)
    }
    lines = [_heading(family) if has_comments else _label(family)]
    for column in table.columns:
        line = f"  {column.name} {column.type}{_marks(table, column, targets)}"
        if has_comments and column.comment:
            line += f": {_one_line(column.comment, _MAX_COMMENT)}"
        if has_samples and column.samples:
            line += f" [{_samples(column)}]"
        lines.append(line)
    return "\n".join(lines)


def _label(family: TableFamily) -> str:
    alike = f" ({len(family.members)} tables alike)" if len(family.members) > 1 else ""
    return f"{'view' if family.first.is_view else 'table'} {family.label}{alike}"


def _heading(family: TableFamily) -> str:
    count = family.row_count
    rows = "" if count is None else f", {count:,} row{'' if count == 1 else 's'}"
    comment = family.first.comment
    said = f": {_one_line(comment, _MAX_COMMENT)}" if comment else ""
    return f"{_label(family)}{rows}{said}"


def _marks(table: Table, column: Column, targets: dict[str, str]) -> str:
    marks = ""
    if column.name in table.primary_key:
        marks += " primary key"
    elif not column.is_nullable:
        marks += " not null"
    return marks + (f" → {targets[column.name]}" if column.name in targets else "")


def _samples(column: Column) -> str:
    shown = [f"'{_one_line(each, _MAX_SAMPLE)}'" for each in column.samples[:_SHOWN_SAMPLES]]
    has_more = column.are_samples_truncated or len(column.samples) > _SHOWN_SAMPLES
    return ", ".join(shown) + (", … more" if has_more else "")


def _one_line(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
