"""Measures a stretch of work of one process: how long, how much CPU, and who else was on its core.

A shared machine disturbs a measurement most through the core itself. The share of the time that the
core worked for somebody else is `foreign`. It is taken out of the time that counts, and the one who
asked may measure again (`least_disturbed`): at rest there is nothing to take out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, TypeVar

import psutil

CALM = 0.08
"""Share of a core that others may use before a measurement counts as disturbed."""

S = TypeVar("S", bound="Sample")


@dataclass(frozen=True, slots=True)
class Sample:
    """One stretch of work."""

    wall: float
    cpu: float
    foreign: float
    turns: int
    generator_cpu: float = 0.0

    @property
    def turns_per_second(self) -> float:
        """How much got done in the time the core was there for it."""
        return self.turns / (self.wall * (1 - min(self.foreign, 0.95)))

    @property
    def cpu_per_turn(self) -> float:
        """CPU seconds of the measured process for one turn."""
        return self.cpu / self.turns

    @property
    def generator_share(self) -> float:
        """How busy the load generator was; near 1 it would be what is measured."""
        return self.generator_cpu / self.wall


class Meter:
    """Watches a process between `start` and `stop`."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self._own = psutil.Process()
        self._is_own = pid == self._own.pid
        self._core = self._process.cpu_affinity()[0]
        self._before = (0.0, 0.0, 0.0, 0.0)

    def start(self) -> None:
        """Begin."""
        self._before = self._read()

    def stop(self, turns: int) -> Sample:
        """What happened since `start`, in which so many turns were done."""
        then, now = self._before, self._read()
        wall, cpu, core, own = (after - before for before, after in zip(then, now, strict=True))
        return Sample(
            wall=wall,
            cpu=cpu,
            foreign=max(0.0, core - cpu) / wall,
            turns=turns,
            generator_cpu=0.0 if self._is_own else own,
        )

    def _read(self) -> tuple[float, float, float, float]:
        process, own = self._process.cpu_times(), self._own.cpu_times()
        core = psutil.cpu_times(percpu=True)[self._core]
        busy = core.user + core.nice + core.system + core.steal  # network interrupts are our own
        return time.perf_counter(), sum(process[:2]), busy, sum(own[:2])


def to_json(sample: Sample) -> dict[str, Any]:
    """A sample as a process hands it over."""
    return asdict(sample)


def least_disturbed(measure: Callable[[], S], tries: int) -> S:
    """The first calm measurement, or the calmest of so many."""
    samples: list[S] = []
    while len(samples) < tries:
        samples.append(measure())
        if samples[-1].foreign < CALM:
            return samples[-1]
    return min(samples, key=lambda sample: sample.foreign)


def percentile(values: list[float], share: float) -> float:
    """The value below which this share of the values lies; 0 if there are none."""
    if not values:
        return 0.0
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def median_ratio(ours: list[float], theirs: list[float]) -> float:
    """The median over rounds of ours divided by theirs."""
    return median(our / their for our, their in zip(ours, theirs, strict=True))


def memory_of(pid: int) -> int:
    """Bytes of memory a process has resident."""
    return psutil.Process(pid).memory_info().rss
