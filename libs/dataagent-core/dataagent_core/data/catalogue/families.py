"""Tables that differ only by a number in their name, such as `events_2024_01` to `_12`. Pure.

A warehouse may have hundreds of them; the model needs to see their columns once. Above:
`describe.py`, `index.py`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from dataagent_core.data.types import Table

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
