"""Stops a running statement in its engine: when it is interrupted, and when its time is up.

A thread for each running statement, because the one that reads it may be deep inside a driver. It
asks the engine to stop until the statement has ended, so a request that came a moment too early is
repeated, and it is gone before the connection serves anyone else, so none comes too late. Above:
`pooled_statement.py`. Below: nothing but a function that stops.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Literal

from dataagent_core.data.engines.base import StatementInterrupted
from dataagent_core.errors import QueryTimedOut

logger = logging.getLogger(__name__)

StopReason = Literal["interrupted", "timed_out"]

_AGAIN_SECONDS = 0.1


class Watchdog:
    """One run of a statement. `stop` gets the number of the attempt, counted from 1."""

    def __init__(self, stop: Callable[[int], None], *, timeout_seconds: float) -> None:
        self._stop = stop
        self._timeout_seconds = timeout_seconds
        self._changed = threading.Condition()
        self._is_over = False
        self._reason: StopReason | None = None
        self._thread: threading.Thread | None = None

    @property
    def reason(self) -> StopReason | None:
        """Why the statement is to stop, if it is."""
        return self._reason

    def start(self) -> None:
        """From now on the time counts."""
        self._thread = threading.Thread(
            target=self._stop_when_due, name="statement-watch", daemon=True
        )
        self._thread.start()

    def interrupt(self) -> None:
        """Have the statement stopped. Any thread, any number of times."""
        with self._changed:
            self._reason = self._reason or "interrupted"
            self._changed.notify_all()

    def end(self) -> None:
        """The statement has ended; when this returns, no request to stop is under way."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def check(self) -> None:
        """Return if the statement may go on.

        Raises:
            Interrupted: it was interrupted.
            QueryTimedOut: its time is up.
        """
        if self._reason == "interrupted":
            raise StatementInterrupted
        if self._reason == "timed_out":
            raise timeout_error(self._timeout_seconds)

    def _stop_when_due(self) -> None:
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_over or self._reason, timeout=self._timeout_seconds
            )
            if not self._is_over:
                self._reason = self._reason or "timed_out"
        attempt = 0
        while not self._is_over:
            attempt += 1
            self._try_to_stop(attempt)
            with self._changed:
                self._changed.wait_for(lambda: self._is_over, timeout=_AGAIN_SECONDS)

    def _try_to_stop(self, attempt: int) -> None:
        try:
            self._stop(attempt)
        except Exception:
            logger.warning("stopping a statement, attempt %d", attempt, exc_info=True)


def timeout_error(timeout_seconds: float) -> QueryTimedOut:
    """The error of a statement whose time is up."""
    return QueryTimedOut(
        f"The statement took longer than {timeout_seconds:g} seconds and was stopped. "
        "Ask for less: filter earlier, aggregate, or avoid joins without a condition."
    )
