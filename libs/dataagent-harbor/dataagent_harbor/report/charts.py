"""Charts of a report as coordinates; `templates/parts.html` draws them as SVG.

A chart is drawn by the page so that it has the page's colours, in light and in dark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

NumberFormat = Callable[[float], str]
"""A value as people read it."""
Points = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT = 560, 190
_LEFT, _TOP, _BOTTOM = 44, 14, 162  # of the area in which values are drawn
_RIGHT = _WIDTH - 6
_COLUMNS = 28
_MARK_DISTANCE = 46  # labels of marks closer than this would overlap
_MOST_DOTS = 80


@dataclass(frozen=True, slots=True)
class ChartItem:
    """A bar, dot, mark or label of an axis: its place, its text, and a CSS class if it has one."""

    x: float
    y: float
    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A named line through its dots."""

    name: str
    points: str
    dots: Sequence[ChartItem]


@dataclass(frozen=True, slots=True)
class Chart:
    """What is drawn; `label` describes it to a screen reader."""

    label: str
    levels: Sequence[ChartItem]
    ticks: Sequence[ChartItem]
    bars: Sequence[ChartItem] = ()
    marks: Sequence[ChartItem] = ()
    lines: Sequence[ChartLine] = ()
    dots: Sequence[ChartItem] = ()
    width: int = _WIDTH
    height: int = _HEIGHT
    left: int = _LEFT
    top: int = _TOP
    bottom: int = _BOTTOM
    bar_width: float = (_WIDTH - _LEFT) / _COLUMNS - 2


def histogram(
    values: Sequence[float], marks: Mapping[str, float | None], shown: NumberFormat
) -> Chart | None:
    """The distribution of the values as bars, with named marks such as `p50`; None without any."""
    if not values:
        return None
    most = max(values) or 1.0
    counts = [0] * _COLUMNS
    for value in values:
        counts[min(int(value / most * _COLUMNS), _COLUMNS - 1)] += 1
    tallest = max(counts)
    bars = [
        ChartItem(
            round(_LEFT + number * (_WIDTH - _LEFT) / _COLUMNS + 1, 1),
            round(_BOTTOM - count / tallest * (_BOTTOM - _TOP - 16), 1),
            f"{count} from {shown(number / _COLUMNS * most)} "
            f"to {shown((number + 1) / _COLUMNS * most)}",
        )
        for number, count in enumerate(counts)
        if count
    ]
    return Chart(
        f"{len(values)} values up to {shown(most)}",
        _levels(tallest, lambda count: f"{count:,.0f}" if count == int(count) else ""),
        _ticks(most, shown),
        bars=bars,
        marks=_marks(marks, most, shown),
    )


def line_chart(
    series: Mapping[str, Points], shown: NumberFormat, shown_across: NumberFormat
) -> Chart | None:
    """Named lines over a common axis; None without any point."""
    points = [point for each in series.values() for point in each]
    if not points:
        return None
    right, high = max(x for x, _ in points) or 1.0, max(y for _, y in points) or 1.0
    lines: list[ChartLine] = []
    for name, each in series.items():
        dots = [ChartItem(_x(x, right), _y(y, high), shown(y)) for x, y in each]
        path = " ".join(f"{dot.x},{dot.y}" for dot in dots)
        lines.append(ChartLine(name, path, dots if len(dots) < _MOST_DOTS else ()))
    return Chart(
        f"{', '.join(series)}: up to {shown(high)}",
        _levels(high, shown),
        _ticks(right, shown_across),
        lines=lines,
    )


def scatter(points: Sequence[tuple[float, float, str, str]], shown: NumberFormat) -> Chart | None:
    """Values over time: seconds since the start, value, CSS class and name; None without any."""
    if not points:
        return None
    right, high = max(x for x, *_ in points) or 1.0, max(y for _, y, *_ in points) or 1.0
    return Chart(
        f"{len(points)} answers over {shown(right)}",
        _levels(high, shown),
        _ticks(right, shown),
        dots=[
            ChartItem(_x(x, right), _y(y, high), f"{name}: {shown(y)}", kind)
            for x, y, kind, name in points
        ],
    )


def _x(value: float, right: float) -> float:
    return round(_LEFT + value / right * (_RIGHT - _LEFT), 1)


def _y(value: float, high: float) -> float:
    return round(_BOTTOM - value / high * (_BOTTOM - _TOP), 1)


def _levels(high: float, shown: NumberFormat) -> list[ChartItem]:
    return [ChartItem(_LEFT - 6, _y(part, 1), shown(part * high)) for part in (0, 0.5, 1)]


def _ticks(right: float, shown: NumberFormat) -> list[ChartItem]:
    return [
        ChartItem(_LEFT + part * (_WIDTH - _LEFT), _HEIGHT - 6, shown(part * right), anchor)
        for part, anchor in ((0, "start"), (0.5, "middle"), (1, "end"))
    ]


def _marks(marks: Mapping[str, float | None], most: float, shown: NumberFormat) -> list[ChartItem]:
    """Each mark, its label in the next row where it would overlap the one before."""
    drawn: list[ChartItem] = []
    before, row = -float(_MARK_DISTANCE), 0
    for name, value in marks.items():
        if value is None:
            continue
        x = _LEFT + value / most * (_WIDTH - _LEFT)
        row = row + 1 if x - before < _MARK_DISTANCE else 0
        before = x
        drawn.append(ChartItem(round(x, 1), _TOP - 2 + 13 * row, f"{name}: {shown(value)}", name))
    return drawn
