"""The report as Markdown, for a pull request or a wiki. A pure function."""

from __future__ import annotations

from typing import Any

from dataagent_harbor.report.document import Report
from dataagent_harbor.report.html_parts import money, seconds

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
        _spent(total),
        "",
        "| category | asked | passed | rate | p50 | p95 |",
        "|---|---|---|---|---|---|",
        *(_category(name, found) for name, found in total["by_category"].items()),
    ]
    if report["affected"]:
        lines += ["", "## The server was away", ""]
        lines += [
            f"- **{_name(row)}** ({row['status']}): {row['how']}" for row in report["affected"]
        ]
    if report["failures"]:
        lines += ["", "## Not passed", ""]
        lines += [_failure(row) for row in report["failures"]]
    return "\n".join(lines) + "\n"


def _latency(name: str, found: dict[str, Any]) -> str:
    return f"| {name} | {' | '.join(seconds(found[each]) for each in _COLUMNS)} |"


def _spent(total: dict[str, Any]) -> str:
    tokens = total["tokens"]
    told = f"{tokens['input_tokens']:,} tokens in, {tokens['output_tokens']:,} out"
    return told + (f"; cost {money(total['cost'])}." if total["cost"] else ".")


def _category(name: str, found: dict[str, Any]) -> str:
    rate = f"{found['success_rate']:.0%}"
    times = f"{seconds(found['p50'])} | {seconds(found['p95'])}"
    return f"| {_cell(name)} | {found['total']} | {found['passed']} | {rate} | {times} |"


def _failure(row: dict[str, Any]) -> str:
    reasons = "; ".join(row["reasons"]) or row["status"]
    return f"- **{_name(row)}** ({row['status']}): {_cell(row['question'])} — {_cell(reasons)}"


def _name(row: dict[str, Any]) -> str:
    return _cell(row["id"] if row["round"] == 1 else f"{row['id']} (round {row['round']})")


def _cell(text: str) -> str:
    """Text that stays in its place, whatever it holds."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
