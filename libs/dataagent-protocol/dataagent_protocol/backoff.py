"""The pause before something that failed is tried again: exponential, capped, with jitter."""

from __future__ import annotations

import random

_MAX_EXPONENT = 30


def backoff_seconds(
    failures: int, *, first_seconds: float, max_seconds: float, factor: float = 2.0
) -> float:
    """Return the seconds to wait after so many failures in a row; the first failure is 1.

    Up to half of the pause is cut at random, so that clients do not all return at once.
    """
    grown = first_seconds * factor ** min(max(failures, 1) - 1, _MAX_EXPONENT)
    return min(grown, max_seconds) * random.uniform(0.5, 1.0)  # noqa: S311 jitter, not a secret
