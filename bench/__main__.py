"""`python -m bench [PART …]`: measure, print the table, write the page, keep the details."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Iterable
from datetime import UTC, datetime

from bench import history, page
from bench.processes import MEASURED, OTHERS
from bench.report import RESULTS, BenchOptions, Report, say

PARTS = {
    "a": ("throughput", "provider"),
    "b": ("streams",),
    "c": ("memory",),
    "d": ("growth",),
    "e": ("cold_start", "restart"),
    "f": ("cancel",),
    "g": ("rows",),
    "h": ("crowd",),
    "i": ("sandbox",),
    "j": ("workers",),
    "k": ("mcp",),
    "l": ("web",),
    "m": ("terminal",),
    "n": ("harbor",),
    "o": ("attacks",),
}


def main() -> int:
    """Run the parts; 1 if one breaks off, a target is missed or a row is slower, if asked for."""
    given = _arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is then ended too
    os.sched_setaffinity(0, {OTHERS})
    if MEASURED == OTHERS:
        say("warning: one core only; the load generator competes with what it measures")
    rounds = given.rounds or (2 if given.quick else 3)
    report = Report(
        BenchOptions(is_quick=given.quick, rounds=rounds, tries=1 if given.quick else 2)
    )
    is_whole = run_parts(report, _modules(given.parts or PARTS))
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
        _keep(report, is_whole=is_whole)
    return int(not is_whole or bool(slower) or (given.check and bool(report.missed)))


def _modules(parts: Iterable[str]) -> list[str]:
    """The modules of the parts, each once."""
    return [module for part in dict.fromkeys(parts) for module in PARTS[part]]


def run_parts(report: Report, modules: Iterable[str]) -> bool:
    """Run the parts; whether all of them came to their end.

    One that breaks, however it does, stops no other: what they find is still worth printing.
    """
    broken = [module for module in modules if not _run_part(module, report)]
    return not broken


def _run_part(module: str, report: Report) -> bool:
    try:
        importlib.import_module(f"bench.{module}").run(report)
    except Exception:
        say(f"error: {module} broke off:\n{traceback.format_exc()}")
        return False
    return True


def _slower(
    report: Report, before: dict[history.Key, list[history.StoredValue]]
) -> list[history.Slower]:
    """What is slower than it was; its parts are measured once more, for a machine has bad days."""
    if not any((row.part, row.name) in before for row in report.rows):
        say("warning: none of these rows was ever kept (--keep), so none is compared")
    found = history.slower(report.rows, before)
    if found:
        again = Report(report.options)
        run_parts(again, _modules(sorted({one.row.part for one in found})))
        second = {(row.part, row.name): row for row in again.rows}
        report.rows = [
            history.better(row, second.get((row.part, row.name), row)) for row in report.rows
        ]
        report.samples += again.samples
    return history.slower(report.rows, before)


def _keep(report: Report, *, is_whole: bool) -> None:
    if not is_whole:
        say("warning: a part broke off, so the run is not kept")
        return
    history.append_run(report)
    say(f"kept: {os.path.relpath(history.FILE)}")


def _write_page(report: Report, before: dict[history.Key, list[history.StoredValue]]) -> None:
    titles: dict[str, str] = {}
    for part in dict.fromkeys(row.part for row in report.rows):
        text = importlib.import_module(f"bench.{PARTS[part][0]}").__doc__ or ""
        titles[part] = text.splitlines()[0].partition(") ")[2]
    path = RESULTS / "report.html"
    at = datetime.now(UTC).isoformat(sep=" ", timespec="minutes")
    path.write_text(page.as_html(report, titles, before, at), encoding="utf-8")
    say(f"page: {os.path.relpath(path)}")


def _arguments() -> argparse.Namespace:
    first, last = min(PARTS), max(PARTS)
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{first} to {last}; all if none")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and cells")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--rounds", type=int, help="how often each comparison is made")
    parser.add_argument("--keep", action="store_true", help="add the run to history.jsonl")
    parser.add_argument(
        "--compare",
        action="store_true",
        help="exit with 1 if a row is 15 %% worse than its last kept value, twice",
    )
    given = parser.parse_args()
    if given.rounds is not None and given.rounds < 1:
        parser.error("--rounds has to be 1 or more")
    unknown = set(given.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; use {first} to {last}")
    return given


if __name__ == "__main__":
    sys.exit(main())
