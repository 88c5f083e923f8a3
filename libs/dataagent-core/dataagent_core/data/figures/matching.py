"""When a number of a result is the figure of a text: equal, at the precision the text shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from dataagent_core.data.figures.budget import WorkBudget
from dataagent_core.data.figures.index import NumberCell, ResultIndex
from dataagent_core.data.figures.reading import Figure

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
