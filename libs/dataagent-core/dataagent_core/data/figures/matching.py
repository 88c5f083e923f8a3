"""When a number of a result is the figure of a text: equal, at the precision the text shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from dataagent_core.data.figures.index import Cell, Index
from dataagent_core.data.figures.reading import Figure

EXACT_BELOW = 100  # a small whole number is a count: 0.99 is not 1
PERCENT_NAME = re.compile(
    r"pct|percent|%|share|rate|ratio|growth|change|margin|discount|tax|yoy|mom|"
    r"占比|比例|率|增长|增幅|份额|同比|环比|折扣|百分",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Span:
    """The values that a figure may stand for, both ends included."""

    low: Decimal
    high: Decimal

    def holds(self, value: Decimal) -> bool:
        """Whether a value, shown at the figure's precision, reads as the figure."""
        return self.low <= value <= self.high

    def times(self, factor: Decimal) -> Span:
        """The span in another unit."""
        return Span(self.low * factor, self.high * factor)

    def negated(self) -> Span:
        """The span of the opposite sign."""
        return Span(-self.high, -self.low)


def span(figure: Figure) -> Span:
    """What a figure may stand for. `over 12,000` is 12,000 to 13,000, never less."""
    value, step = figure.value, figure.step
    match figure.hedge if step != 1 else None:  # `over 41,257` is as exact as 41,257
        case "over":
            return Span(value, value + step)
        case "under":
            return Span(value - step, value)
        case _:
            return Span(value - step / 2, value + step / 2)


def needs_exact(figure: Figure) -> bool:
    """Whether rounding is no excuse: small whole numbers without unit or hedge."""
    is_whole = figure.decimals <= 0 and figure.scale == 1 and figure.kind == "plain"
    return is_whole and figure.hedge is None and not figure.unit and abs(figure.value) < EXACT_BELOW


def equal_cells(figure: Figure, index: Index, *, may_lose_sign: bool) -> list[Cell]:
    """The cells that read as the figure."""
    spans = [span(figure)]
    if may_lose_sign and figure.value > 0:
        spans.append(spans[0].negated())
    if figure.kind == "percent":
        return [cell for one in spans for cell in _percent_cells(figure, one, index)]
    if figure.kind == "points":
        return []
    found = [cell for one in spans for cell in index.between(one.low, one.high)]
    if needs_exact(figure):
        return [cell for cell in found if abs(cell.value) == abs(figure.value)]
    return found


def _percent_cells(figure: Figure, wanted: Span, index: Index) -> list[Cell]:
    """Cells that are percentages: 45.2 in a column called share, or 0.452 in one of fractions."""
    part = wanted.times(Decimal("0.001") if figure.unit == "‰" else Decimal("0.01"))
    raw = [cell for cell in index.between(wanted.low, wanted.high) if is_percent(index, cell)]
    return raw + [cell for cell in index.between(part.low, part.high) if is_fraction(index, cell)]


def is_percent(index: Index, cell: Cell) -> bool:
    """Whether a column may hold percentages: by its name, or since its numbers are not whole."""
    if PERCENT_NAME.search(index.column_name(cell.table, cell.column)):
        return True
    type_name = index.tables[cell.table].columns[cell.column].type
    return type_name.startswith(("float", "double", "decimal")) and abs(cell.value) <= 100


def is_fraction(index: Index, cell: Cell) -> bool:
    """Whether a column holds parts of one."""
    return index.tables[cell.table].has_fractions(cell.column) or bool(
        PERCENT_NAME.search(index.column_name(cell.table, cell.column)) and abs(cell.value) < 20
    )
