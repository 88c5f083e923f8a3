"""The shell of every HTML report: one file, its own style, light and dark, no script. Pure.

Charts as inline SVG, coloured by the page's style. Pure functions over numbers.

Figures as people read them. Pure functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; --ground: #f6f7f9; --card: #fff; --ink: #16181d; --soft: #5c6370;
  --line: #e3e6eb; --accent: #2f5fde; --ok: #147a43; --bad: #c22b2b; --warn: #9a6200;
  --ok-soft: #e2f4e9; --bad-soft: #fde8e8; --warn-soft: #fdf1d8; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #101216; --card: #191c22; --ink: #e7e9ee; --soft: #9aa2b1; --line: #2a2f38;
  --accent: #7c9dff; --ok: #5bd08d; --bad: #ff8080; --warn: #f0b650; --ok-soft: #16301f;
  --bad-soft: #3a1b1d; --warn-soft: #352812; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", "Noto Sans", "Noto Sans CJK SC",
  sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
header { display: flex; gap: 1.5rem; align-items: center; margin-bottom: 1.5rem; }
h1 { font-size: 1.5rem; line-height: 1.2; margin: 0 0 .35rem; letter-spacing: -.01em; }
h2 { font-size: 1.05rem; margin: 0 0 .75rem; }
.about { display: flex; flex-wrap: wrap; gap: .15rem 1.1rem; margin: 0; color: var(--soft);
  font-size: .875rem; } .about div { display: flex; gap: .35rem; } .about dd { margin: 0;
  color: var(--ink); overflow-wrap: anywhere; } .about dt::after { content: ":"; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(12.5rem, 1fr)); gap: .75rem;
  margin-bottom: .75rem; }
.tile, section { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; }
.tile { padding: .75rem 1rem; color: var(--soft); font-size: .8125rem; }
.tile b { display: block; font-size: 1.35rem; line-height: 1.3; color: var(--ink);
  font-variant-numeric: tabular-nums; } .tile.bad b { color: var(--bad); }
.tile.ok b { color: var(--ok); }
section { padding: 1.1rem 1.25rem; margin-bottom: .75rem; min-width: 0; overflow-x: auto; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr));
  gap: 0 .75rem; }
.note { color: var(--soft); font-size: .8125rem; margin: .25rem 0 0; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; }
th { color: var(--soft); font-weight: 500; font-size: .8125rem; }
td, th { border-bottom: 1px solid var(--line); padding: .5rem .6rem .5rem 0; text-align: left;
  vertical-align: top; } tr:last-child > td { border-bottom: 0; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.id { font-family: ui-monospace, monospace; font-size: .8125rem; white-space: nowrap; }
td.wide { width: 40%; overflow-wrap: anywhere; }
.pill { display: inline-block; border-radius: 1rem; padding: .05rem .6rem; font-size: .8125rem;
  font-weight: 500; } .pill.passed { color: var(--ok); background: var(--ok-soft); }
.pill.failed { color: var(--bad); background: var(--bad-soft); }
.pill.error, .pill.timeout { color: var(--warn); background: var(--warn-soft); }
ul.reasons { margin: 0 0 .25rem; padding-left: 1.1rem; }
summary { cursor: pointer; color: var(--accent); } summary.plain { color: inherit; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--ground);
  border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; margin: .4rem 0 0;
  font: .8125rem/1.5 ui-monospace, "Noto Sans Mono CJK SC", monospace; max-height: 24rem;
  overflow-y: auto; }
ol.steps { list-style: none; margin: .75rem 0 0; padding: 0 0 0 1rem;
  border-left: 2px solid var(--line); } ol.steps li { margin-bottom: .6rem; }
ol.steps b { font-size: .8125rem; font-weight: 600; } ol.steps .error b { color: var(--bad); }
article { border-top: 1px solid var(--line); padding: .9rem 0; } article:first-of-type {
  border-top: 0; padding-top: 0; } article:last-child { padding-bottom: 0; }
article h3 { font-size: .9375rem; font-weight: 600; margin: 0 0 .35rem; }
fieldset.filter { border: 0; padding: 0; margin: 0 0 .5rem; display: flex; gap: .4rem;
  flex-wrap: wrap; } .filter label { border: 1px solid var(--line); border-radius: 1rem;
  padding: .1rem .75rem; font-size: .8125rem; cursor: pointer; }
.filter label:has(:checked) { background: var(--accent); color: var(--card);
  border-color: var(--accent); } .filter label:has(:focus-visible) { outline: 2px solid
  var(--accent); outline-offset: 2px; } .filter input { position: absolute; opacity: 0; }
section:has([value=passed]:checked) tr.row:not(.passed), section:has([value=failed]:checked)
  tr.row.passed { display: none; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { fill: var(--soft); font-size: 11px; font-variant-numeric: tabular-nums; }
svg .grid { stroke: var(--line); } svg .bar { fill: var(--accent); opacity: .85; }
svg .mark { stroke: var(--ink); stroke-dasharray: 3 3; opacity: .55; }
svg .fill-passed { fill: var(--ok); } svg .fill-failed { fill: var(--bad); }
svg .fill-error, svg .fill-timeout { fill: var(--warn); }
svg .fill-rest { fill: var(--line); } svg .line { fill: none; stroke-width: 2; }
svg .line-0 { stroke: var(--accent); } svg .line-1 { stroke: var(--warn); }
svg .line-2 { stroke: var(--bad); } svg .trend { stroke: var(--soft); stroke-dasharray: 5 4; }
svg .ring { fill: none; stroke-width: 9; stroke: var(--line); } svg .ring.share {
  stroke: var(--ok); stroke-linecap: round; } svg .big { fill: var(--ink); font-size: 17px;
  font-weight: 600; } .legend { display: flex; gap: 1rem; font-size: .8125rem; color: var(--soft);
  margin: .4rem 0 0; flex-wrap: wrap; } .legend i { display: inline-block; width: .9rem;
  height: .2rem; margin-right: .4rem; vertical-align: middle; border-radius: 1px; }
.legend .line-0 { background: var(--accent); } .legend .line-1 { background: var(--warn); }
.legend .line-2 { background: var(--bad); }
@media (max-width: 40rem) { .tiles { grid-template-columns: repeat(2, 1fr); } }
@media print { body { background: none; } section { break-inside: avoid; } }
"""


def page(title: str, about: Mapping[str, object], parts: Iterable[str], *, badge: str = "") -> str:
    """The whole document; `parts` are HTML, the rest is text."""
    told = "".join(
        f"<div><dt>{escape(name.replace('_', ' '))}</dt><dd>{escape(str(value))}</dd></div>"
        for name, value in about.items()
        if value is not None
    )
    return "\n".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>",
            f'<header>{badge}<div><h1>{escape(title)}</h1><dl class="about">{told}</dl></div>'
            "</header>",
            *parts,
            "</main></body></html>",
        )
    )


def section(title: str, *inside: str) -> str:
    """A card with a heading; what is inside is HTML."""
    return f"<section><h2>{escape(title)}</h2>{''.join(inside)}</section>"


def tiles(shown: Iterable[tuple[str, str, str]]) -> str:
    """Figures side by side: what it is, the figure, and a class (`ok`, `bad` or none)."""
    boxes = (
        f'<div class="tile {kind}">{escape(name)}<b>{escape(value)}</b></div>'
        for name, value, kind in shown
    )
    return f'<div class="tiles">{"".join(boxes)}</div>'


def note(text: str) -> str:
    """A sentence below a chart."""
    return f'<p class="note">{escape(text)}</p>'


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


_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "CNY": "¥", "JPY": "¥"}


def seconds(value: float | None) -> str:
    """A time: `12 ms`, `1.25 s`, `3 min 20 s`."""
    if value is None:
        return "–"
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 120:
        return f"{value:.2f} s"
    return f"{int(value // 60)} min {value % 60:.0f} s"


def money(cost: dict[str, Any]) -> str:
    """A cost: `$0.0123`; a currency without a sign of its own is named."""
    sign, amount = _SIGNS.get(cost["currency"]), f"{cost['total']:.4f}"
    return f"{amount} {cost['currency']}" if sign is None else f"{sign}{amount}"


def megabytes(value: float | None) -> str:
    """A size: `312 MB`."""
    return "–" if value is None else f"{value / 1e6:,.0f} MB"
