"""The report as Markdown, for a pull request or a wiki."""

from __future__ import annotations

from typing import Any

from dataagent_harbor.report.document import Report, row_name
from dataagent_harbor.report.numbers import money, seconds

_COLUMNS = ("mean", "p50", "p90", "p95", "p99", "max")


def as_markdown(report: Report) -> str:
    """The report's figures, its categories, and what failed with the reasons."""
    total = report["summary"]
    lines = [
        "# Harbor report",
        "",
        f"{total['passed']} of {total['total']} passed ({total['success_rate']:.1%}); "
        f"{total['failed']} failed, {total['error']} errors, {total['timeout']} timed out.",
        "",
        f"| | {' | '.join(_COLUMNS)} |",
        f"|---{'|---' * len(_COLUMNS)}|",
        _latency("answer", total["latency"]),
        _latency("answer, corrected", total["latency_corrected"]),
        _latency("first token", total["first_token"]),
        "",
        _usage(total),
        "",
        "| category | asked | passed | rate | p50 | p95 |",
        "|---|---|---|---|---|---|",
        *(_category(name, counts) for name, counts in total["by_category"].items()),
    ]
    if report["affected"]:
        lines += ["", "## Server unavailable", ""]
        lines += [
            f"- **{_cell(row_name(row))}** ({row['status']}): {row['how']}"
            for row in report["affected"]
        ]
    if report["failures"]:
        lines += ["", "## Not passed", ""]
        lines += [_failure(row) for row in report["failures"]]
    return "\n".join(lines) + "\n"


def _latency(name: str, latency: dict[str, Any]) -> str:
    return f"| {name} | {' | '.join(seconds(latency[each]) for each in _COLUMNS)} |"


def _usage(total: dict[str, Any]) -> str:
    tokens = total["tokens"]
    cost = f"; cost {money(total['cost'])}" if total["cost"] else ""
    return f"{tokens['input_tokens']:,} tokens in, {tokens['output_tokens']:,} out{cost}."


def _category(name: str, counts: dict[str, Any]) -> str:
    share = f"{counts['success_rate']:.0%}"
    times = f"{seconds(counts['p50'])} | {seconds(counts['p95'])}"
    return f"| {_cell(name)} | {counts['total']} | {counts['passed']} | {share} | {times} |"


def _failure(row: dict[str, Any]) -> str:
    reasons = "; ".join(row["reasons"]) or row["status"]
    name, question = _cell(row_name(row)), _cell(row["question"])
    return f"- **{name}** ({row['status']}): {question} — {_cell(reasons)}"


def _cell(text: str) -> str:
    """The text on one line, without what Markdown would read as markup."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
