"""A small canvas of dots, drawn with Braille characters: two across and four down in each. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

_BLANK = 0x2800
_BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))  # by column, then row


class Dots:
    """A canvas of so many characters."""

    def __init__(self, columns: int, rows: int) -> None:
        self._cells = [[0] * columns for _ in range(rows)]
        self._width, self._height = columns * 2, rows * 4

    def plot(self, points: Sequence[tuple[float, float]], *, is_joined: bool) -> None:
        """Mark the points, scaled so that they fill the canvas; joined, the lines between too."""
        xs, ys = [x for x, _ in points], [y for _, y in points]
        placed = [
            (_scaled(x, min(xs), max(xs), self._width), _scaled(y, min(ys), max(ys), self._height))
            for x, y in points
        ]
        for x, y in placed:
            self._mark(x, y)
        for start, end in pairwise(placed) if is_joined else ():
            self._join(start, end)

    def rows(self) -> list[str]:
        """The canvas, a line for each row, the top one first."""
        return ["".join(chr(_BLANK + bits) if bits else " " for bits in row) for row in self._cells]

    def _join(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        steps = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
        for step in range(1, steps):
            share = step / steps
            x, y = (round(a + (b - a) * share) for a, b in zip(start, end, strict=True))
            self._mark(x, y)

    def _mark(self, x: int, y: int) -> None:
        down = self._height - 1 - y
        self._cells[down // 4][x // 2] |= _BITS[x % 2][down % 4]


def _scaled(value: float, low: float, high: float, size: int) -> int:
    """Where a value stands among so many dots; in the middle if all are the same."""
    if high == low:
        return size // 2
    return round((value - low) / (high - low) * (size - 1))
