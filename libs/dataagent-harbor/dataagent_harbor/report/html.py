"""A report as one HTML page without scripts or other files: figures, charts, failures, answers.

The pages are Jinja templates. What a model or a question says is escaped by them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from dataagent_harbor.report import charts
from dataagent_harbor.report.document import Report, row_name
from dataagent_harbor.report.numbers import megabytes, money, seconds
from dataagent_harbor.scoring import STATUSES


def as_html(report: Report) -> str:
    """The page of a graded run."""
    total, rows = report["summary"], report["results"]
    answered = [row for row in rows if row["status"] in ("passed", "failed")]
    start = min((row["asked_at"] for row in rows), default=0.0)
    points = [
        (row["asked_at"] - start, row["response_time"], row["status"], row_name(row))
        for row in rows
    ]
    firsts = [time for row in rows if (time := row["first_token_time"]) is not None]
    return render_page(
        "report.html",
        title="Harbor report",
        **report,
        statuses=STATUSES,
        answer_times=_distribution([row["response_time"] for row in answered], total["latency"]),
        first_token_times=_distribution(firsts, total["first_token"]),
        over_the_run=charts.scatter(points, seconds),
    )


def _distribution(values: list[float], latency: dict[str, Any]) -> charts.Chart | None:
    return charts.histogram(values, {name: latency[name] for name in ("p50", "p95")}, seconds)


def render_page(template: str, **values: object) -> str:
    """A template of this package as a page."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("dataagent_harbor.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "seconds": seconds,
        "money": money,
        "megabytes": megabytes,
        "row_name": row_name,
    }
    return environment
