"""Keeps calls from a server whose transport fails again and again, and lets one through to see.

Counted are broken connections, not errors a tool reports and not slow answers: one bad tool must
not take its neighbours away. Above: `gateway.py`. Below: nothing.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from dataagent_core.mcp.types import ConnectionKey

MOST_FAILURES = 5
WINDOW_SECONDS = 60.0
OPEN_SECONDS = 30.0
_KEPT = 4_096


@dataclass(slots=True)
class _Circuit:
    failed_at: deque[float] = field(default_factory=lambda: deque[float](maxlen=MOST_FAILURES))
    opened_at: float | None = None
    is_trying: bool = False


class CircuitBreaker:
    """One circuit a connection: closed, open for a while, then one call to try it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._circuits: OrderedDict[ConnectionKey, _Circuit] = OrderedDict()

    def allows(self, key: ConnectionKey) -> bool:
        """Whether a call may be tried now.

        Follow each True with `record_success`, `record_failure` or `release`.

        A circuit that was open long enough lets one call through at a time.
        """
        circuit = self._circuits.get(key)
        if circuit is None or circuit.opened_at is None:
            return True
        if circuit.is_trying or self._clock() - circuit.opened_at < OPEN_SECONDS:
            return False
        circuit.is_trying = True
        return True

    def seconds_left(self, key: ConnectionKey) -> float:
        """How long until a call is let through; 0 if one would be."""
        circuit = self._circuits.get(key)
        if circuit is None or circuit.opened_at is None:
            return 0.0
        return max(0.0, circuit.opened_at + OPEN_SECONDS - self._clock())

    def record_success(self, key: ConnectionKey) -> None:
        """A call came through: the circuit is closed."""
        self._circuits.pop(key, None)

    def record_failure(self, key: ConnectionKey) -> None:
        """The transport failed under a call."""
        circuit = self._circuits.setdefault(key, _Circuit())
        self._circuits.move_to_end(key)
        now = self._clock()
        circuit.failed_at.append(now)
        recent = sum(at > now - WINDOW_SECONDS for at in circuit.failed_at)
        if circuit.is_trying or recent >= MOST_FAILURES:
            circuit.opened_at = now
        circuit.is_trying = False
        while len(self._circuits) > _KEPT:
            self._circuits.popitem(last=False)

    def release(self, key: ConnectionKey) -> None:
        """A call ended without saying anything of the transport: cancelled, or out of time."""
        circuit = self._circuits.get(key)
        if circuit is not None:
            circuit.is_trying = False
