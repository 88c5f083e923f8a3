"""How long to wait before trying again. Pure, but for the dice."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Growing pauses with jitter; `attempts` failures in a row and it is over."""

    first_seconds: float = 0.2
    factor: float = 2.0
    most_seconds: float = 10.0
    attempts: int = 8

    def pause(self, failures: int, *, retry_after: float | None = None) -> float | None:
        """Seconds to wait after the n-th failure in a row; None when it is time to give up.

        What the server asks for (`Retry-After`) is the least that is waited.
        """
        if failures >= self.attempts:
            return None
        most = min(self.first_seconds * self.factor ** max(failures - 1, 0), self.most_seconds)
        spread = most * (0.5 + random.random() / 2)  # noqa: S311 jitter, not a secret
        return max(spread, retry_after or 0.0)
