"""SQLite behind one writing thread whose transactions are shared.

Units that wait at the same moment are committed together, each inside a savepoint of its own: a
failing unit undoes only itself, and a hundred sessions cost one commit. Units that must survive a
crash of the machine are acknowledged after a second thread has synced the log to disk (`_Syncer`).
A third thread reads, so a long read never delays a write (WAL). Statements run in those threads
without returning to the event loop between them, which makes SQLite cheap here
(docs/decisions/0002).
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from dataagent_core.config.private_files import restrict_to_owner
from dataagent_core.errors import StorageFull, StorageUnavailable
from dataagent_core.storage.database import Database, Unit

logger = logging.getLogger(__name__)
T = TypeVar("T")
_MAX_SHARED = 256
_GATHER_SECONDS = 0.002
_MOST_GATHER_SECONDS = 0.01
_EMPTYING_SECONDS = 5.0
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
# what the file, the disk or another program is to blame for; any other error, such as a missing
# table or a mistake in a statement, is a bug and reaches the caller as it is
_OUTAGES = frozenset(
    {
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
        *_DAMAGED,
    }
)
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_DAMAGED_HINT = "the file is damaged: restore it, or move it away to begin with a new one."
_HINTS = {
    sqlite3.SQLITE_BUSY: "another program holds the file: close that one, then try again.",
    sqlite3.SQLITE_FULL: "make room on the disk, or choose another data directory.",
    sqlite3.SQLITE_READONLY: "make the data directory writable, or choose another.",
    sqlite3.SQLITE_CANTOPEN: "make the data directory writable, or choose another.",
    **dict.fromkeys(_DAMAGED, _DAMAGED_HINT),
}


@dataclass(slots=True)
class _Job:
    unit: Unit[Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    is_durable: bool
    result: Any = None
    error: BaseException | None = None

    def resolve(self) -> None:
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class _Syncer:
    """Syncs committed units to disk, several with one `fsync`, beside the writer.

    What `synchronous=FULL` does inside each commit, done after it: a unit that must outlive the
    machine is acknowledged once the log is on the disk, and others do not wait for that.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._waiting: queue.SimpleQueue[list[_Job] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="sqlite-sync", daemon=True)
        self._thread.start()

    def put(self, jobs: list[_Job]) -> None:
        """Resolve these jobs once they are on disk."""
        self._waiting.put(jobs)

    async def settle(self) -> None:
        """Wait until all earlier commits are on disk."""
        loop = asyncio.get_running_loop()
        job = _Job(_nothing, loop, loop.create_future(), is_durable=True)
        self.put([job])
        await job.future

    def stop(self) -> None:
        """Finish and end."""
        self._waiting.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while (jobs := self._waiting.get()) is not None:
            try:
                while (more := self._waiting.get_nowait()) is not None:
                    jobs = jobs + more
                self._waiting.put(None)
            except queue.Empty:
                pass
            try:
                _fsync(self._log)
            except OSError as error:
                for job in jobs:
                    job.error = _unavailable(error)
            _hand_back(jobs)


def _nothing(_connection: Connection) -> None:
    """Do nothing: the unit of a job that only waits for the disk."""


def _fsync(log: Path) -> None:
    descriptor = os.open(log, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class _Worker:
    """A thread with a connection, fed by a queue."""

    def __init__(
        self,
        name: str,
        connect: Callable[[], Connection],
        *,
        is_writer: bool,
        syncer: _Syncer | None = None,
        on_commit: Callable[[float], None] | None = None,
    ) -> None:
        self._syncer = syncer
        self._on_commit = on_commit
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._connect = connect
        self._is_writer = is_writer
        self._is_stopped = False
        self._last_start = 0.0
        self._last_size = 1
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    async def run(self, unit: Unit[T], *, is_durable: bool = True) -> T:
        if self._is_stopped:
            raise StorageUnavailable("The database is closed.")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put(_Job(unit, loop, future, is_durable))
        return await future

    def stop(self) -> None:
        self._is_stopped = True  # or who comes later would wait for ever
        self._jobs.put(None)
        self._thread.join()
        late = [job for job in iter(self._next_left, None) if isinstance(job, _Job)]
        for job in late:
            job.error = StorageUnavailable("The database is closed.")
        _hand_back(late)

    def _next_left(self) -> _Job | bool | None:
        """Return the next unprocessed job; True in place of a stop, None at the end."""
        try:
            return self._jobs.get_nowait() or True
        except queue.Empty:
            return None

    def _serve(self) -> None:
        connection: Connection | None = None
        while (batch := self._next_batch()) is not None:
            try:
                connection = connection or self._connect()
                self._run_batch(connection, batch)
            except Exception as error:  # the connection itself failed: every job of the batch did
                for job in batch:
                    job.error = _translated(error)
                connection = _dispose(connection)
            self._hand_on(batch)
        _dispose(connection)

    def _next_batch(self) -> list[_Job] | None:
        first = self._jobs.get()
        if first is None:
            return None
        self._gather()
        batch = [first]
        while len(batch) < _MAX_SHARED:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                self._jobs.put(None)
                break
            batch.append(job)
        self._last_size = len(batch) if self._is_writer else 1
        return batch

    def _hand_on(self, batch: list[_Job]) -> None:
        """Resolve finished jobs; durable ones go to the syncer first."""
        if self._syncer is None or not self._is_writer:
            _hand_back(batch)
            return
        durable = [job for job in batch if job.is_durable and job.error is None]
        _hand_back([job for job in batch if not job.is_durable or job.error is not None])
        if durable:
            self._syncer.put(durable)

    def _gather(self) -> None:
        """Let a busy process add more jobs: the longer, the larger the last commit was."""
        wait = min(_MOST_GATHER_SECONDS, _GATHER_SECONDS * (self._last_size - 1))
        remaining = self._last_start + wait - time.monotonic()
        if remaining > 0:
            time.sleep(remaining)
        self._last_start = time.monotonic()

    def _run_batch(self, connection: Connection, batch: list[_Job]) -> None:
        if not self._is_writer:
            for job in batch:
                _attempt(connection, job)
            connection.rollback()
            return
        # our pool holds sqlite3 connections
        raw = cast("sqlite3.Connection", connection.connection.driver_connection)
        with connection.begin():
            for job in batch:
                raw.execute("SAVEPOINT unit")
                _attempt(connection, job)
                if job.error is not None:
                    if not raw.in_transaction:  # a full disk, for one, ends the transaction itself
                        raise job.error
                    raw.execute("ROLLBACK TO unit")
                raw.execute("RELEASE unit")
        if self._on_commit is not None:
            self._on_commit(time.monotonic() - self._last_start)


def _attempt(connection: Connection, job: _Job) -> None:
    try:
        job.result = job.unit(connection)
    except Exception as error:
        job.error = _translated(error)


def _hand_back(batch: list[_Job]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
    for job in batch:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, jobs in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve_all, jobs)


def _resolve_all(jobs: list[_Job]) -> None:
    for job in jobs:
        job.resolve()


def _dispose(connection: Connection | None) -> None:
    if connection is not None:
        connection.close()


def _translated(error: BaseException) -> BaseException:
    """Return the error for callers: an outage as one of ours, a bug unchanged."""
    reason = error.orig if isinstance(error, DBAPIError) else error
    is_outage = isinstance(reason, sqlite3.Error) and _code(reason) in _OUTAGES
    return _unavailable(reason or error, error) if is_outage else error


def _code(reason: BaseException | None) -> int:
    """Return SQLite's own error number; 0 if it is none of its errors."""
    return getattr(reason, "sqlite_errorcode", 0) & 0xFF  # the rest says more than is needed


def _unavailable(reason: BaseException, cause: BaseException | None = None) -> StorageUnavailable:
    is_full = _code(reason) == sqlite3.SQLITE_FULL or (
        isinstance(reason, OSError) and reason.errno in _NO_SPACE
    )
    hint = _HINTS.get(sqlite3.SQLITE_FULL if is_full else _code(reason))
    kind = StorageFull if is_full else StorageUnavailable
    failure = kind(
        f"The database cannot be written: {reason}."
        if is_full
        else f"The database does not answer: {reason}.",
        details={"hint": hint} if hint else None,
    )
    failure.__cause__ = cause or reason
    return failure


class SqliteDatabase(Database):
    """A SQLite file, or `:memory:` for one process's lifetime."""

    can_settle = True

    def __init__(self, url: URL) -> None:
        self.url = url
        self._path = url.database or ":memory:"
        self._is_memory = self._path == ":memory:"
        if not self._is_memory and not self._path.startswith("file:"):
            Path(self._path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _make_private(Path(self._path))
        self._engine = self._make_engine()
        self._syncer = None if self._is_memory else _Syncer(Path(f"{self._path}-wal"))
        self._writer = _Worker(
            "sqlite-writer",
            self._engine.connect,
            is_writer=True,
            syncer=self._syncer,
            on_commit=self._tell,
        )
        self._reader = (
            self._writer
            if self._is_memory
            else _Worker("sqlite-reader", self._engine.connect, is_writer=False)
        )

    async def write(self, unit: Unit[T], *, is_durable: bool = True) -> T:
        """See `Database.write`; the commit may be shared with other units."""
        return await self._writer.run(unit, is_durable=is_durable)

    def _tell(self, seconds: float) -> None:
        if self.on_commit is not None:
            self.on_commit(seconds)

    async def settle(self) -> None:
        """See `Database.settle`: one `fsync`, shared by all who wait."""
        if self._syncer is not None:
            await self._syncer.settle()

    async def read(self, unit: Unit[T]) -> T:
        """See `Database.read`."""
        return await self._reader.run(unit)

    async def scrub(self) -> None:
        """See `Database.scrub`: `secure_delete` zeroes the file, and the log is emptied here."""
        if not self._is_memory:
            await asyncio.to_thread(self._empty_log)

    def _empty_log(self) -> None:
        """Move the log into the file and truncate it, waiting a bounded time for readers."""
        with closing(sqlite3.connect(self._path, timeout=_EMPTYING_SECONDS)) as connection:
            is_busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if is_busy:
            logger.warning("the database's log is in use; it is emptied at a later moment")

    async def close(self) -> None:
        """See `Database.close`."""
        loop = asyncio.get_running_loop()
        if self._reader is not self._writer:
            await loop.run_in_executor(None, self._reader.stop)
        await loop.run_in_executor(None, self._writer.stop)
        if self._syncer is not None:
            await loop.run_in_executor(None, self._syncer.stop)
        self._engine.dispose()

    def _make_engine(self) -> Engine:
        options: dict[str, Any] = {"connect_args": {"check_same_thread": False, "timeout": 30.0}}
        if self._is_memory:
            options["poolclass"] = StaticPool
        engine = create_engine(self.url, **options)
        event.listen(engine, "connect", _configure)
        event.listen(engine, "begin", _begin)
        return engine


def _make_private(path: Path) -> None:
    """Create the file for its owner only, or restrict it; its log gets the same mode.

    What cannot be opened is reported by SQLite, when it is first used.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    for suffix in ("", "-wal", "-shm"):
        restrict_to_owner(path.with_name(path.name + suffix))


def _configure(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # SQLAlchemy begins and commits; sqlite3 does not guess
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        "secure_delete=ON",
        "busy_timeout=30000",
        "temp_store=MEMORY",
        "journal_size_limit=67108864",
        "wal_autocheckpoint=8000",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    """Begin a transaction on sqlite3 itself, for a fifth of the cost of SQLAlchemy's statement."""
    raw: Any = connection.connection.driver_connection
    is_writer = threading.current_thread().name == "sqlite-writer"
    raw.execute("BEGIN IMMEDIATE" if is_writer else "BEGIN")
