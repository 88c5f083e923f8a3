"""Whether two results are the same answer, however their statements were written. Pure functions.

Names and order of columns do not count, nor columns that the answer has beyond what was expected;
the values do, and how often each row stands there. The order of rows counts when the expected
statement has one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

Cell = Any  # a JSON value
_ORDERED = re.compile(r"\border\s+by\b", re.IGNORECASE)
_DIGITS = 9
_MOST_WAYS = 2000  # of laying columns over each other; real results need a handful


def has_order(sql: str) -> bool:
    """Whether the outermost statement orders its rows."""
    return _ORDERED.search(sql, sql.rfind(")") + 1) is not None


def same_rows(
    expected: Sequence[Sequence[Cell]], found: Sequence[Sequence[Cell]], *, is_ordered: bool
) -> bool:
    """Whether `found` holds the rows of `expected`, with its columns in any places."""
    if len(expected) != len(found):
        return False
    if not expected:
        return True
    wanted = [[_plain(cell) for cell in row] for row in expected]
    given = [[_plain(cell) for cell in row] for row in found]
    for number, places in enumerate(_column_matches(wanted, given)):
        if number > _MOST_WAYS:
            return False
        laid = [[row[place] for place in places] for row in given]
        if laid == wanted or (not is_ordered and _multiset(laid) == _multiset(wanted)):
            return True
    return False


def _column_matches(wanted: list[list[Cell]], given: list[list[Cell]]) -> Iterator[tuple[int, ...]]:
    """The ways to find each wanted column among the given ones, by what they hold."""
    bags = [_column(given, place) for place in range(len(given[0]))]
    fits = [
        [place for place, bag in enumerate(bags) if bag == _column(wanted, column)]
        for column in range(len(wanted[0]))
    ]

    def lay(column: int, taken: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if column == len(fits):
            yield taken
            return
        for place in fits[column]:
            if place not in taken:
                yield from lay(column + 1, (*taken, place))

    return lay(0, ())


def _column(rows: list[list[Cell]], place: int) -> Counter[Cell]:
    return Counter(row[place] if place < len(row) else None for row in rows)


def _multiset(rows: list[list[Cell]]) -> Counter[tuple[Cell, ...]]:
    return Counter(tuple(row) for row in rows)


def _plain(cell: Cell) -> Cell:
    """A cell as it compares: numbers by value to nine digits, text without spaces around it."""
    if cell is None or isinstance(cell, bool):
        return cell
    if isinstance(cell, list | dict):
        return str(cell)  # pyright: ignore[reportUnknownArgumentType] JSON
    text = str(cell).strip()
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    if not number.is_finite():
        return text
    return f"{number:.{_DIGITS - 1}e}" if number else "0"
