"""The shell of every HTML report: one file, its own style, light and dark, no script. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

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
