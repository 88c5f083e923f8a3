"""One statement from its start to its clean end, the same for every engine with connections.

It takes a connection, has the time and the interrupts watched, turns what the driver gives into
batches, translates the driver's errors, and returns the connection, if it is clean. The engines'
modules say how to start, fetch, stop and clean up.

A thread watches each running statement, because the one that reads it may be deep inside a driver.
It asks the engine to stop until the statement has ended, so a request that came too early is
repeated, and it ends before the connection serves another statement.
"""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import inspect
import logging
import threading
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Generic, Literal, TypeVar

from dataagent_core.data.arrow import pa
from dataagent_core.data.engines.base import (
    SchemaChanged,
    Statement,
    StatementInterrupted,
    StatementOptions,
)
from dataagent_core.data.engines.columns import Columns
from dataagent_core.data.engines.pool import Connections
from dataagent_core.errors import DataAgentError, QueryFailed, QueryTimedOut

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


C = TypeVar("C")


class PooledStatement(Statement, Generic[C]):
    """A statement on a connection of a pool."""

    driver_errors: ClassVar[tuple[type[Exception], ...]] = ()

    def __init__(self, sql: str, pool: Connections[C], settings: StatementOptions) -> None:
        self.sql = sql
        self.settings = settings
        self._pool = pool
        self._lock = threading.Lock()  # over the two that `interrupt` looks at
        self._is_interrupted = False
        self._watch: Watchdog | None = None
        self._connection: C | None = None
        self._columns: Columns | None = None
        self._active: Generator[pa.RecordBatch] | None = None

    @abstractmethod
    def start(self, connection: C) -> Columns:
        """Have the engine run the statement; say which columns it has."""

    @abstractmethod
    def chunks(self, connection: C) -> Iterator[Sequence[Any]]:  # Any: what the columns take
        """The rows, in parts: one sequence of values for each column."""

    @abstractmethod
    def stop(self, connection: C, attempt: int) -> None:
        """Have the engine give up the statement. Called from another thread, more than once."""

    @abstractmethod
    def halt(self, connection: C) -> None:
        """See to it that nothing runs on the connection, ended or not; raise if that cannot be."""

    def clean(self, connection: C) -> None:
        """Make the quiet connection ready for the next statement; raise if that cannot be."""

    @abstractmethod
    def translate_error(self, error: Exception) -> DataAgentError:
        """What a driver's error is to a caller."""

    @property
    def labels(self) -> tuple[str, ...]:
        """What the engine calls the columns; starts the statement."""
        if self._columns is None:
            self._begin()
        assert self._columns is not None  # noqa: S101  # `_begin` raises, or has them
        return self._columns.labels

    def batches(self) -> Generator[pa.RecordBatch]:
        """The rows (see `Statement.batches`)."""
        self._active = self._batches()
        return self._active

    def interrupt(self) -> None:
        """Stop the statement in the engine."""
        with self._lock:
            self._is_interrupted = True
            if self._watch is not None:
                self._watch.interrupt()

    def close(self) -> None:
        """Stop reading, if that is still going on, and free the connection."""
        active = self._active
        if active is not None and inspect.getgeneratorstate(active) == inspect.GEN_RUNNING:
            self.interrupt()  # another thread reads: it ends the statement when it wakes
            return
        if active is not None:
            active.close()
        self._end()

    def _batches(self) -> Generator[pa.RecordBatch]:
        has_handed_out = False
        while True:
            try:
                for batch in self._one_run():
                    has_handed_out = True
                    yield batch
                return
            except SchemaChanged:
                if has_handed_out:
                    raise

    def _one_run(self) -> Generator[pa.RecordBatch]:
        if self._connection is None:
            self._begin()
        connection, columns, watch = self._connection, self._columns, self._watch
        assert connection is not None and columns is not None  # noqa: S101, PT018 `_begin` sets
        assert watch is not None  # noqa: S101 as above
        is_first = True
        with self._ended():
            for chunk in self._fetched(connection, watch):
                batch = columns.batch(chunk, may_widen=is_first)
                watch.check()
                is_first = False
                yield batch
            if is_first:
                yield columns.empty()

    def _fetched(self, connection: C, watch: Watchdog) -> Iterator[Sequence[Any]]:
        with self._translating():
            yield from self.chunks(connection)
        if watch.reason == "interrupted":
            raise StatementInterrupted

    def _begin(self) -> None:
        if "\0" in self.sql or not _is_storable(self.sql):
            raise QueryFailed(
                "The statement has characters that no database takes. Leave them out."
            )
        connection = self._pool.acquire(
            timeout_seconds=self.settings.timeout_seconds, is_cancelled=lambda: self._is_interrupted
        )
        if connection is None:
            raise StatementInterrupted
        watch = Watchdog(
            lambda attempt: self.stop(connection, attempt),
            timeout_seconds=self.settings.timeout_seconds,
        )
        with self._lock:
            self._connection, self._watch = connection, watch
            if self._is_interrupted:
                watch.interrupt()
        watch.start()
        is_started = False
        try:
            watch.check()
            with self._translating():
                started = self.start(connection)
            self._columns = self._columns or started
            watch.check()
            is_started = True
        finally:
            if not is_started:
                self._end()

    @contextmanager
    def _ended(self) -> Generator[None]:
        try:
            yield
        finally:
            self._end()

    def _end(self) -> None:
        """Stop what runs, clean the connection and give it back."""
        connection, watch = self._connection, self._watch
        if connection is None or watch is None:
            return
        is_clean = _succeeds(lambda: self.halt(connection))
        watch.end()
        is_clean = is_clean and _succeeds(lambda: self.clean(connection))
        with self._lock:
            self._connection = self._watch = None
        self._pool.release(connection, is_clean=is_clean)

    @contextmanager
    def _translating(self) -> Generator[None]:
        try:
            yield
        except (*self.driver_errors, pa.ArrowException) as error:
            reason = self._watch.reason if self._watch is not None else None
            if reason == "interrupted":
                raise StatementInterrupted from error
            if reason == "timed_out":
                raise timeout_error(self.settings.timeout_seconds) from error
            if isinstance(error, pa.ArrowException):
                raise QueryFailed(f"A value could not be read: {error}") from error
            translate_error = self.translate_error(error)
            if isinstance(translate_error, QueryTimedOut):
                raise timeout_error(self.settings.timeout_seconds) from error
            raise translate_error from error


def _is_storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _succeeds(step: Callable[[], None]) -> bool:
    try:
        step()
    except Exception:
        logger.info("a connection is closed after its statement", exc_info=True)
        return False
    return True
