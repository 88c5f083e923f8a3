"""How the processor time of a call grows with the size of its input.

A call is measured at sizes that grow by a factor of eight. Eight times the input takes eight times
as long if the work is linear and sixty-four times if it is quadratic, on any machine: only such
ratios are judged. Times too short to compare count as one fixed piece of work, measured in the same
run, and a ratio over the limit is measured again before it is believed.
"""

from __future__ import annotations

import gc
import math
import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from types import FrameType

FACTOR = 8
LIMIT = 24  # between 8, linear, and 64, quadratic
_CUT = 40  # times as long as at the size before: not waited for
_MOST_AT_FIRST = 1_000 / LIMIT
_LONGEST = 300.0  # seconds: ends a call that hangs
_REPEATS = 3
_CONFIRMATIONS = 4


class _CutOff(BaseException):
    """The call took too long. No handler of an `Exception` may hold it back."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The steepest step of a call: how many times as long it took for eight times the input."""

    ratio: float
    size: int  # the smaller of the two sizes
    seconds: float  # of processor time, at the larger size

    @property
    def is_superlinear(self) -> bool:
        """Whether the work grows clearly faster than the input."""
        return self.ratio > LIMIT


def steepest(call: Callable[[int], object], sizes: tuple[int, ...]) -> Growth:
    """Measure `call(size)` at each of the sizes, and stop at the first that is superlinear.

    The smallest is compared with the fixed piece of work: what takes a thousand times as long for
    so little is superlinear already.
    """
    call(1)  # what is set up once is set up now
    worst = _step(call, sizes[0], 1, _MOST_AT_FIRST)
    for smaller, size in pairwise(sizes):
        if not worst.is_superlinear:
            worst = max(worst, _step(call, size, smaller, 1), key=lambda one: one.ratio)
    return worst


def _step(call: Callable[[int], object], size: int, smaller: int, allowed: float) -> Growth:
    """How much longer a call takes at a size than at a smaller one; `allowed` divides it."""
    before = _least(call, smaller, math.inf, 1) * allowed
    seconds = _least(call, size, _CUT * before, 1)
    for _ in range(_CONFIRMATIONS):
        if seconds <= LIMIT * before:
            break
        before = max(before, _least(call, smaller, math.inf, _REPEATS) * allowed)
        seconds = min(seconds, _least(call, size, _CUT * before, 1))
    return Growth(seconds / before, smaller, seconds)


def _least(call: Callable[[int], object], size: int, most: float, repeats: int) -> float:
    """The shortest of some measurements, and no less than what can be compared."""
    found = min(_processor_seconds(call, size, most) for _ in range(repeats))
    return max(found, _comparable())


@cache
def _comparable() -> float:
    """The processor time of a fixed piece of work, the shortest that is compared."""
    text = "one two " * 1_500
    word = re.compile(r"\w+")
    return min(
        _processor_seconds(lambda size: [word.sub("x", text) for _ in range(size)], 1, math.inf)
        for _ in range(20)
    )


def _processor_seconds(call: Callable[[int], object], size: int, most: float) -> float:
    """The processor time of one call; infinite if it was cut off."""
    is_running = True

    def cut_off(_signal: int, _frame: FrameType | None) -> None:
        if is_running:
            raise _CutOff

    handler = signal.signal(signal.SIGPROF, cut_off)
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        signal.setitimer(signal.ITIMER_PROF, min(most, _LONGEST))
        started = time.thread_time()
        call(size)
        took = time.thread_time() - started
        is_running = False
    except _CutOff:
        return math.inf
    finally:
        is_running = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
        if was_collecting:
            gc.enable()
    return took
