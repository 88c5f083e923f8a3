"""How many calls a user may make on a server in a minute. Above: `gateway.py`. Below: nothing."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

_KEPT = 10_000


class CallRate:
    """A bucket for each user and server, which fills up again evenly. 0 is no limit."""

    def __init__(self, per_minute: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._left: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    def take(self, user_id: str, server_id: str) -> bool:
        """Count one more call; False if it is one too many."""
        if not self._per_minute:
            return True
        key, now = (user_id, server_id), self._clock()
        left, at = self._left.get(key, (float(self._per_minute), now))
        left = min(float(self._per_minute), left + (now - at) * self._per_minute / 60)
        is_free = left >= 1
        self._left[key] = (left - 1 if is_free else left, now)
        self._left.move_to_end(key)
        while len(self._left) > _KEPT:
            self._left.popitem(last=False)
        return is_free
