"""When a live connection is looked after, and how many missed signs of life it may have.

A probe every half minute or so, sooner when something broke; three missed in a row, or one closed
door, and the connection counts as lost. Answers to calls are signs of life too. Above:
`connection.py`.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass

from dataagent_core.mcp.types import CallFailed, CallFailure
from dataagent_core.mcp.wire import McpSession, SessionLost


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRules:
    """How often, how long, how many."""

    interval_seconds: float = 30.0
    probe_seconds: float = 5.0
    most_missed: int = 3


class Health:
    """Of one live connection."""

    def __init__(self, rules: HealthRules) -> None:
        self._rules = rules
        self._missed = 0
        self._since = 0.0
        self._pause = 0.0
        self._schedule_next()

    def record_response(self) -> None:
        """It answered."""
        self._missed = 0
        self._since = time.monotonic()

    def due_in(self) -> float:
        """Seconds until the next probe."""
        return max(0.0, self._since + self._pause - time.monotonic())

    async def check(self, session: McpSession) -> CallFailure | None:
        """Probe once. What is wrong, if the connection is to be given up."""
        try:
            async with asyncio.timeout(self._rules.probe_seconds):
                await session.probe()
        except TimeoutError:
            return self._record_miss(
                CallFailure("MCP_TIMEOUT", "The server gives no sign of life.")
            )
        except SessionLost as error:
            return error.failure
        except CallFailed as error:
            if error.failure.code == "MCP_AUTH_REQUIRED":
                return error.failure
            return self._record_miss(error.failure)
        self._missed = 0
        self._schedule_next()
        return None

    def _record_miss(self, failure: CallFailure) -> CallFailure | None:
        self._missed += 1
        self._schedule_next()
        return failure if self._missed >= self._rules.most_missed else None

    def _schedule_next(self) -> None:
        spread = random.uniform(0.8, 1.2)  # noqa: S311 no secret
        self._pause = self._rules.interval_seconds * spread
        self._since = time.monotonic()
