"""Starts users one after another, who ask, think and ask again, and counts their answers.

A user thinks between half and one and a half of the mean pause after each answer, so that users do
not ask in step.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from dataagent_harbor.load.user import LoadUser, TurnRecord
from dataagent_harbor.statistics import correct_omission, latency


@dataclass(slots=True)
class LoadPhase:
    """The answers of a period: of a step of the load, or a part of a soak."""

    users: int
    begin: float
    end: float = 0.0
    started: int = 0
    waits: list[float] = field(default_factory=list[float])
    firsts: list[float] = field(default_factory=list[float])
    problems: Counter[str] = field(default_factory=Counter[str])
    resumed: int = 0  # answers that arrived although their connection was lost
    memory: list[int] = field(default_factory=list[int])

    def add(self, turn: TurnRecord) -> None:
        """Count an answer, or its problem."""
        if turn.problem:
            self.problems[turn.problem] += 1
            return
        self.waits.append(turn.ended - turn.began)
        self.resumed += turn.losses > 0
        if turn.first is not None:
            self.firsts.append(turn.first - turn.began)

    def figures(self, *, think_seconds: float, rest_seconds: float) -> dict[str, Any]:
        """The phase as JSON. `rest_seconds` is how long an answer takes without other users."""
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

    It does not keep up when it serves less than nine tenths of what is offered, or an answer takes
    more than three times as long (p95) as in the first step.
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


MakeUser = Callable[[], LoadUser]
ReadMemory = Callable[[], Awaitable[int | None]]
OnPhase = Callable[[LoadPhase], None]
_AT_REST = 3  # questions asked before any user starts
_SAMPLES = 10  # of the server's memory in a phase


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked, how often, and how long an answer may take."""

    questions: Sequence[str]
    think_seconds: float
    ramp_seconds: float
    timeout_seconds: float


class VirtualUsers:
    """All users. Use it as an async context manager: at the end they disconnect."""

    def __init__(self, load: Load, make_user: MakeUser, read_memory: ReadMemory) -> None:
        self._load = load
        self._make_user = make_user
        self._read_memory = read_memory
        self._members: dict[asyncio.Task[None], LoadUser] = {}
        self._now: LoadPhase | None = None
        self._chance = random.Random(0)  # noqa: S311 pauses, not a secret

    @property
    def users(self) -> list[LoadUser]:
        """The users so far."""
        return list(self._members.values())

    async def __aenter__(self) -> VirtualUsers:
        return self

    async def __aexit__(self, *_: object) -> None:
        for member in self._members:
            member.cancel()
        await asyncio.gather(*self._members, return_exceptions=True)
        await asyncio.gather(*(user.leave() for user in self.users))

    async def at_rest(self) -> float:
        """How long an answer takes without other users: the median of a few."""
        user = self._make_user()
        try:
            turns = [await self._turn(user) for _ in range(_AT_REST)]
        finally:
            await user.leave()
        return median(turn.ended - turn.began for turn in turns)

    async def grow(self, count: int) -> None:
        """Start users up to this count, evenly over the ramp."""
        missing = count - len(self._members)
        for number in range(missing):
            user = self._make_user()
            self._members[asyncio.create_task(self._run_user(user))] = user
            if number < missing - 1:
                await asyncio.sleep(self._load.ramp_seconds / missing)

    async def watch(self, seconds: float) -> LoadPhase:
        """Count answers for this long."""
        phase = LoadPhase(users=len(self._members), begin=time.monotonic())
        self._now = phase
        until = phase.begin + seconds
        while (left := until - time.monotonic()) > 0:
            memory = await self._read_memory()
            if memory is not None:
                phase.memory.append(memory)
            await asyncio.sleep(min(seconds / _SAMPLES, left))
        self._now = None
        phase.end = time.monotonic()
        self._fail_if_broken()
        return phase

    def _fail_if_broken(self) -> None:
        """Raise the error of a user who ended: only a bug of ours ends one, so figures are void."""
        for member in self._members:
            if member.done():
                member.result()

    async def _run_user(self, user: LoadUser) -> None:
        """Ask and think until cancelled."""
        await user.enter()
        await asyncio.sleep(self._chance.uniform(0, self._load.think_seconds))
        while True:
            if (phase := self._now) is not None:
                phase.started += 1
            turn = await self._turn(user)
            if self._now is not None:
                self._now.add(turn)
            await asyncio.sleep(self._load.think_seconds * self._chance.uniform(0.5, 1.5))

    async def _turn(self, user: LoadUser) -> TurnRecord:
        question = self._chance.choice(self._load.questions)
        return await user.ask(question, self._load.timeout_seconds)
