"""The report as one HTML file that needs nothing else: figures, charts, failures, every answer.

Pure functions. Whatever a model or a question says is escaped; the page has no script.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from dataagent_harbor.report import html_parts
from dataagent_harbor.report.document import Report, Step
from dataagent_harbor.report.html_parts import money, note, page, seconds, section, tiles
from dataagent_harbor.scoring import STATUSES

_FILTER = (
    '<fieldset class="filter"><label><input type="radio" name="shown" value="all" checked>all'
    '</label><label><input type="radio" name="shown" value="failed">not passed</label><label>'
    '<input type="radio" name="shown" value="passed">passed</label></fieldset>'
)


def as_html(report: Report) -> str:
    """The page."""
    total = report["summary"]
    parts = (
        _figures(total),
        _latency(report),
        _categories(total["by_category"]),
        _affected(report["affected"]),
        _failures(report["failures"]),
        _questions(report["results"]),
    )
    badge = html_parts.ring(total["success_rate"], f"{total['passed']} of {total['total']} passed")
    return page("Harbor report", report["about"], filter(None, parts), badge=badge)


def _figures(total: dict[str, Any]) -> str:
    latency, first, tokens = total["latency"], total["first_token"], total["tokens"]
    cost = total["cost"]
    return tiles(
        (
            ("passed", f"{total['passed']} of {total['total']}", "ok" if total["passed"] else ""),
            ("failed", str(total["failed"]), "bad" if total["failed"] else ""),
            ("errors", str(total["error"]), "bad" if total["error"] else ""),
            ("timed out", str(total["timeout"]), "bad" if total["timeout"] else ""),
            ("answer, median", seconds(latency["p50"]), ""),
            ("answer, p95", seconds(latency["p95"]), ""),
            ("first token, median", seconds(first["p50"]), ""),
            ("tokens in", f"{tokens['input_tokens']:,}", ""),
            ("tokens out", f"{tokens['output_tokens']:,}", ""),
            ("cost", "–" if cost is None else money(cost), ""),
        )
    )


def _latency(report: Report) -> str:
    total, rows = report["summary"], report["results"]
    answered = [row for row in rows if row["status"] in ("passed", "failed")]
    times = [row["response_time"] for row in answered]
    firsts = [time for row in rows if (time := row["first_token_time"]) is not None]
    start = min((row["asked_at"] for row in rows), default=0.0)
    points = [
        (row["asked_at"] - start, row["response_time"], row["status"], _name(row)) for row in rows
    ]
    return (
        '<div class="pair">'
        + section("Time to the answer", _histogram(times, total["latency"]))
        + section("Time to the first token", _histogram(firsts, total["first_token"]))
        + section("Over the run", html_parts.dots(points, seconds), note("Each dot is an answer."))
        + "</div>"
        + section("Percentiles", _percentiles(total), note(_omission(total["latency_corrected"])))
    )


def _histogram(values: Sequence[float], found: dict[str, Any]) -> str:
    return html_parts.histogram(values, {name: found[name] for name in ("p50", "p95")}, seconds)


def _percentiles(total: dict[str, Any]) -> str:
    names = ("mean", "p50", "p90", "p95", "p99", "max")
    rows = (
        ("answer", total["latency"]),
        ("corrected", total["latency_corrected"]),
        ("first token", total["first_token"]),
    )
    head = "".join(f'<th class="number">{name}</th>' for name in names)
    body = "".join(
        f"<tr><td>{title}</td>"
        + "".join(f'<td class="number">{seconds(found[name])}</td>' for name in names)
        + "</tr>"
        for title, found in rows
    )
    return f"<table><tr><th></th>{head}</tr>{body}</table>"


def _omission(found: dict[str, Any]) -> str:
    """What the correction did."""
    if found["by"] == "due":
        return "Latency counts from the moment a question was due, so waiting to be asked is in it."
    return (
        f"Corrected: as if each asker had asked every {seconds(found['interval'])} (the median), "
        f"whether or not an answer was there; {found['added']} questions are added for that."
    )


def _categories(found: dict[str, dict[str, Any]]) -> str:
    rows = "".join(
        f"<tr><td>{escape(name)}</td>"
        f'<td class="number">{each["passed"]} of {each["total"]}</td>'
        f'<td style="width:45%">{html_parts.shares({one: each[one] for one in STATUSES})}</td>'
        f'<td class="number">{seconds(each["p50"])}</td>'
        f'<td class="number">{seconds(each["p95"])}</td></tr>'
        for name, each in found.items()
    )
    head = (
        '<tr><th>category</th><th class="number">passed</th><th></th>'
        '<th class="number">p50</th><th class="number">p95</th></tr>'
    )
    return section("By category", f"<table>{head}{rows}</table>")


def _affected(rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return ""
    body = "".join(
        f'<tr><td class="id">{escape(_name(row))}</td><td>{_pill(row["status"])}</td>'
        f'<td class="number">{row["connection_losses"]}</td><td>{escape(row["how"])}</td></tr>'
        for row in rows
    )
    head = (
        '<tr><th>id</th><th>status</th><th class="number">attempts</th><th>what happened</th></tr>'
    )
    told = f"{len(rows)} questions were being answered while the server was away."
    return section("The server was away", f"<table>{head}{body}</table>", note(told))


def _failures(rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return ""
    return section("Not passed", *(_failure(row) for row in rows))


def _failure(row: dict[str, Any]) -> str:
    reasons = "".join(f"<li>{escape(each)}</li>" for each in row["reasons"])
    steps = "".join(_step(each) for each in row["steps"])
    told = f"<details><summary>transcript</summary><ol class=steps>{steps}</ol></details>"
    return (
        f"<article><h3>{_pill(row['status'])} {escape(row['question'])}</h3>"
        f'<ul class="reasons">{reasons}</ul>'
        f'<p class="note">{escape(_name(row))} · {escape(row["category"])} · {row["difficulty"]} · '
        f"{seconds(row['response_time'])}</p>{told if steps else ''}</article>"
    )


def _step(step: Step) -> str:
    text = f"<pre>{escape(step['text'])}</pre>" if step["text"] else ""
    return f'<li class="{escape(step["kind"])}"><b>{escape(step["title"])}</b>{text}</li>'


def _questions(rows: Sequence[dict[str, Any]]) -> str:
    head = (
        "<tr><th>id</th><th>question and answer</th><th>category</th><th>status</th>"
        '<th class="number">first token</th><th class="number">answer</th></tr>'
    )
    body = "".join(_question(row) for row in rows)
    return section("Every question", _FILTER, f"<table>{head}{body}</table>")


def _question(row: dict[str, Any]) -> str:
    cut = "\n… (the rest is in the results file)" if row["is_answer_cut"] else ""
    answer = escape(row["answer"] + cut)
    asked = escape(row["question"])
    shown = (
        f'<details><summary class="plain">{asked}</summary><pre>{answer}</pre></details>'
        if answer
        else asked
    )
    return (
        f'<tr class="row {row["status"]}"><td class="id">{escape(_name(row))}</td>'
        f'<td class="wide">{shown}</td><td>{escape(row["category"])}</td>'
        f"<td>{_pill(row['status'])}</td>"
        f'<td class="number">{seconds(row["first_token_time"])}</td>'
        f'<td class="number">{seconds(row["response_time"])}</td></tr>'
    )


def _pill(status: str) -> str:
    return f'<span class="pill {status}">{status}</span>'


def _name(row: dict[str, Any]) -> str:
    name: str = row["id"]
    return name if row["round"] == 1 else f"{name} (round {row['round']})"
