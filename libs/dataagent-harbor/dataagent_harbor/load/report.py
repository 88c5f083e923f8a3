"""The report of a load: figures for programs, a page and a table for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import linear_regression, median
from typing import Any

from dataagent_harbor.load.user import SequenceCheck
from dataagent_harbor.load.virtual_users import saturation
from dataagent_harbor.report.charts import Chart, NumberFormat, Points, line_chart
from dataagent_harbor.report.html import render_page
from dataagent_harbor.report.numbers import megabytes, rate, seconds

LoadReport = dict[str, Any]  # the JSON document: about, summary, steps, trends
Step = dict[str, Any]
_COLUMNS = ("users", "offered/s", "served/s", "p50", "p95", "p99", "first token p95", "errors")


def report_of(
    steps: Sequence[Step],
    *,
    about: dict[str, Any],
    sequences: Sequence[SequenceCheck],
    is_soak: bool,
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


@dataclass(frozen=True, slots=True)
class Trend:
    """A line through the points, and the ratio of the medians of the last and the first quarter."""

    per_hour: float
    start: float
    end: float
    ratio: float


def trend_of(points: Points) -> Trend | None:
    """The trend of values over seconds; None with fewer than four, or all at one moment."""
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


def _trends(steps: Sequence[Step]) -> dict[str, Any]:
    trends = {"memory": trend_of(_over_time(steps, "memory"))}
    for name in ("p50", "p95"):
        trends[name] = trend_of(_over_time(steps, "latency", name))
    return {name: None if each is None else asdict(each) for name, each in trends.items()}


def _over_time(steps: Sequence[Step], *path: str) -> list[tuple[float, float]]:
    """A figure of each part, at the moment the part ended; parts without it are left out."""
    points: list[tuple[float, float]] = []
    elapsed = 0.0
    for step in steps:
        elapsed += step["seconds"]
        value: Any = step
        for name in path:
            value = value[name]
        if value is not None:
            points.append((elapsed, float(value)))
    return points


# -- Markdown -----------------------------------------------------------------------------------


def as_markdown(report: LoadReport) -> str:
    """Figures as a table, then what was found."""
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
    lines = [f"{count} times: {name}" for name, count in total["problems"].items()]
    if total["resumed"]:
        lines.append(f"{total['resumed']} answers came although their connection was lost")
    if (at := total["saturated"]) is not None:
        lines.append(f"saturated at {at['users']:,} users: {at['why']}")
    elif not report["is_soak"]:
        lines.append(f"not saturated with {total['users']:,} users")
    lines += [
        _trend_text(name, each) for name, each in report["trends"].items() if each is not None
    ]
    return lines


def _trend_text(name: str, trend: dict[str, Any]) -> str:
    per_hour = trend["per_hour"]
    shown = f"{per_hour / 1e6:+.1f} MB" if name == "memory" else f"{per_hour * 1000:+.1f} ms"
    return f"{name}: {shown} an hour; last quarter {trend['ratio']:.2f} times the first"


# -- HTML ---------------------------------------------------------------------------------------


def as_html(report: LoadReport) -> str:
    """The page."""
    return render_page(
        "load.html",
        title="Harbor soak" if report["is_soak"] else "Harbor load",
        about=report["about"],
        figures=_figures(report),
        charts=_soak_charts(report) if report["is_soak"] else _load_charts(report),
        findings=_findings(report),
        columns=_COLUMNS,
        rows=[_cells(step) for step in _shown_steps(report)],
    )


def _figures(report: LoadReport) -> list[tuple[str, str, str]]:
    """A name, the figure and its CSS class each."""
    total, steps = report["summary"], report["steps"]
    most = max((step["served_per_second"] for step in steps), default=0.0)
    memory = max((step["memory"] or 0 for step in steps), default=0) or None
    last = steps[-1]["latency"] if steps else {"p50": None, "p95": None}
    return [
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
    ]


NamedChart = tuple[str, Chart | None, str]  # title, chart, a note below it


def _load_charts(report: LoadReport) -> list[NamedChart]:
    steps = report["steps"]
    rates = {
        name: [(float(step["users"]), float(step[f"{name}_per_second"] or 0)) for step in steps]
        for name in ("offered", "served")
    }
    times = {
        name: [(float(step["users"]), float(step["latency"][name] or 0)) for step in steps]
        for name in ("p50", "p95", "p99")
    }
    return [
        ("Questions a second", line_chart(rates, rate, _users), ""),
        ("Time to the answer", line_chart(times, seconds, _users), ""),
    ]


def _soak_charts(report: LoadReport) -> list[NamedChart]:
    steps, trends = report["steps"], report["trends"]
    times = {name: _over_time(steps, "latency", name) for name in ("p50", "p95")}
    memory = {"memory": _over_time(steps, "memory")}
    served = {"served": _over_time(steps, "served_per_second")}
    errors = {"errors": _over_time(steps, "errors")}
    return [
        _with_trend("Time to the answer", times, trends["p95"], seconds),
        _with_trend("The server's memory", memory, trends["memory"], megabytes),
        ("Questions a second", line_chart(served, rate, seconds), ""),
        ("Errors", line_chart(errors, rate, seconds), ""),
    ]


def _with_trend(
    title: str,
    series: dict[str, list[tuple[float, float]]],
    trend: dict[str, Any] | None,
    shown: NumberFormat,
) -> NamedChart:
    """Lines over time, with the straight line through the last of them."""
    points = list(series.values())[-1]
    if trend is None or not points:
        return title, line_chart(series, shown, seconds), ""
    line = Trend(**trend)
    straight = [(points[0][0], max(line.start, 0.0)), (points[-1][0], max(line.end, 0.0))]
    note = f"The last quarter is {line.ratio:.2f} times the first."
    return title, line_chart({**series, "trend": straight}, shown, seconds), note


def _users(value: float) -> str:
    return f"{value:,.0f} users"
