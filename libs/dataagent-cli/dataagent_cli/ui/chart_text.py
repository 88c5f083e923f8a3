"""A chart in characters, for terminals that show no pictures.

It takes a Vega-Lite specification with its values. Bars and pies become bars with figures, a line
and points become Braille dots, several lines one small line each. Layers, panels and bins have no
such form: then only the picture is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from rich.cells import cell_len, set_cell_size

from dataagent_cli.ui.clean import one_line
from dataagent_cli.ui.tables import NULL, cut

_BLANK = 0x2800
_BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))  # by column, then row


class Dots:
    """A canvas of so many characters."""

    def __init__(self, columns: int, rows: int) -> None:
        self._cells = [[0] * columns for _ in range(rows)]
        self._width, self._height = columns * 2, rows * 4

    def plot(self, points: Sequence[tuple[float, float]], *, is_joined: bool) -> None:
        """Mark the points, scaled so that they fill the canvas; joined, the lines between too."""
        xs, ys = [x for x, _ in points], [y for _, y in points]
        placed = [
            (_scaled(x, min(xs), max(xs), self._width), _scaled(y, min(ys), max(ys), self._height))
            for x, y in points
        ]
        for x, y in placed:
            self._mark(x, y)
        for start, end in pairwise(placed) if is_joined else ():
            self._join(start, end)

    def rows(self) -> list[str]:
        """The canvas, a line for each row, the top one first."""
        return ["".join(chr(_BLANK + bits) if bits else " " for bits in row) for row in self._cells]

    def _join(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        steps = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
        for step in range(1, steps):
            share = step / steps
            x, y = (round(a + (b - a) * share) for a, b in zip(start, end, strict=True))
            self._mark(x, y)

    def _mark(self, x: int, y: int) -> None:
        down = self._height - 1 - y
        self._cells[down // 4][x // 2] |= _BITS[x % 2][down % 4]


def _scaled(value: float, low: float, high: float, size: int) -> int:
    """The position of a value among so many dots; the middle if all values are the same."""
    if high == low:
        return size // 2
    return round((value - low) / (high - low) * (size - 1))


_MOST_BARS = 40
_ROWS = 10
_LEAST_BAR = 8
_EXACT = 1e15
_LEVELS = "▁▂▃▄▅▆▇█"
_PARTS = "▏▎▍▌▋▊▉█"
_NEGATIVE = "░"
_COUNTED = ("sum", "count", "mean", "average", "min", "max")
Spec = Mapping[str, Any]  # Any: JSON


@dataclass(frozen=True, slots=True)
class Point:
    """A value with what it belongs to."""

    label: str
    series: str
    value: float


def chart_text(spec: Spec, *, width: int) -> str | None:
    """The chart in lines of at most `width` columns; None if it has no form in characters."""
    mark: Any = spec.get("mark")
    kind = str(cast("Spec", mark).get("type") if isinstance(mark, Mapping) else mark)
    encoding = cast("Spec", spec.get("encoding") or {})
    if spec.get("transform"):
        return None  # other rows than those at hand
    if kind == "point":
        drawn = _scatter(spec, encoding, width)
    else:
        points = _points(spec, encoding, kind)
        drawn = _draw(kind, points, width) if points else None
    return drawn and "\n".join([*_title_lines(spec.get("title")), drawn])


def _title_lines(title: object) -> list[str]:
    """The title of a chart; its second line says that not all rows are drawn."""
    parts = cast("Spec", title) if isinstance(title, Mapping) else {"text": title}
    said = (parts.get("text"), parts.get("subtitle"))
    return [one_line(line) for line in said if isinstance(line, str) and line]


def _draw(kind: str, points: Sequence[Point], width: int) -> str | None:
    match kind:
        case "bar":
            return _bars(points, width)
        case "arc":
            return _bars(points, width, is_share=True)
        case "line" | "area":
            return _lines(points, width)
        case _:
            return None


# -- values ---------------------------------------------------------------------------------


def _points(spec: Spec, encoding: Spec, kind: str) -> list[Point]:
    channels = {name: cast("Spec", encoding.get(name) or {}) for name in ("x", "y", "theta")}
    numbers = [name for name, channel in channels.items() if channel.get("type") == "quantitative"]
    if not numbers or any(channel.get("bin") for channel in channels.values()):
        return []
    number = channels["theta" if "theta" in numbers else numbers[-1]]
    labels = [channels[name] for name in ("x", "y") if channels[name] and name not in numbers[-1:]]
    colour = cast("Spec", encoding.get("color") or {})
    label = labels[0] if labels and not channels["theta"] else colour
    series: Spec = colour if label is not colour else {}
    is_counted = (number.get("aggregate") or "sum") in _COUNTED
    if not label.get("field") or not is_counted or label.get("timeUnit") or series.get("timeUnit"):
        return []
    is_line = kind in ("line", "area")
    rows = _sort_along_axis(_rows(spec), label) if is_line else _rows(spec)
    return _sorted(_group(rows, label, series, number, is_line=is_line), label.get("sort"))


def _rows(spec: Spec) -> list[Spec]:
    data = cast("Spec", spec.get("data") or {})
    return cast("list[Spec]", data.get("values") or [])


def _sort_along_axis(rows: list[Spec], label: Spec) -> list[Spec]:
    """The rows in the order of a line's axis; those without a place on it are not drawn."""
    order, field = label.get("sort", "ascending"), str(label.get("field"))
    if order not in ("ascending", "descending"):
        return rows
    has_places = label.get("type") in ("temporal", "quantitative")
    placed = [row for row in rows if row.get(field) is not None or not has_places]
    try:
        return sorted(placed, key=lambda row: row[field], reverse=order == "descending")
    except TypeError:  # kinds are mixed
        return placed


def _group(
    rows: Sequence[Spec], label: Spec, series: Spec, number: Spec, *, is_line: bool
) -> list[Point]:
    """A value for each label and series; several are put together as the chart says.

    Where it does not say, bars stand on each other and a line has a point for each.
    """
    combine = str(number.get("aggregate") or "sum")
    is_each = is_line and "aggregate" not in number
    groups: dict[tuple[str, str, int], list[float]] = {}
    for at, row in enumerate(rows):
        value = 1.0 if combine == "count" else row.get(str(number.get("field")))
        if isinstance(value, int | float):
            key = (_label(row, label), _label(row, series), at if is_each else 0)
            groups.setdefault(key, []).append(float(value))
    return [
        Point(name, of, value=_aggregate(combine, values))
        for (name, of, _), values in groups.items()
    ]


def _label(row: Spec, channel: Spec) -> str:
    if not channel:
        return ""
    value = row.get(str(channel.get("field")))
    return NULL if value is None else one_line(str(value)).removesuffix("T00:00:00")


def _aggregate(how: str, values: Sequence[float]) -> float:
    match how:
        case "count":
            return len(values)
        case "mean" | "average":
            return sum(values) / len(values)
        case "min":
            return min(values)
        case "max":
            return max(values)
        case _:
            return sum(values)


def _sorted(points: list[Point], order: object) -> list[Point]:
    if order in ("-x", "-y", "x", "y"):
        return sorted(points, key=lambda point: point.value, reverse=str(order).startswith("-"))
    return points


def number_text(value: float) -> str:
    """A figure beside a bar: whole numbers whole, others with two decimals, small ones with more.

    A chart's numbers are floats; one with more digits than those have is not shown as if exact.
    """
    if abs(value) >= _EXACT:
        return f"≈{value:.4g}"
    if value == int(value):
        return f"{int(value):,}"
    is_told_by_two = abs(value) >= 1 or round(value, 2) == value
    return f"{value:,.2f}" if is_told_by_two else f"{value:.4g}"


def figure_texts(values: Sequence[float]) -> list[str]:
    """Figures below each other: with decimals where one of them has some."""
    alone = [number_text(value) for value in values]
    if all("." not in text or "e" in text for text in alone):
        return alone
    return [f"{text}.00" if text.lstrip("-").replace(",", "").isdigit() else text for text in alone]


# -- forms ----------------------------------------------------------------------------------


def _bars(points: Sequence[Point], width: int, *, is_share: bool = False) -> str:
    shown, total = points[:_MOST_BARS], sum(point.value for point in points)
    labels = [" · ".join(part for part in (each.label, each.series) if part) for each in shown]
    room = min(max(cell_len(label) for label in labels), max(width // 3, _LEAST_BAR))
    figures = figure_texts([point.value for point in shown])
    if is_share and total:
        figures = [
            f"{figure} ({point.value / total:.1%})"
            for figure, point in zip(figures, shown, strict=True)
        ]
    most = max((abs(point.value) for point in shown), default=0) or 1
    length = max(width - room - max(map(len, figures)) - 4, _LEAST_BAR)
    lines = [
        f"{set_cell_size(cut(label, room), room)}  {_bar(point.value, most, length)} {figure}"
        for label, figure, point in zip(labels, figures, shown, strict=True)
    ]
    if len(points) > len(shown):
        lines.append(f"… {len(points) - len(shown):,} more")
    return "\n".join(lines)


def _bar(value: float, most: float, length: int) -> str:
    eighths = round(abs(value) / most * length * 8)
    if value < 0:
        return _NEGATIVE * max(eighths // 8, 1)
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (_PARTS[rest - 1] if rest else "") or _PARTS[0] * (value > 0)


def _lines(points: Sequence[Point], width: int) -> str:
    series: dict[str, list[Point]] = {}
    for point in points:
        series.setdefault(point.series, []).append(point)
    if len(series) == 1:
        return _line(points, width)
    names = {name: cut(name, max(width // 4, _LEAST_BAR)) for name in series}
    room = max(cell_len(name) for name in names.values())
    return "\n".join(
        f"{set_cell_size(names[name], room)}  {_small_line(each, width - room - 22)}  "
        f"{number_text(each[0].value)} → {number_text(each[-1].value)}"
        for name, each in series.items()
    )


def _small_line(points: Sequence[Point], width: int) -> str:
    values = _spread([point.value for point in points], max(width, _LEAST_BAR))
    low, high = min(values), max(values)
    span = (high - low) or 1
    return "".join(_LEVELS[round((value - low) / span * 7)] for value in values)


def _spread(values: Sequence[float], most: int) -> Sequence[float]:
    """At most so many of the values, evenly taken."""
    if len(values) <= most:
        return values
    return [values[round(at * (len(values) - 1) / (most - 1))] for at in range(most)]


def _line(points: Sequence[Point], width: int) -> str:
    values = [point.value for point in points]
    pairs = [(float(at), value) for at, value in enumerate(values)]
    drawn, room = _with_axis(pairs, width, is_joined=True)
    ends = (points[0].label, points[-1].label)
    gap = max(width - room - cell_len(ends[0]) - cell_len(ends[1]), 2)
    return f"{drawn}\n{' ' * room}{ends[0]}{' ' * gap}{ends[1]}"


def _scatter(spec: Spec, encoding: Spec, width: int) -> str | None:
    x, y = (cast("Spec", encoding.get(name) or {}) for name in ("x", "y"))
    if any(each.get(made) for each in (x, y) for made in ("aggregate", "bin")):
        return None
    pairs = [(row.get(str(x.get("field"))), row.get(str(y.get("field")))) for row in _rows(spec)]
    numbers = [
        (float(a), float(b))
        for a, b in pairs
        if isinstance(a, int | float) and isinstance(b, int | float)
    ]
    if not numbers:
        return None
    drawn, room = _with_axis(numbers, width, is_joined=False)
    across = (
        f"{number_text(min(a for a, _ in numbers))} … {number_text(max(a for a, _ in numbers))}"
    )
    return f"{drawn}\n{' ' * room}{across}  {one_line(str(x.get('title') or ''))}"


def _with_axis(
    pairs: Sequence[tuple[float, float]], width: int, *, is_joined: bool
) -> tuple[str, int]:
    """Dots with the highest and lowest figure at their left; how wide those are."""
    low, high = min(b for _, b in pairs), max(b for _, b in pairs)
    top, bottom = number_text(high), number_text(low)
    room = max(len(top), len(bottom)) + 2
    dots = Dots(max(width - room, _LEAST_BAR), _ROWS)
    dots.plot(pairs, is_joined=is_joined)
    rows = dots.rows()
    starts = [top, *[""] * (len(rows) - 2), bottom]
    lines = [f"{start:>{room - 2}} │{row}" for start, row in zip(starts, rows, strict=True)]
    return "\n".join(line.rstrip() for line in lines), room
