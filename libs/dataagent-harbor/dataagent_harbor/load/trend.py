"""Where a series is going: a straight line through it, and its last quarter against its first.

Pure functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import linear_regression, median

Points = Sequence[tuple[float, float]]  # seconds, value


@dataclass(frozen=True, slots=True)
class Trend:
    """A line through the points, and the ratio of the medians of the last and the first quarter."""

    per_hour: float
    start: float
    end: float
    ratio: float


def trend_of(points: Points) -> Trend | None:
    """The trend; None with fewer than four points, or all at one moment."""
    if len(points) < 4 or points[0][0] == points[-1][0]:
        return None
    slope, base = linear_regression(*zip(*points, strict=True))
    quarter = max(len(points) // 4, 1)
    first = median(value for _, value in points[:quarter])
    last = median(value for _, value in points[-quarter:])
    return Trend(
        per_hour=slope * 3600,
        start=base + slope * points[0][0],
        end=base + slope * points[-1][0],
        ratio=last / first if first else 1.0,
    )
