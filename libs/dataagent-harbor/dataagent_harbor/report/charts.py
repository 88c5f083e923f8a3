"""Charts as inline SVG, coloured by the page's style. Pure functions over numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape

Shown = Callable[[float], str]  # a value as people read it
Points = Sequence[tuple[float, float]]
_WIDTH, _HEIGHT = 560, 190
_LEFT, _TOP, _GROUND = 44, 14, 162
_COLUMNS = 28
_NEAR = 46  # marks closer than this would write over each other


def ring(share: float, label: str) -> str:
    """A share of a whole as a ring with the figure inside."""
    length = 2 * math.pi * 38
    return (
        '<svg viewBox="0 0 96 96" style="width:5.5rem;flex:none" role="img" '
        f'aria-label="{escape(label)}"><circle class="ring" cx="48" cy="48" r="38"/>'
        f'<circle class="ring share" cx="48" cy="48" r="38" transform="rotate(-90 48 48)" '
        f'stroke-dasharray="{length * share:.1f} {length:.1f}"/>'
        f'<text class="big" x="48" y="54" text-anchor="middle">{share:.0%}</text></svg>'
    )


def histogram(values: Sequence[float], marks: Mapping[str, float | None], shown: Shown) -> str:
    """How many values lie where, as bars, with named marks (`p50`) over them."""
    if not values:
        return "<p>Nothing was measured.</p>"
    most = max(values) or 1.0
    counts = [0] * _COLUMNS
    for value in values:
        counts[min(int(value / most * _COLUMNS), _COLUMNS - 1)] += 1
    step, tallest = (_WIDTH - _LEFT) / _COLUMNS, max(counts)
    bars = "".join(
        f'<rect class="bar" x="{_LEFT + number * step + 1:.1f}" y="{_GROUND - height:.1f}" '
        f'width="{step - 2:.1f}" height="{height:.1f}" rx="1.5"><title>{count} from '
        f"{escape(shown(number / _COLUMNS * most))} to "
        f"{escape(shown((number + 1) / _COLUMNS * most))}</title></rect>"
        for number, count in enumerate(counts)
        if (height := count / tallest * (_GROUND - _TOP - 16))
    )
    label = f"{len(values)} values up to {shown(most)}"
    inside = _grid(tallest, _whole) + bars + _marks(marks, most, shown) + _across(most, shown)
    return _svg(label, inside)


def lines(named: Mapping[str, Points], shown: Shown, across: Shown) -> str:
    """Lines over a common axis, a colour each, with a legend. The first is `line-0`."""
    all_points = [point for points in named.values() for point in points]
    if not all_points:
        return "<p>Nothing was measured.</p>"
    right = max(x for x, _ in all_points) or 1.0
    high = max(y for _, y in all_points) or 1.0
    drawn = "".join(
        f'<polyline class="line line-{number}" points="{_placed(points, right, high)}"/>'
        + "".join(_dot(point, right, high, number, shown) for point in points if len(points) < 80)
        for number, points in enumerate(named.values())
    )
    legend = "".join(
        f'<span><i class="line-{number}"></i>{escape(name)}</span>'
        for number, name in enumerate(named)
    )
    label = f"{', '.join(named)}: up to {shown(high)}"
    chart = _svg(label, _grid(high, shown) + drawn + _across(right, across))
    return f'{chart}<p class="legend">{legend}</p>'


def dots(points: Sequence[tuple[float, float, str, str]], shown: Shown) -> str:
    """Single values over time: seconds since the start, value, status, name."""
    if not points:
        return "<p>Nothing was measured.</p>"
    right, high = max(x for x, *_ in points) or 1.0, max(y for _, y, *_ in points) or 1.0
    drawn = "".join(
        f'<circle class="fill-{status}" cx="{_x(x, right):.1f}" cy="{_y(y, high):.1f}" r="3" '
        f'fill-opacity=".8"><title>{escape(name)}: {escape(shown(y))}</title></circle>'
        for x, y, status, name in points
    )
    label = f"{len(points)} answers over {shown(right)}"
    return _svg(label, _grid(high, shown) + drawn + _across(right, shown))


def shares(counts: Mapping[str, int]) -> str:
    """One bar, divided by status."""
    total = sum(counts.values()) or 1
    at, parts = 0.0, ""
    for status, count in counts.items():
        width = 200 * count / total
        if count:
            parts += (
                f'<rect class="fill-{status}" x="{at:.1f}" width="{width:.1f}" height="10">'
                f"<title>{count} {status}</title></rect>"
            )
        at += width
    label = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    return (
        '<svg viewBox="0 0 200 10" preserveAspectRatio="none" role="img" style="height:.65rem;'
        f'border-radius:.3rem;overflow:hidden;margin-top:.35rem" aria-label="{label}">{parts}</svg>'
    )


def _svg(label: str, inside: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">'
        f"{inside}</svg>"
    )


def _x(value: float, right: float) -> float:
    return _LEFT + value / right * (_WIDTH - _LEFT - 6)


def _y(value: float, high: float) -> float:
    return _GROUND - value / high * (_GROUND - _TOP)


def _placed(points: Points, right: float, high: float) -> str:
    return " ".join(f"{_x(x, right):.1f},{_y(y, high):.1f}" for x, y in points)


def _dot(point: tuple[float, float], right: float, high: float, number: int, shown: Shown) -> str:
    x, y = point
    return (
        f'<circle class="line line-{number}" style="fill:var(--card)" cx="{_x(x, right):.1f}" '
        f'cy="{_y(y, high):.1f}" r="2.5"><title>{escape(shown(y))}</title></circle>'
    )


def _grid(high: float, shown: Shown) -> str:
    return "".join(
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH}" y1="{_y(part, 1):.1f}" '
        f'y2="{_y(part, 1):.1f}"/><text x="{_LEFT - 6}" y="{_y(part, 1) + 4:.1f}" '
        f'text-anchor="end">{escape(shown(part * high))}</text>'
        for part in (0, 0.5, 1)
    )


def _across(right: float, shown: Shown) -> str:
    return "".join(
        f'<text x="{_LEFT + part * (_WIDTH - _LEFT):.0f}" y="{_HEIGHT - 6}" '
        f'text-anchor="{anchor}">{escape(shown(part * right))}</text>'
        for part, anchor in ((0, "start"), (0.5, "middle"), (1, "end"))
    )


def _marks(marks: Mapping[str, float | None], most: float, shown: Shown) -> str:
    drawn, last, row = "", -_NEAR, 0
    for name, value in marks.items():
        if value is None:
            continue
        x = _LEFT + value / most * (_WIDTH - _LEFT)
        row = row + 1 if x - last < _NEAR else 0
        last = int(x)
        drawn += (
            f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 8}" y2="{_GROUND}"/>'
            f'<text x="{x - 4:.1f}" y="{_TOP - 2 + 13 * row}" text-anchor="end">{escape(name)}'
            f"<title>{escape(shown(value))}</title></text>"
        )
    return drawn


def _whole(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else ""
