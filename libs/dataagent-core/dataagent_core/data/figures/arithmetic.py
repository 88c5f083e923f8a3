"""Numbers that are not in a result but follow from it: differences, shares, changes, averages.

Only between rows that the sentence is about, or single values, and only what its words speak of.
Each candidate carries the expression that gave it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations, islice, permutations

from dataagent_core.data.figures.context import TextSlice
from dataagent_core.data.figures.extraction import Figure, FigureKind
from dataagent_core.data.figures.index import IndexedTable, WorkBudget

MAX_ANCHORS = 12
MAX_SCALARS = 16
MAX_TOP = 10
MAX_COLUMNS = 8
STEPS = 8  # what a candidate costs, in comparisons
_HUNDRED = Decimal(100)
_JOINT = ("share", "total", "top", "others")  # what is said of several rows together
_NEGLIGIBLE = Decimal("0.05")  # what is subtracted must be a visible part


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value that follows from a result, and how."""

    value: Decimal
    artifact_id: str
    how: str  # difference, ratio, percent_change, share, sum_of_rows, …
    expression: str
    column: str | None = None


@dataclass(frozen=True, slots=True)
class TableContext:
    """What of one table a figure is about."""

    table: IndexedTable
    budget: WorkBudget
    columns: tuple[int, ...]  # those the words speak of, with numbers
    named: tuple[int, ...]  # rows of the sentence
    before: tuple[int, ...]  # and of those before it, when it names fewer than two itself
    bound: tuple[int, ...]  # rows of the figure itself
    count: int  # how many rows carry the figure's own name
    is_top: bool  # the sentence speaks of the first few


def candidates(
    figure: Figure, parts: Sequence[TableContext], words: TextSlice
) -> Iterator[Candidate]:
    """Everything a figure of this kind may be, by the words of its clause."""
    for part in parts:
        for one in _BY_KIND[figure.kind](part, words):
            part.budget.spend(STEPS)
            yield one
    yield from _between(figure, parts, words)


def _percent(part: TableContext, words: TextSlice) -> Iterator[Candidate]:
    if words.has_hint("change") and not words.has_hint("share"):
        yield from _changes(part, words)
        return
    yield from _shares(part, words)
    if len(part.table.numbers) == 1 or not words.has_hint("total"):
        yield from _row_ratios(part, part.columns, _HUNDRED)


def _multiple(part: TableContext, words: TextSlice) -> Iterator[Candidate]:
    yield from _ratios(part)
    yield from _row_ratios(part, part.columns, Decimal(1))


def _points(part: TableContext, words: TextSlice) -> Iterator[Candidate]:
    yield from _differences(part)


def _plain(part: TableContext, words: TextSlice) -> Iterator[Candidate]:
    if words.has_hint("change"):
        yield from _differences(part)
    if words.has_hint("rest"):
        yield from _row_differences(part)
    if words.has_hint("average"):
        yield from _row_ratios(part, _at_least_two(part), Decimal(1))
        if not part.named:
            yield from _average_of_totals(part)
    for column in part.columns:
        yield from _sums_of(part, column, words)
    if part.count > 1 and not words.has_hint("change"):
        yield Candidate(Decimal(part.count), part.table.artifact_id, "count", "count(named rows)")


_BY_KIND: dict[FigureKind, Callable[[TableContext, TextSlice], Iterator[Candidate]]] = {
    "percent": _percent,
    "multiple": _multiple,
    "points": _points,
    "plain": _plain,
}


def _pairs(part: TableContext) -> Iterator[tuple[str, int, int, Decimal, Decimal]]:
    """Two values of a column worth comparing: of rows named, or of a named one and a neighbour."""
    numbers = part.table.numbers
    last = len(numbers) - 1
    for column in part.columns if last > 0 else ():
        if len(part.named) > 1:
            rows = set(combinations(part.named[:MAX_ANCHORS], 2))
        else:
            rows = set(_few_rows(part, column, last))
        part.budget.spend(len(rows))
        for one, two in sorted(rows):
            first, second = numbers[one][column], numbers[two][column]
            if first is not None and second is not None:
                yield part.table.columns[column].name, one, two, first, second


def _few_rows(part: TableContext, column: int, last: int) -> Iterator[tuple[int, int]]:
    """What a row may be compared with when it is named alone, or none is."""
    others = set(part.before) - set(part.named)
    starts = set(part.named) or set(part.before[:1])
    if part.table.is_series:
        others |= {row + by for row in starts for by in (-1, 1) if 0 <= row + by <= last}
    if not part.before:
        ends = {0, last, *part.table.extremes(column)}
        others |= ends
        starts = starts or ends
    yield from ((one, two) for one in starts for two in others if one != two)


def _differences(part: TableContext) -> Iterator[Candidate]:
    for name, one, two, first, second in _pairs(part):
        text = f"{name}[{one}] - {name}[{two}]"
        yield Candidate(abs(first - second), part.table.artifact_id, "difference", text, name)


def _changes(part: TableContext, words: TextSlice) -> Iterator[Candidate]:
    """Growth is measured against the smaller value, decline against the larger."""
    for name, one, two, first, second in _pairs(part):
        small, large = sorted((first, second), key=abs)
        is_decline, is_growth = words.has_hint("decline"), words.has_hint("growth")
        bases = {large} if is_decline and not is_growth else {small}
        bases = bases if is_decline != is_growth else {small, large}
        for base in bases - {Decimal(0)}:
            value = abs((first - second) / base) * _HUNDRED
            text = f"({name}[{one}] - {name}[{two}]) / {name}[{one if base == first else two}]"
            yield Candidate(value, part.table.artifact_id, "percent_change", text, name)


def _ratios(part: TableContext) -> Iterator[Candidate]:
    """How many times the larger value is the smaller."""
    for name, one, two, first, second in _pairs(part):
        over, under = (one, two) if abs(first) >= abs(second) else (two, one)
        small, large = sorted((first, second), key=abs)
        if small:
            text = f"{name}[{over}] / {name}[{under}]"
            yield Candidate(large / small, part.table.artifact_id, "ratio", text, name)


def _shares(part: TableContext, words: TextSlice) -> Iterator[Candidate]:
    """Parts of a column's total: one row's, several named rows', the first few rows'."""
    table = part.table
    for column in part.columns:
        total = table.total(column)
        name = table.columns[column].name
        for row in part.bound[:MAX_ANCHORS] if total else ():
            value = table.numbers[row][column]
            if value is not None and total:
                text = f"{name}[{row}] / sum({name})"
                yield Candidate(value / total * _HUNDRED, table.artifact_id, "share", text, name)
        for one in _sums_of(part, column, words):
            if total and any(words.has_hint(what) for what in _JOINT):
                share = one.value / total * _HUNDRED
                text = f"{one.expression} / sum({name})"
                yield Candidate(share, table.artifact_id, "share", text, name)


def _sums_of(part: TableContext, column: int, words: TextSlice) -> Iterator[Candidate]:
    """The named rows together; the first two, three, … where the words say `top`."""
    table = part.table
    name = table.columns[column].name
    together = tuple(sorted({*part.named, *part.before}))
    groups = [together] if len(together) > 1 else []
    is_joint = any(words.has_hint(what) for what in _JOINT)
    if is_joint and part.is_top and not part.named:
        last = min(MAX_TOP, len(table.numbers) - 1)
        groups += [tuple(range(top)) for top in range(2, last + 1)]
    sums = [_sum_of(table, column, group) for group in groups]
    for group, total in zip(groups, sums, strict=True):
        yield Candidate(total, table.artifact_id, "sum_of_rows", _sum_text(name, group), name)
    for group, total in zip(groups, sums, strict=True) if words.has_hint("others") else ():
        others = (row for row in range(len(table.numbers)) if row not in group)
        text = _sum_text(name, tuple(islice(others, MAX_ANCHORS)))
        value = table.sum_read(column) - total
        yield Candidate(value, table.artifact_id, "sum_of_rows", text, name)


def _sum_of(table: IndexedTable, column: int, rows: Sequence[int]) -> Decimal:
    values = (table.numbers[row][column] for row in rows)
    return sum((value for value in values if value is not None), Decimal(0))


def _sum_text(name: str, rows: Sequence[int]) -> str:
    return f"sum({name}[{', '.join(map(str, rows[:MAX_ANCHORS]))}])"


def _at_least_two(part: TableContext) -> Sequence[int]:
    """The columns in play; all of them when only one is, for a ratio needs two."""
    if len(part.columns) > 1:
        return part.columns[:MAX_COLUMNS]
    numeric = (at for at in range(len(part.table.columns)) if part.table.column(at))
    return list(islice(numeric, MAX_COLUMNS))


def _row_pairs(
    part: TableContext, columns: Sequence[int]
) -> Iterator[tuple[int, str, str, Decimal, Decimal]]:
    table = part.table
    rows = part.bound or (range(1) if len(table.numbers) == 1 else ())
    for row in rows[:MAX_ANCHORS]:
        part.budget.spend(MAX_COLUMNS**2)
        for one, two in permutations(columns[:MAX_COLUMNS], 2):
            first, second = table.numbers[row][one], table.numbers[row][two]
            if first is not None and second is not None:
                yield row, table.columns[one].name, table.columns[two].name, first, second


def _row_ratios(part: TableContext, columns: Sequence[int], factor: Decimal) -> Iterator[Candidate]:
    for row, one, two, first, second in _row_pairs(part, columns):
        if second:
            text = f"{one}[{row}] / {two}[{row}]"
            yield Candidate(first / second * factor, part.table.artifact_id, "ratio", text, one)


def _row_differences(part: TableContext) -> Iterator[Candidate]:
    for row, one, two, first, second in _row_pairs(part, part.columns):
        if abs(second) > abs(first) * _NEGLIGIBLE:
            text = f"{one}[{row}] - {two}[{row}]"
            yield Candidate(first - second, part.table.artifact_id, "difference", text, one)


def _average_of_totals(part: TableContext) -> Iterator[Candidate]:
    table = part.table
    for one, two in permutations(_at_least_two(part), 2):
        top, bottom = table.total(one), table.total(two)
        if top is not None and bottom:
            names = table.columns[one].name, table.columns[two].name
            text = f"sum({names[0]}) / sum({names[1]})"
            yield Candidate(top / bottom, table.artifact_id, "ratio", text, names[0])


def _scalars(part: TableContext) -> Iterator[tuple[TableContext, str, Decimal]]:
    """Values that stand for a result: of its only row or the named one, totals, the row count."""
    table = part.table
    only = range(1) if len(table.numbers) == 1 else part.named if len(part.named) == 1 else ()
    for column in part.columns:
        name = table.columns[column].name
        for row in only:
            value = table.numbers[row][column]
            if value is not None:
                yield part, f"{name}[{row}]", value
        total = table.total(column)
        if total is not None and len(table.numbers) != 1:
            yield part, f"sum({name})", total
    if len(table.numbers) != 1:
        yield part, "row_count", Decimal(table.row_count)


def _between(
    figure: Figure, parts: Sequence[TableContext], words: TextSlice
) -> Iterator[Candidate]:
    """One result against another: a part of a total, a difference of two totals."""
    if len(parts) < 2:
        return
    scalars = [one for part in parts for one in islice(_scalars(part), MAX_SCALARS)]
    for one, two in permutations(scalars[: MAX_SCALARS * 2], 2):
        if one[0] is two[0]:
            continue
        one[0].budget.spend()
        for value, how, sign in _combined(figure, one[2], two[2], words):
            one[0].budget.spend(STEPS)
            text = f"{one[1]} {sign} {two[1]} of {two[0].table.artifact_id}"
            yield Candidate(value, one[0].table.artifact_id, how, text)


def _combined(
    figure: Figure, one: Decimal, two: Decimal, words: TextSlice
) -> Iterator[tuple[Decimal, str, str]]:
    is_change = words.has_hint("change")
    if figure.kind == "plain" and is_change:
        yield one - two, "difference", "-"
    if two and figure.kind == "percent":
        if is_change:
            yield abs((one - two) / two) * _HUNDRED, "percent_change", "/"
        else:
            yield one / two * _HUNDRED, "ratio", "/"
    if two and (
        figure.kind == "multiple" or (figure.kind == "plain" and words.has_hint("average"))
    ):
        yield one / two, "ratio", "/"
