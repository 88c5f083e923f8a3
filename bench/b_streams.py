"""(b) How many sessions, each streaming a chunk every 20 ms, one process carries.

It carries them as long as 95 of 100 chunks arrive less than 100 ms after they were due. The number
is searched by halving, for our WebSocket and for the tuned bare `astream` in turns.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from statistics import median
from typing import Any

from bench.meter import least_disturbed
from bench.processes import MEASURED, OTHERS, Json, Worker, dataagent_server
from bench.report import Report, Row, at_least, say

_LIMIT = 0.1
_FEWEST, _MOST = 10, 330
_PACE = 0.02
_CHUNKS = 50
_TURN: dict[str, Any] = {
    "message": f"!slow {_CHUNKS} {_PACE * 1000:.0f}",
    "pace": _PACE,
    "length": _CHUNKS * _PACE,
    "settle": 2.0,
}


@dataclass(slots=True)
class Search:
    """Halves the interval between a number that is carried and one that is not."""

    low: int = _FEWEST
    high: int = _MOST
    low_p95: float = 0.0
    high_p95: float = _LIMIT * 10

    def next(self, tolerance: int) -> int | None:
        """The number to try, None when the answer is known closely enough."""
        return None if self.high - self.low <= tolerance else (self.low + self.high) // 2

    def record(self, sessions: int, p95: float) -> None:
        """Narrow the interval by the result for a number."""
        if p95 < _LIMIT:
            self.low, self.low_p95 = sessions, p95
        else:
            self.high, self.high_p95 = sessions, p95

    @property
    def is_found(self) -> bool:
        """Whether the answer lies between two numbers that were tried, not at the edge."""
        return self.low > _FEWEST and self.high < _MOST

    @property
    def answer(self) -> float:
        """Where the line between both ends crosses the limit."""
        share = (_LIMIT - self.low_p95) / max(self.high_p95 - self.low_p95, 1e-9)
        return self.low + (self.high - self.low) * min(1.0, max(0.0, share))


def run(report: Report) -> None:
    """Search for both sides, a few times, and report the ratio."""
    options = report.options
    with ExitStack() as stack:
        load = stack.enter_context(Worker("bench.load", core=OTHERS))
        server = stack.enter_context(dataagent_server())
        bare = stack.enter_context(Worker("bench.bare", "tuned", core=MEASURED))
        probes: dict[str, Callable[..., Json]] = {
            "bare": partial(bare.ask, do="paced"),
            "ws": partial(load.ask, do="paced", url=server.url, pid=server.pid),
        }
        found: dict[str, list[float]] = {name: [] for name in probes}
        for number in range(1 if options.is_quick else options.rounds):
            say(f"(b) round {number + 1}")
            for name, search in _search(report, number, probes).items():
                found[name].append(search.answer)
                if not search.is_found:
                    say(f"  warning: {name}: the answer lies outside of {_FEWEST} to {_MOST}")
    ratios = [ours / theirs for ours, theirs in zip(found["ws"], found["bare"], strict=True)]
    report.add(
        Row(
            "b",
            "streams carried: WebSocket / tuned bare",
            median(ratios),
            target=at_least(0.8),
            note=f"here {median(found['ws']):.0f} and {median(found['bare']):.0f}",
        )
    )


def _search(
    report: Report, number: int, probes: dict[str, Callable[..., Json]]
) -> dict[str, Search]:
    """One search for each side, step by step in turns."""
    tolerance = 20 if report.options.is_quick else 5
    searches = {name: Search() for name in probes}
    while any(search.next(tolerance) is not None for search in searches.values()):
        for name, search in searches.items():
            sessions = search.next(tolerance)
            if sessions is not None:
                answer = _probe(report, probes[name], sessions)
                search.record(sessions, answer["p95"])
                report.keep("b", name, round=number, sessions=sessions, **answer)
                say(
                    f"  {name}: {sessions} sessions, p95 {answer['p95'] * 1000:.0f} ms late, "
                    f"others on the core {answer['foreign']:.0%}"
                )
    return searches


def _probe(report: Report, ask: Callable[..., Json], sessions: int) -> Json:
    seconds = 3.0 if report.options.is_quick else 5.0
    measure = partial(ask, sessions=sessions, seconds=seconds, **_TURN)
    return least_disturbed(measure, report.options.tries, itemgetter("foreign"))
