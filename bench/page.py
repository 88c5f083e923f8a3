"""A run as one HTML page without other files: every row, its target and its earlier values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from bench.history import Key, StoredValue
from bench.meter import CALM
from bench.report import Report, Row, as_text

_STYLE = """
:root { color-scheme: light dark; --ok: #15803d; --bad: #b91c1c; --line: #8883; --soft: #8881;
  --mark: #2563eb; }
@media (prefers-color-scheme: dark) { :root { --ok: #4ade80; --bad: #f87171; --mark: #60a5fa; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
h1 { margin-bottom: 0; } h2 { font-size: 1.05rem; margin: 2rem 0 .3rem; }
.about, .note { opacity: .7; } .about { margin-top: .2rem; } .note { font-size: .85em; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid var(--line); padding: .35rem .6rem; text-align: left; }
th { font-weight: 500; opacity: .7; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.met { color: var(--ok); } .missed { color: var(--bad); font-weight: 600; }
svg { display: block; } svg .bar { fill: var(--mark); } svg .rest { fill: var(--line); }
svg .target { stroke: currentColor; stroke-width: 1.5; }
svg .line { fill: none; stroke: var(--mark); stroke-width: 1.5; }
svg .last { fill: var(--mark); } svg .bad { fill: var(--bad); }
"""
_BAR_WIDTH, _BAR_HEIGHT = 160, 14
_LINE_WIDTH, _LINE_HEIGHT = 120, 28
_SCALE = 2.0
"""How many targets wide a bar's ground is."""


def as_html(
    report: Report, titles: Mapping[str, str], before: Mapping[Key, Sequence[StoredValue]], at: str
) -> str:
    """The page; `titles` are the parts', `before` has each row's earlier values."""
    parts = dict.fromkeys(row.part for row in report.rows)
    sections = [_section(part, titles.get(part, ""), report.rows, before) for part in parts]
    return "\n".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>DataAgent: benchmarks</title><style>{_STYLE}</style></head><body>",
            f'<h1>Benchmarks</h1><p class="about">{escape(_about(report, at))}</p>',
            *sections,
            "</body></html>",
        )
    )


def _about(report: Report, at: str) -> str:
    with_target = [row for row in report.rows if row.target is not None]
    met = sum(row.is_met is True for row in with_target)
    about = [at, f"{met} of {len(with_target)} targets met"]
    if report.options.is_quick:
        about.append("quick: fewer rounds and cells")
    if (share := report.disturbance) is not None:
        about.append(f"other processes used {share:.0%} of the measured core (calm is {CALM:.0%})")
    return " · ".join(about)


def _section(
    part: str, title: str, rows: Sequence[Row], before: Mapping[Key, Sequence[StoredValue]]
) -> str:
    head = (
        "<tr><th>what</th><th class=number>measured</th><th class=number>CPU a turn</th>"
        "<th class=number>target</th><th>of the target</th><th>earlier runs, and this one</th></tr>"
    )
    own = [row for row in rows if row.part == part]
    lines = [_row(row, before.get((row.part, row.name), ())) for row in own]
    return f"<h2>{part}: {escape(title)}</h2><table>{head}{''.join(lines)}</table>"


def _row(row: Row, values: Sequence[StoredValue]) -> str:
    value, unit, target = as_text(row)
    cpu = "" if row.cpu is None else f"{row.cpu:.2f} ×"
    kind = {None: "", True: "met", False: "missed"}[row.is_met]
    note = f'<div class="note">{escape(row.note)}</div>' if row.note else ""
    return (
        f"<tr><td>{escape(row.name)}{note}</td>"
        f'<td class="number {kind}">{escape(value)} {escape(unit)}</td>'
        f"<td class=number>{escape(cpu)}</td><td class=number>{escape(target)}</td>"
        f"<td>{_bar(row)}</td><td>{_trend(row, values)}</td></tr>"
    )


def _bar(row: Row) -> str:
    """The value against its target, which is the line in the middle."""
    if row.target is None or row.unit == "imported":
        return ""
    share = min(max(row.value, 0.0) / row.target.bound, _SCALE) / _SCALE
    kind = "bar" if row.is_met else "bad"
    middle = _BAR_WIDTH / _SCALE
    return (
        f'<svg width="{_BAR_WIDTH}" height="{_BAR_HEIGHT}" role="img" '
        f'aria-label="{row.value / row.target.bound:.2f} of the target">'
        f'<rect class="rest" width="{_BAR_WIDTH}" height="{_BAR_HEIGHT}" rx="3"/>'
        f'<rect class="{kind}" width="{share * _BAR_WIDTH:.1f}" height="{_BAR_HEIGHT}" rx="3"/>'
        f'<line class="target" x1="{middle}" x2="{middle}" y2="{_BAR_HEIGHT}"/></svg>'
    )


def _trend(row: Row, values: Sequence[StoredValue]) -> str:
    """The earlier values and this one, as a line from left to right."""
    if not values:
        return ""
    trend = [*(one.value for one in values), row.value]
    low, high = min(trend), max(trend)
    height = _LINE_HEIGHT - 6

    def point(place: int, value: float) -> tuple[float, float]:
        level = (value - low) / (high - low) if high > low else 0.5
        return 3 + place * (_LINE_WIDTH - 6) / (len(trend) - 1), 3 + height * (1 - level)

    points = [point(place, value) for place, value in enumerate(trend)]
    values_text = ", ".join(f"{value:.3g}" for value in trend)
    x, y = points[-1]
    return (
        f'<svg width="{_LINE_WIDTH}" height="{_LINE_HEIGHT}" role="img" aria-label="{values_text}">'
        f'<polyline class="line" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}"/>'
        f'<circle class="last" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/></svg>'
    )
