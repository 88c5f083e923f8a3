"""Measures the work of a process (time, CPU, who else was on its core), and how late text is.

A shared machine disturbs a measurement most through the core itself. The share of the time that the
core worked for other processes is `foreign`. It is taken out of the time that counts, and a
disturbed measurement can be repeated (`least_disturbed`). For a process that may use several cores
it is their average, and a load generator on one of them is not foreign.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from statistics import median
from time import monotonic
from typing import Any, TypeVar

import psutil

CALM = 0.08
"""Share of a core that others may use before a measurement counts as disturbed."""

S = TypeVar("S")
_CHUNK = re.compile(r"chunk(\d+) ")


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
        """Turns in the time that the core had for them."""
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
        self._cores = self._process.cpu_affinity()
        self.has_all = len(self._cores) > 1
        """Whether it may use several cores, the measuring process's among them."""
        self._before = (0.0, 0.0, 0.0, 0.0)

    def start(self) -> None:
        """Begin."""
        self._before = self._read()

    def stop(self, turns: int) -> Sample:
        """The sample since `start`, in which so many turns were done."""
        then, now = self._before, self._read()
        wall, cpu, busy, own = (after - before for before, after in zip(then, now, strict=True))
        generator = 0.0 if self._is_own else own
        known = cpu + generator if self.has_all else cpu
        return Sample(
            wall=wall,
            cpu=cpu,
            foreign=max(0.0, busy - known) / wall / len(self._cores),
            turns=turns,
            generator_cpu=generator,
        )

    def _read(self) -> tuple[float, float, float, float]:
        process, own = self._process.cpu_times(), self._own.cpu_times()
        cores = psutil.cpu_times(percpu=True)
        busy = sum(_busy(cores[number]) for number in self._cores)
        return time.perf_counter(), sum(process[:2]), busy, sum(own[:2])


def _busy(core: Any) -> float:  # Any: psutil's fields are those of the system
    return core.user + core.nice + core.system + core.steal  # network interrupts are our own


class MeterOfBoth:
    """Watches a server and its clients, which are this process: their clock can be late as well."""

    def __init__(self, pid: int) -> None:
        self._server, self._clients = Meter(pid), Meter(os.getpid())

    def start(self) -> None:
        """Begin."""
        self._server.start()
        self._clients.start()

    def stop(self, turns: int) -> Sample:
        """The server's sample, as disturbed as the more disturbed of the two."""
        server, clients = self._server.stop(turns), self._clients.stop(1)
        if self._server.has_all:  # then it may have been the server that the clients waited for
            return server
        return replace(server, foreign=max(server.foreign, clients.foreign))


def to_json(sample: Sample) -> dict[str, Any]:
    """A sample as JSON."""
    return asdict(sample)


def least_disturbed(
    measure: Callable[[], S], tries: int, foreign: Callable[[S], float] = attrgetter("foreign")
) -> S:
    """The first calm measurement, or the calmest of so many."""
    samples: list[S] = []
    while len(samples) < tries:
        samples.append(measure())
        if foreign(samples[-1]) < CALM:
            return samples[-1]
    return min(samples, key=foreign)


def percentile(values: list[float], share: float) -> float:
    """The value below which this share of the values lies.

    Raises:
        RuntimeError: there are none, so nothing was measured.
    """
    if not values:
        raise RuntimeError("Nothing came in the time that counts, so nothing was measured.")
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def median_ratio(ours: list[float], theirs: list[float]) -> float:
    """The median over rounds of ours divided by theirs."""
    return median(our / their for our, their in zip(ours, theirs, strict=True))


def memory_of(pid: int) -> int:
    """Bytes of memory a process has resident."""
    return psutil.Process(pid).memory_info().rss


class Lateness:
    """The added latency of chunks received within a stretch of time, in seconds.

    The scripted model says `chunk0 chunk1 …`, one each so many milliseconds from the start of its
    turn. A chunk's added latency is when it was received minus when it was due. An event may carry
    several: each counts with its own due time, so that holding text back to merge it is not hidden.
    """

    def __init__(self, pace_seconds: float, begin: float, end: float) -> None:
        self.values: list[float] = []
        self._pace = pace_seconds
        self._begin = begin
        self._end = end

    def listener(self, turn_started: float) -> Callable[[str], None]:
        """A callback for the text of a turn that started at this moment."""
        return lambda text: self.received(text, turn_started, monotonic())

    def received(self, text: str, turn_started: float, now: float) -> None:
        """Count the chunks of a text that came now."""
        if self._begin <= now <= self._end:
            first_due = turn_started + self._pace
            for number in _CHUNK.findall(text):
                self.values.append(now - first_due - int(number) * self._pace)
