"""Compares a report with an earlier one: what passed then and does not now, and what is slower.

Latency is compared as a ratio, so that a slower machine does not have to mean a regression: the
caller says how much is too much. Pure functions.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from dataagent_harbor.questions import BadQuestionSet
from dataagent_harbor.report import Report

_COMPARED = ("p50", "p95")


def load_report(path: Path) -> Report:
    """An earlier report.

    Raises:
        BadQuestionSet: the file is no report.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadQuestionSet(f"{path}: cannot be read as a report: {error}") from error
    if not isinstance(found, dict) or not {"summary", "results"} <= set(cast("Report", found)):
        raise BadQuestionSet(f"{path}: is no report; write one with --output")
    return cast("Report", found)


def regressions(report: Report, baseline: Report, *, slower_by: float | None = None) -> list[str]:
    """What got worse, a line each. Questions that only one of them has are not compared."""
    now, then = _passes(report), _passes(baseline)
    worse = [
        f"{key}: passed {then[key][0]} of {then[key][1]} times, now {passed} of {asked}"
        for key, (passed, asked) in now.items()
        if key in then and passed / asked < then[key][0] / then[key][1]
    ]
    if slower_by is not None:
        worse.extend(_slower(report["summary"], baseline["summary"], slower_by))
    return worse


def _passes(report: Report) -> dict[str, tuple[int, int]]:
    """How often each question passed, of how many times it was asked."""
    found: dict[str, tuple[int, int]] = {}
    for row in report["results"]:
        passed, asked = found.get(row["id"], (0, 0))
        found[row["id"]] = (passed + (row["status"] == "passed"), asked + 1)
    return found


def _slower(now: dict[str, Any], then: dict[str, Any], slower_by: float) -> list[str]:
    found: list[str] = []
    for name in _COMPARED:
        before, after = then["latency"][name], now["latency"][name]
        if before and after and after / before > slower_by:
            found.append(
                f"latency {name}: {after:.2f} s, {after / before:.2f} times the baseline's "
                f"{before:.2f} s (at most {slower_by:g} times)"
            )
    return found
