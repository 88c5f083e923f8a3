"""(i) Code in the sandbox, against a plain `python3 -c` that is started for it, in turns.

The plain one has no isolation and no limits and imports what it needs each time; ours runs in a
bound session, behind bubblewrap and behind Docker. Also: the memory of an idle session, how long
after its deadline a run is dead, and how long a new conversation waits for its first answer.
"""

from __future__ import annotations

from statistics import median

from bench.processes import MEASURED, Worker
from bench.report import Report, Row, Target, at_least, below, say

_TARGETS: dict[str, dict[str, Target]] = {
    "bwrap": {"print": at_least(0.67), "groupby": at_least(8), "picture": at_least(4)},
    "docker": {"print": at_least(0.25), "groupby": at_least(4), "picture": at_least(3)},
}
_COUNTS = (16, 48)
"""So many sessions are measured together; 50 is a server's limit by default."""
_MOST_KB = 10 * 1024
_TITLES = {"print": "print(1)", "groupby": "groupby of 100,000 rows", "picture": "a plot as PNG"}


def run(report: Report) -> None:
    """Measure behind bubblewrap and behind Docker."""
    for wall, targets in _TARGETS.items():
        with Worker("bench.i_sandbox_side", wall, core=MEASURED) as side:
            say(f"(i) {wall}")
            report.keep("i", f"{wall} start", **side.ask(do="start"))
            for task, target in targets.items():
                _compare(report, side, wall, task, target)
            _weigh(report, side, wall)
            _time(report, side, wall)
    _weigh_all(report)


def _compare(report: Report, side: Worker, wall: str, task: str, target: Target) -> None:
    times = 5 if report.options.is_quick else 15
    ratios: list[float] = []
    ours: list[float] = []
    for number in range(report.options.rounds):
        found = side.ask(do="compare", task=task, times=times)
        report.keep("i", f"{wall} {task}", round=number, **found)
        ratios.append(found["plain_ms"] / found["ours_ms"])
        ours.append(found["ours_ms"])
    name = f"{wall}: {_TITLES[task]}, faster than plain python3"
    note = f"{median(ours):.0f} ms here"
    report.add(Row("i", name, median(ratios), target=target, note=note))


def _weigh(report: Report, side: Worker, wall: str) -> None:
    found = side.ask(do="weigh")
    report.keep("i", f"{wall} weight", **found)
    target = below(130 * 1024) if wall == "docker" else None
    name = f"{wall}: memory that one more idle session takes (PSS)"
    report.add(Row("i", name, found["pss_kb"], unit="KB", target=target))


def _weigh_all(report: Report) -> None:
    """The memory of a session with all its processes and its share of the shared ones."""
    with Worker("bench.i_sandbox_side", "bwrap", core=MEASURED) as side:
        found = side.ask(do="weigh_all", counts=list(_COUNTS))
    report.keep("i", "bwrap weight of all", counts=_COUNTS, **found)
    for count, weight in zip(_COUNTS, found["pss_kb"], strict=True):
        name = f"bwrap: memory of an idle session and its share of the server, {count} sessions"
        target = below(_MOST_KB) if count == max(_COUNTS) else None
        report.add(Row("i", name, weight / count, unit="KB", target=target, note="PSS"))


def _time(report: Report, side: Worker, wall: str) -> None:
    times = 5 if report.options.is_quick else 20
    found = side.ask(do="time", times=times)
    report.keep("i", f"{wall} times", **found)
    late = 250 if wall == "bwrap" else 500
    name = f"{wall}: a run is dead after its deadline, slowest of {times}"
    report.add(Row("i", name, found["late_ms"], unit="ms", target=below(late)))
    name = f"{wall}: first answer of a new session, pool not empty"
    report.add(Row("i", name, found["first_ms"], unit="ms", target=below(250)))
