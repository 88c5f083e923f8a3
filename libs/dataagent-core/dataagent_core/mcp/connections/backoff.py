"""How long to wait before a server is tried again. Pure, but for the dice."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Doubling pauses with a cap, each cut by up to a half so that not all come back at once."""

    first_seconds: float = 1.0
    most_seconds: float = 300.0
    early_seconds: float = 5.0
    """A waiting caller may have one early try in this time."""

    def pause(self, failures: int) -> float:
        """After so many failures in a row; the first is 1."""
        doubled = self.first_seconds * 2.0 ** min(max(failures, 1) - 1, 30)
        return min(doubled, self.most_seconds) * random.uniform(0.5, 1.0)  # noqa: S311 no secret
