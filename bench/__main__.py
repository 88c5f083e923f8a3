"""`python -m bench [a … j] [--quick] [--check]`: measure, print the table, keep the details."""

from __future__ import annotations

import argparse
import importlib
import os
import sys

from bench.processes import MEASURED, OTHERS
from bench.report import Options, Report, say

_PARTS = {
    "a": ("throughput", "provider"),
    "b": ("streams",),
    "c": ("memory",),
    "d": ("growth",),
    "e": ("cold_start",),
    "f": ("cancel",),
    "g": ("rows",),
    "h": ("crowd",),
    "i": ("sandbox",),
    "j": ("workers",),
}


def main() -> int:
    """Run the parts; 1 if one breaks off or, with `--check`, if a target is missed."""
    given = _arguments()
    os.sched_setaffinity(0, {OTHERS})
    if MEASURED == OTHERS:
        say("warning: one core only; the load generator competes with what it measures")
    rounds = given.rounds or (2 if given.quick else 3)
    report = Report(Options(is_quick=given.quick, rounds=rounds, tries=1 if given.quick else 2))
    modules = [module for part in given.parts or _PARTS for module in _PARTS[part]]
    failed = [module for module in modules if not _ran(module, report)]
    report.print_table()
    say(f"details: {os.path.relpath(report.write())}")
    for row in report.missed:
        say(f"missed: {row.name}")
    return 1 if failed or (given.check and report.missed) else 0


def _ran(module: str, report: Report) -> bool:
    """Run one part. If it breaks, what the others found is still worth printing."""
    try:
        importlib.import_module(f"bench.{module}").run(report)
    except RuntimeError as error:
        say(f"error: {module} broke off: {error}")
        return False
    return True


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="a to j; all if none")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and cells")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--rounds", type=int, help="how often each comparison is made")
    given = parser.parse_args()
    unknown = set(given.parts) - set(_PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; use a to j")
    return given


if __name__ == "__main__":
    sys.exit(main())
