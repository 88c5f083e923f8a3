"""`python -m bench [PART …]`: measures, prints the table, writes the page and the raw samples."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import signal
import sys
import traceback
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import bench
from bench import history, page
from bench.processes import MEASURED, OTHERS
from bench.report import RESULTS, BenchOptions, Report, say

_MODULE = re.compile(r"^    (([a-z])_[a-z]+) ", re.MULTILINE)
PARTS = {letter: name for name, letter in _MODULE.findall(bench.__doc__ or "")}
"""The module of each part, as the package's docstring lists them."""


def main() -> int:
    """Run the parts; 1 if one fails, and with the options if a target is missed or a row slower."""
    given = _arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is then ended too
    os.sched_setaffinity(0, {OTHERS})
    if MEASURED == OTHERS:
        say("warning: one core only; the load generator competes with what it measures")
    rounds = given.rounds or (2 if given.quick else 3)
    options = BenchOptions(is_quick=given.quick, rounds=rounds, tries=1 if given.quick else 2)
    report = Report(options)
    is_complete = run_parts(report, dict.fromkeys(given.parts or PARTS))
    before = history.load_values(is_quick=given.quick)
    slower = _slower(report, before) if given.compare else []
    report.print_table()
    say(f"details: {os.path.relpath(report.write())}")
    _write_page(report, before)
    for row in report.missed:
        say(f"missed: {row.name}")
    for one in slower:
        say(f"slower: {one}")
    if given.keep:
        _append_to_history(report, is_complete=is_complete)
    return int(not is_complete or bool(slower) or (given.check and bool(report.missed)))


def run_parts(report: Report, parts: Iterable[str]) -> bool:
    """Run the parts; whether all of them finished.

    A part that fails stops no other: their figures are still worth printing.
    """
    failed = [part for part in parts if not _run_part(part, report)]
    return not failed


def _run_part(part: str, report: Report) -> bool:
    try:
        _module(part).run(report)
    except Exception:
        say(f"error: part {part} failed:\n{traceback.format_exc()}")
        return False
    return True


def _module(part: str) -> Any:  # Any: a module with `run`
    return importlib.import_module(f"bench.{PARTS[part]}")


def _slower(
    report: Report, before: dict[history.Key, list[history.StoredValue]]
) -> list[history.Slower]:
    """Rows that are slower than before, when their parts are measured a second time too."""
    if not any((row.part, row.name) in before for row in report.rows):
        say("warning: none of these rows is in history.jsonl (--keep), so none is compared")
    found = history.slower(report.rows, before)
    if found:
        again = Report(report.options)
        run_parts(again, sorted({one.row.part for one in found}))
        second = {(row.part, row.name): row for row in again.rows}
        report.rows = [
            history.better(row, second.get((row.part, row.name), row)) for row in report.rows
        ]
        report.samples += again.samples
    return history.slower(report.rows, before)


def _append_to_history(report: Report, *, is_complete: bool) -> None:
    if not is_complete:
        say("warning: a part failed, so the run is not added to history.jsonl")
        return
    history.append_run(report)
    say(f"added to {os.path.relpath(history.FILE)}")


def _write_page(report: Report, before: dict[history.Key, list[history.StoredValue]]) -> None:
    titles: dict[str, str] = {}
    for part in dict.fromkeys(row.part for row in report.rows):
        text = _module(part).__doc__ or ""
        titles[part] = text.splitlines()[0].partition(") ")[2]
    path = RESULTS / "report.html"
    at = datetime.now(UTC).isoformat(sep=" ", timespec="minutes")
    path.write_text(page.as_html(report, titles, before, at), encoding="utf-8")
    say(f"page: {os.path.relpath(path)}")


def _arguments() -> argparse.Namespace:
    first, last = min(PARTS), max(PARTS)
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=bench.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{first} to {last}; all if none")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and cells")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--rounds", type=int, help="how often each comparison is made")
    parser.add_argument("--keep", action="store_true", help="add the run to history.jsonl")
    parser.add_argument(
        "--compare",
        action="store_true",
        help="exit with 1 if a row is 15 %% worse than its last value in history.jsonl, twice",
    )
    given = parser.parse_args()
    if given.rounds is not None and given.rounds < 1:
        parser.error("--rounds must be 1 or more")
    unknown = set(given.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; use {first} to {last}")
    return given


if __name__ == "__main__":
    sys.exit(main())
