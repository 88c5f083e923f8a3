"""Notices lost connections while a question is asked, though the client takes them up again.

The client waits before each new attempt, and asks its `Backoff` how long. This one also counts, for
the question that is being asked in the same task or one it started.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from dataagent_client import Backoff


@dataclass(slots=True)
class Losses:
    """How often the connection was lost."""

    count: int = 0


_CURRENT_LOSSES: ContextVar[Losses | None] = ContextVar("losses", default=None)


_LONG_BACKOFF = Backoff(attempts=12)  # about three quarters of a minute: a server that starts again


class CountingBackoff(Backoff):
    """The client's own pauses; while a question is asked they are counted, and a few more."""

    def pause(self, failures: int, *, retry_after: float | None = None) -> float | None:
        """As `Backoff.pause`."""
        if (losses := _CURRENT_LOSSES.get()) is None:
            return Backoff.pause(self, failures, retry_after=retry_after)
        losses.count += 1
        return _LONG_BACKOFF.pause(failures, retry_after=retry_after)


@contextmanager
def count_losses() -> Generator[Losses]:
    """What is lost while the block lasts; the client must have a `CountingBackoff`."""
    losses = Losses()
    token = _CURRENT_LOSSES.set(losses)
    try:
        yield losses
    finally:
        _CURRENT_LOSSES.reset(token)
