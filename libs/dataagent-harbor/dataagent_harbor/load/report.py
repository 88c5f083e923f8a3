"""The report of a load: figures for programs, a page and a table for people. Pure functions.

Where a series is going: a straight line through it, and its last quarter against its first.

Pure functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from statistics import linear_regression, median
from typing import Any

from dataagent_harbor.load.user import Sequence as Numbers
from dataagent_harbor.load.virtual_users import saturation
from dataagent_harbor.report import html_parts
from dataagent_harbor.report.html_parts import megabytes, note, page, seconds, section, tiles

Points = Sequence[tuple[float, float]]  # seconds, value


@dataclass(frozen=True, slots=True)
class Trend:
    """A line through the points, and the ratio of the medians of the last and the first quarter."""

    per_hour: float
    start: float
    end: float
    ratio: float


def trend_of(points: Points) -> Trend | None:
    """The trend; None with fewer than four points, or all at one moment."""
    if len(points) < 4 or points[0][0] == points[-1][0]:
        return None
    slope, base = linear_regression(*zip(*points, strict=True))
    quarter = max(len(points) // 4, 1)
    first = median(value for _, value in points[:quarter])
    last = median(value for _, value in points[-quarter:])
    return Trend(
        per_hour=slope * 3600,
        start=base + slope * points[0][0],
        end=base + slope * points[-1][0],
        ratio=last / first if first else 1.0,
    )


LoadReport = dict[str, Any]  # the JSON document: about, summary, steps, trends
Step = dict[str, Any]
_COLUMNS = ("users", "offered/s", "served/s", "p50", "p95", "p99", "first token p95", "errors")


def report_of(
    steps: Sequence[Step], *, about: dict[str, Any], sequences: Sequence[Numbers], is_soak: bool
) -> LoadReport:
    """The report; in a soak the steps are its parts, one after another."""
    problems: Counter[str] = Counter()
    for step in steps:
        problems.update(step["problems"])
    gaps = sum(each.gaps for each in sequences)
    doubles = sum(each.doubles for each in sequences)
    return {
        "about": about,
        "is_soak": is_soak,
        "summary": {
            "users": max((each["users"] for each in steps), default=0),
            "answered": sum(each["answered"] for each in steps),
            "errors": sum(problems.values()),
            "problems": dict(problems.most_common()),
            "resumed": sum(each["resumed"] for each in steps),
            "events": sum(each.last for each in sequences),
            "gaps": gaps,
            "doubles": doubles,
            "saturated": None if is_soak else saturation(steps),
            "is_good": not problems and gaps == 0 and doubles == 0,
        },
        "steps": list(steps),
        "trends": _trends(steps) if is_soak else {},
    }


def _trends(steps: Sequence[Step]) -> dict[str, Any]:
    found = {"memory": trend_of(_over_time(steps, "memory"))}
    for name in ("p50", "p95"):
        found[name] = trend_of(_over_time(steps, "latency", name))
    return {name: None if each is None else asdict(each) for name, each in found.items()}


def _over_time(steps: Sequence[Step], *path: str) -> list[tuple[float, float]]:
    """A figure of each part, at the moment the part ended; parts without it are left out."""
    points: list[tuple[float, float]] = []
    passed = 0.0
    for step in steps:
        passed += step["seconds"]
        value: Any = step
        for name in path:
            value = value[name]
        if value is not None:
            points.append((passed, float(value)))
    return points


# -- Markdown -----------------------------------------------------------------------------------


def as_markdown(report: LoadReport) -> str:
    """Figures as a table, then what went wrong and where it is going."""
    total = report["summary"]
    lines = [
        "# Harbor load",
        "",
        f"{total['answered']:,} answers, {total['errors']:,} errors, {total['events']:,} events; "
        f"{total['gaps']} missing, {total['doubles']} doubled.",
        "",
    ]
    shown = _shown_steps(report)
    lines += [f"| {' | '.join(_COLUMNS)} |", f"|{'---|' * len(_COLUMNS)}"]
    lines += [f"| {' | '.join(_cells(step))} |" for step in shown]
    lines += ["", *(f"- {line}" for line in _findings(report))]
    return "\n".join(lines) + "\n"


def _shown_steps(report: LoadReport) -> list[Step]:
    """All steps; of a soak every tenth part or so."""
    steps: list[Step] = report["steps"]
    return steps[:: max(len(steps) // 10, 1)] if report["is_soak"] else steps


def _cells(step: Step) -> list[str]:
    latency = step["latency"]
    offered = step["offered_per_second"]
    return [
        f"{step['users']:,}",
        "–" if offered is None else f"{offered:.1f}",
        f"{step['served_per_second']:.1f}",
        *(seconds(latency[name]) for name in ("p50", "p95", "p99")),
        seconds(step["first_token"]["p95"]),
        str(step["errors"]),
    ]


def _findings(report: LoadReport) -> list[str]:
    total = report["summary"]
    found = [f"{count} times: {name}" for name, count in total["problems"].items()]
    if total["resumed"]:
        found.append(f"{total['resumed']} answers came although their connection was lost")
    if (at := total["saturated"]) is not None:
        found.append(f"saturated at {at['users']:,} users: {at['why']}")
    elif not report["is_soak"]:
        found.append(f"not saturated with {total['users']:,} users")
    found += [_direction(name, each) for name, each in report["trends"].items() if each is not None]
    return found


def _direction(name: str, trend: dict[str, Any]) -> str:
    per_hour = trend["per_hour"]
    shown = f"{per_hour / 1e6:+.1f} MB" if name == "memory" else f"{per_hour * 1000:+.1f} ms"
    return f"{name}: {shown} an hour; last quarter {trend['ratio']:.2f} times the first"


# -- HTML ---------------------------------------------------------------------------------------


def as_html(report: LoadReport) -> str:
    """The page."""
    title = "Harbor soak" if report["is_soak"] else "Harbor load"
    found = "".join(f"<li>{escape(line)}</li>" for line in _findings(report))
    parts = (
        _figures(report),
        _over_soak(report) if report["is_soak"] else _over_load(report),
        section("What was found", f'<ul class="reasons">{found}</ul>'),
        section("In figures", _table(_shown_steps(report))),
    )
    return page(title, report["about"], parts)


def _figures(report: LoadReport) -> str:
    total, steps = report["summary"], report["steps"]
    most = max((step["served_per_second"] for step in steps), default=0.0)
    memory = max((step["memory"] or 0 for step in steps), default=0) or None
    last = steps[-1]["latency"] if steps else {"p50": None, "p95": None}
    return tiles(
        (
            ("users", f"{total['users']:,}", ""),
            ("answered", f"{total['answered']:,}", "ok" if total["answered"] else ""),
            ("errors", f"{total['errors']:,}", "bad" if total["errors"] else ""),
            ("served at most", f"{most:.1f}/s", ""),
            ("answer, median", seconds(last["p50"]), ""),
            ("answer, p95", seconds(last["p95"]), ""),
            ("events missing", str(total["gaps"]), "bad" if total["gaps"] else ""),
            ("events doubled", str(total["doubles"]), "bad" if total["doubles"] else ""),
            ("resumed", str(total["resumed"]), ""),
            ("server memory", megabytes(memory), ""),
        )
    )


def _over_load(report: LoadReport) -> str:
    steps = report["steps"]
    rates = {
        name: [(float(step["users"]), float(step[f"{name}_per_second"] or 0)) for step in steps]
        for name in ("offered", "served")
    }
    times = {
        name: [(float(step["users"]), float(step["latency"][name] or 0)) for step in steps]
        for name in ("p50", "p95", "p99")
    }
    return (
        '<div class="pair">'
        + section("Questions a second", html_parts.lines(rates, _rate, _users))
        + section("Time to the answer", html_parts.lines(times, seconds, _users))
        + "</div>"
    )


def _over_soak(report: LoadReport) -> str:
    steps, trends = report["steps"], report["trends"]
    times = {name: _over_time(steps, "latency", name) for name in ("p50", "p95")}
    memory = {"memory": _over_time(steps, "memory")}
    served = {"served": _over_time(steps, "served_per_second")}
    return (
        '<div class="pair">'
        + section("Time to the answer", _with_trend(times, trends["p95"], seconds))
        + section("The server's memory", _with_trend(memory, trends["memory"], megabytes))
        + section("Questions a second", html_parts.lines(served, _rate, seconds))
        + section(
            "Errors", html_parts.lines({"errors": _over_time(steps, "errors")}, _rate, seconds)
        )
        + "</div>"
    )


def _with_trend(
    named: dict[str, list[tuple[float, float]]],
    trend: dict[str, Any] | None,
    shown: html_parts.Shown,
) -> str:
    """Lines over time, with the straight line through the last of them."""
    points = list(named.values())[-1]
    if trend is None or not points:
        return html_parts.lines(named, shown, seconds)
    line = Trend(**trend)
    straight = [(points[0][0], max(line.start, 0.0)), (points[-1][0], max(line.end, 0.0))]
    told = f"The last quarter is {line.ratio:.2f} times the first."
    return html_parts.lines({**named, "trend": straight}, shown, seconds) + note(told)


def _table(steps: Sequence[Step]) -> str:
    head = "".join(f'<th class="number">{name}</th>' for name in _COLUMNS)
    rows = "".join(
        "<tr>" + "".join(f'<td class="number">{cell}</td>' for cell in _cells(step)) + "</tr>"
        for step in steps
    )
    return f"<table><tr>{head}</tr>{rows}</table>"


def _rate(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def _users(value: float) -> str:
    return f"{value:,.0f} users"
