"""How fast one client may speak. Pure: time is handed in."""

from __future__ import annotations


class TokenBucket:
    """Allows bursts, then a steady rate; says how long to wait rather than refusing."""

    def __init__(self, *, rate_per_second: float, burst: int, now: float) -> None:
        self._rate = rate_per_second
        self._burst = float(burst)
        self._tokens = float(burst)
        self._at = now

    def delay(self, now: float) -> float:
        """Take one token; the seconds to wait before acting on it, 0 if none."""
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
        self._tokens -= 1.0
        return 0.0 if self._tokens >= 0.0 else -self._tokens / self._rate
