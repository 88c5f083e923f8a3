"""A bar that says how far it is: redrawn on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from collections import Counter
from typing import TextIO

from dataagent_harbor.scoring import STATUSES, Status

_WIDTH = 30
_LINES = 10  # how many lines a whole run writes where nothing can be redrawn


class ProgressBar:
    """Counts results. Use it as a context manager: the bar ends with a line of its own."""

    def __init__(self, total: int, *, done: int, stream: TextIO) -> None:
        self._total = total
        self._done = done
        self._stream = stream
        self._is_drawn = stream.isatty()
        self._counts: Counter[Status] = Counter()

    def __enter__(self) -> ProgressBar:
        if self._done:
            self._stream.write(f"{self._done} of {self._total} are there already\n")
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_drawn:
            self._stream.write("\n")

    def add(self, status: Status) -> None:
        """One more result."""
        self._done += 1
        self._counts[status] += 1
        told = ", ".join(f"{self._counts[each]} {each}" for each in STATUSES if self._counts[each])
        if self._is_drawn:
            filled = _WIDTH * self._done // max(self._total, 1)
            bar = "█" * filled + "░" * (_WIDTH - filled)
            self._stream.write(f"\r\x1b[K{bar} {self._done}/{self._total}  {told}")
        elif self._done == self._total or self._done % max(self._total // _LINES, 1) == 0:
            self._stream.write(f"{self._done}/{self._total}  {told}\n")
        self._stream.flush()
