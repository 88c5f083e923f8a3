"""The numbers of a run's results, ready to be looked up by value.

Reads a bounded number of cells; what lies beyond them is known only by the result's statistics, and
the index says so. Texts and dates are stored too, since they tell which row a sentence is about.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from dataagent_core.data.figures.extraction import Figure
from dataagent_core.data.types import ResultColumn

MAX_STEPS = 4_000_000


class WorkBudgetExceeded(Exception):
    """The check has done as much as it may."""


class WorkBudget:
    """Counts the steps of a check; a step is about one comparison."""

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self._left = steps

    def spend(self, steps: int = 1) -> None:
        """Count some steps.

        Raises:
            WorkBudgetSpent: there are none left.
        """
        self._left -= steps
        if self._left < 0:
            raise WorkBudgetExceeded


MAX_CELLS = 100_000
_TIME = re.compile(r"(?:19|20)\d{2}(?:-?(?:Q\d|W?\d{1,2})(?:-\d{1,2})?)?")
_PERCENT_NAME = re.compile(
    r"pct|percent|%|share|rate|ratio|growth|change|margin|discount|tax|yoy|mom|"
    r"占比|比例|率|增长|增幅|份额|同比|环比|折扣|百分",
    re.IGNORECASE,
)
_STATISTICS = {
    "sum": "sum",
    "total": "sum",
    "minimum": "min",
    "maximum": "max",
    "mean": "mean",
    "avg": "mean",
    "average": "mean",
    "min": "min",
    "max": "max",
    "median": "median",
    "count": "count",
    "distinct": "distinct",
    "distinct_count": "distinct",
}


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A result to check figures against. `rows` may be a stream; it is read once."""

    artifact_id: str
    columns: Sequence[ResultColumn]
    rows: Iterable[Sequence[Any]]  # Any: a cell of any type
    row_count: int
    statistics: Mapping[str, Mapping[str, Any]] = field(
        default_factory=dict[str, Mapping[str, Any]]  # Any: figures of a column, by name
    )


@dataclass(frozen=True, slots=True)
class NumberCell:
    """A number and where it stands. `row` counts from 0."""

    value: Decimal
    table: int
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """A figure about a whole column or table: `sum`, `mean`, `row_count`, …"""

    value: Decimal
    table: int
    column: int | None
    name: str


@dataclass(slots=True)
class IndexedTable:
    """One result: its numbers by row and column, its texts, its summaries."""

    artifact_id: str
    columns: Sequence[ResultColumn]
    row_count: int
    numbers: list[list[Decimal | None]]  # by row, then by column
    texts: list[list[str | date | None]]
    summaries: list[ColumnSummary] = field(default_factory=list[ColumnSummary])
    _is_series: bool | None = None
    _totals: dict[int, Decimal] | None = None
    _sums: dict[int, Decimal] = field(default_factory=dict[int, Decimal])
    _extremes: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    _columns: dict[int, list[Decimal]] = field(default_factory=dict[int, list[Decimal]])
    _fractions: dict[int, bool] = field(default_factory=dict[int, bool])
    _percentages: dict[int, bool] = field(default_factory=dict[int, bool])

    @property
    def is_complete(self) -> bool:
        """Whether every cell was read."""
        return len(self.numbers) >= self.row_count

    @property
    def is_series(self) -> bool:
        """Whether the rows follow one another in time."""
        if self._is_series is None:
            self._is_series = any(
                isinstance(cell, date) or (isinstance(cell, str) and bool(_TIME.fullmatch(cell)))
                for row in self.texts[:3]
                for cell in row
            )
        return self._is_series

    def column(self, at: int) -> list[Decimal]:
        """The numbers of a column, without nulls; not to be changed."""
        known = self._columns.get(at)
        if known is None:
            known = [value for row in self.numbers if (value := row[at]) is not None]
            self._columns[at] = known
        return known

    def has_fractions(self, at: int) -> bool:
        """Whether no number of a column is greater than one."""
        known = self._fractions.get(at)
        if known is None:
            known = self._fractions[at] = all(abs(value) <= 1 for value in self.column(at))
        return known

    def is_percentage(self, at: int) -> bool:
        """Whether a column's name says that it holds percentages."""
        known = self._percentages.get(at)
        if known is None:
            found = _PERCENT_NAME.search(self.columns[at].name)
            known = self._percentages[at] = found is not None
        return known

    def total(self, at: int) -> Decimal | None:
        """The sum of a column, if the whole of it is known."""
        if self._totals is None:
            sums = (one for one in self.summaries if one.name == "sum")
            self._totals = {one.column: one.value for one in sums if one.column is not None}
        return self._totals.get(at)

    def sum_read(self, at: int) -> Decimal:
        """The sum of the numbers of a column that were read."""
        known = self._sums.get(at)
        if known is None:
            known = self._sums[at] = sum(self.column(at), Decimal(0))
        return known

    def extremes(self, at: int) -> tuple[int, int]:
        """The rows of the smallest and the greatest number of a column that has some."""
        known = self._extremes.get(at)
        if known is None:
            numbers = [
                (value, row)
                for row, values in enumerate(self.numbers)
                if (value := values[at]) is not None
            ]
            known = self._extremes[at] = (min(numbers)[1], max(numbers)[1])
        return known


class ResultIndex:
    """All results of a run."""

    def __init__(self, tables: Sequence[ResultTable]) -> None:
        left = MAX_CELLS
        self.tables: list[IndexedTable] = []
        for at, table in enumerate(tables):
            indexed = _read(table, max_rows=left // max(1, len(table.columns)))
            left -= len(indexed.numbers) * len(table.columns)
            indexed.summaries = list(_summaries(table, indexed, at))
            self.tables.append(indexed)
        cells = sorted(self._cells(), key=lambda cell: cell.value)
        self._sorted = cells
        self._values = [cell.value for cell in cells]
        summaries = [one for table in self.tables for one in table.summaries]
        self._summaries = summaries
        self._by_value = sorted(range(len(summaries)), key=lambda at: summaries[at].value)
        self._summary_values = [summaries[at].value for at in self._by_value]

    @property
    def is_complete(self) -> bool:
        """Whether every cell of every result was read."""
        return all(table.is_complete for table in self.tables)

    def _cells(self) -> Iterator[NumberCell]:
        for at, table in enumerate(self.tables):
            for row, values in enumerate(table.numbers):
                for column, value in enumerate(values):
                    if value is not None:
                        yield NumberCell(value, at, row, column)

    def between(self, low: Decimal, high: Decimal) -> Iterator[NumberCell]:
        """The cells whose value is in a range, both ends included."""
        first, end = bisect_left(self._values, low), bisect_right(self._values, high)
        return (self._sorted[at] for at in range(first, end))

    def summaries_between(self, *ranges: tuple[Decimal, Decimal]) -> Iterator[ColumnSummary]:
        """The summaries whose value is in one of some ranges, by table and column."""
        values = self._summary_values
        found = {
            at
            for low, high in ranges
            for at in self._by_value[bisect_left(values, low) : bisect_right(values, high)]
        }
        return (self._summaries[at] for at in sorted(found))


def number(cell: Any) -> Decimal | None:  # Any: a cell of any type
    """The number in a cell, also when it is written as text."""
    if isinstance(cell, bool) or cell is None:
        return None
    if isinstance(cell, int | Decimal):
        value = Decimal(cell)
    elif isinstance(cell, float):
        value = Decimal(repr(cell)) if math.isfinite(cell) else Decimal("NaN")
    elif isinstance(cell, str) and len(cell) <= 40:
        try:
            value = Decimal(cell.strip().rstrip("%").replace(",", ""))
        except ArithmeticError:
            return None
    else:
        return None
    return value if value.is_finite() and abs(value.adjusted()) < 30 else None


def _text(cell: Any) -> str | date | None:  # Any: a cell of any type
    if isinstance(cell, datetime):
        return cell.date()
    if isinstance(cell, str | date):
        return cell
    return str(cell) if isinstance(cell, int) and not isinstance(cell, bool) else None


def _read(table: ResultTable, *, max_rows: int) -> IndexedTable:
    numbers: list[list[Decimal | None]] = []
    texts: list[list[str | date | None]] = []
    for at, row in enumerate(table.rows):
        if at >= max_rows:
            break
        numbers.append([number(cell) for cell in row])
        texts.append([_text(cell) for cell in row])
    for column in range(len(table.columns)):
        if any(isinstance(row[column], str) and number(row[column]) is None for row in texts):
            for row in numbers:  # `1979` among names is a name
                row[column] = None
    return IndexedTable(table.artifact_id, table.columns, table.row_count, numbers, texts)


def _summaries(table: ResultTable, indexed: IndexedTable, at: int) -> Iterator[ColumnSummary]:
    yield ColumnSummary(Decimal(table.row_count), at, None, "row_count")
    for column, described in enumerate(table.columns):
        known = _given(table.statistics.get(described.name, {}))
        if indexed.is_complete:
            known |= _computed(indexed, column)
        for name, value in known.items():
            yield ColumnSummary(value, at, column, name)


def _given(statistics: Mapping[str, Any]) -> dict[str, Decimal]:  # Any: figures of any type
    found = {_STATISTICS.get(name.lower()): number(value) for name, value in statistics.items()}
    return {name: value for name, value in found.items() if name and value is not None}


def _computed(table: IndexedTable, at: int) -> dict[str, Decimal]:
    cells = [row[at] for row in table.texts]
    known = {"distinct": Decimal(len({cell for cell in cells if cell is not None}))}
    values = table.column(at)
    if not values:
        return known
    total = sum(values, Decimal(0))
    ordered = sorted(values)
    middle = len(ordered) // 2
    known |= {
        "distinct": Decimal(len(set(values))),
        "count": Decimal(len(values)),
        "sum": total,
        "mean": total / len(values),
        "min": ordered[0],
        "max": ordered[-1],
        "median": (ordered[middle] + ordered[-middle - 1]) / 2,
    }
    return known


EXACT_BELOW = 100  # a small whole number is a count: 0.99 is not 1


@dataclass(frozen=True, slots=True)
class ValueRange:
    """The values that a figure may stand for, both ends included."""

    low: Decimal
    high: Decimal

    def contains(self, value: Decimal) -> bool:
        """Whether a value, shown at the figure's precision, reads as the figure."""
        return self.low <= value <= self.high

    def times(self, factor: Decimal) -> ValueRange:
        """The span in another unit."""
        return ValueRange(self.low * factor, self.high * factor)

    def negated(self) -> ValueRange:
        """The span of the opposite sign."""
        return ValueRange(-self.high, -self.low)


def value_range(figure: Figure) -> ValueRange:
    """What a figure may stand for. `over 12,000` is 12,000 to 13,000, never less."""
    value, step = figure.value, figure.step
    match figure.hedge if step != 1 else None:  # `over 41,257` is as exact as 41,257
        case "over":
            return ValueRange(value, value + step)
        case "under":
            return ValueRange(value - step, value)
        case _:
            return ValueRange(value - step / 2, value + step / 2)


def needs_exact(figure: Figure) -> bool:
    """Whether rounding is no excuse: small whole numbers without unit or hedge."""
    is_whole = figure.decimals <= 0 and figure.scale == 1 and figure.kind == "plain"
    return is_whole and figure.hedge is None and not figure.unit and abs(figure.value) < EXACT_BELOW


def equal_cells(
    figure: Figure, index: ResultIndex, budget: WorkBudget, *, may_lose_sign: bool
) -> Iterator[NumberCell]:
    """The cells that read as the figure; each that is looked at is a step."""
    spans = [value_range(figure)]
    if may_lose_sign and figure.value > 0:
        spans.append(spans[0].negated())
    exact = needs_exact(figure)
    for one in spans:
        if figure.kind == "percent":
            yield from _percent_cells(figure, one, index, budget)
        elif figure.kind != "points":
            for cell in index.between(one.low, one.high):
                budget.spend()
                if not exact or abs(cell.value) == abs(figure.value):
                    yield cell


def _percent_cells(
    figure: Figure, wanted: ValueRange, index: ResultIndex, budget: WorkBudget
) -> Iterator[NumberCell]:
    """Cells that are percentages: 45.2 in a column called share, or 0.452 in one of fractions."""
    part = wanted.times(Decimal("0.001") if figure.unit == "‰" else Decimal("0.01"))
    for cell in index.between(wanted.low, wanted.high):
        budget.spend()
        if is_percent(index, cell):
            yield cell
    for cell in index.between(part.low, part.high):
        budget.spend()
        if is_fraction(index, cell):
            yield cell


def is_percent(index: ResultIndex, cell: NumberCell) -> bool:
    """Whether a column may hold percentages: by its name, or since its numbers are not whole."""
    if index.tables[cell.table].is_percentage(cell.column):
        return True
    type_name = index.tables[cell.table].columns[cell.column].type
    return type_name.startswith(("float", "double", "decimal")) and abs(cell.value) <= 100


def is_fraction(index: ResultIndex, cell: NumberCell) -> bool:
    """Whether a column holds parts of one."""
    table = index.tables[cell.table]
    return table.has_fractions(cell.column) or (
        table.is_percentage(cell.column) and abs(cell.value) < 20
    )
