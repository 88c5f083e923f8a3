"""What a crowd saw, counted for each stretch of time. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dataagent_harbor.load.user import TurnRecord
from dataagent_harbor.statistics import correct_omission, latency


@dataclass(slots=True)
class LoadPhase:
    """A stretch of time: a step of the load, or a part of a soak."""

    users: int
    begin: float
    end: float = 0.0
    started: int = 0
    waits: list[float] = field(default_factory=list[float])
    firsts: list[float] = field(default_factory=list[float])
    problems: Counter[str] = field(default_factory=Counter[str])
    resumed: int = 0  # answers whose connection was lost in between, and that came all the same
    memory: list[int] = field(default_factory=list[int])

    def add(self, turn: TurnRecord) -> None:
        """An answer, or what came instead of it."""
        if turn.problem:
            self.problems[turn.problem] += 1
            return
        self.waits.append(turn.ended - turn.began)
        self.resumed += turn.losses > 0
        if turn.first is not None:
            self.firsts.append(turn.first - turn.began)

    def figures(self, *, think_seconds: float, rest_seconds: float) -> dict[str, Any]:
        """The stretch as JSON. `rest_seconds` is how long an answer takes when nobody else asks."""
        seconds = max(self.end - self.begin, 1e-9)
        cycle = think_seconds + rest_seconds
        offered = self.users / cycle if cycle else None
        served = len(self.waits) / seconds
        return {
            "users": self.users,
            "seconds": seconds,
            "started": self.started,
            "answered": len(self.waits),
            "errors": sum(self.problems.values()),
            "problems": dict(self.problems.most_common()),
            "resumed": self.resumed,
            "offered_per_second": offered,
            "served_per_second": served,
            "served_share": None if not offered else min(served / offered, 1.0),
            "latency": latency(self.waits),
            "latency_corrected": latency(correct_omission(self.waits, cycle)),
            "first_token": latency(self.firsts),
            "memory": max(self.memory, default=None),
        }


def saturation(steps: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The first step at which the server no longer keeps up; None if it always did.

    It does not keep up when less than nine tenths of what is offered is served, or an answer takes
    more than three times as long (p95) as it did in the first step.
    """
    for step in steps:
        is_short = step["served_share"] is not None and step["served_share"] < _ENOUGH
        first, now = steps[0]["latency"]["p95"], step["latency"]["p95"]
        is_slow = bool(first and now and now / first > _TOO_SLOW)
        if is_short or is_slow:
            why = "served less than 90 % of what was offered" if is_short else "p95 over 3 times"
            return {"users": step["users"], "why": why}
    return None


_ENOUGH = 0.9
_TOO_SLOW = 3.0
