"""The log of MCP calls: who called which tool for whom, and how the call ended.

`note` returns at once and never fails its caller; rows are written in batches. While the database
is unavailable they go to files with one row per line, and are written back later, also after a
restart. A process locks its file; a file without a lock belonged to a process that ended, and is
taken over. Rows that fit nowhere are counted. No argument's value and no result is in a row
(`call_rows.py`).
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import os
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from sqlalchemy import ColumnElement, Connection, String, delete, func, insert, select

from dataagent_core.errors import Unavailable
from dataagent_core.mcp.types import CallStatus
from dataagent_core.storage import Database
from dataagent_core.storage.agent_tables import mcp_tool_call_log
from dataagent_core.storage.background_tasks import cancel_all
from dataagent_core.storage.database import storable
from dataagent_core.storage.prepared_statement import PreparedStatement
from dataagent_core.telemetry import Scrubber

Rows = Sequence[dict[str, Any]]
MAX_SPILLED_BYTES = 64 * 1024 * 1024
_TIME_FIELDS = ("started_at", "ended_at")
_MOST_TOGETHER = 500


class SpilledCalls:
    """The files of one folder. Files are accessed in threads, one at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own: IO[bytes] | None = None
        self._using = asyncio.Lock()
        self.may_have_any = True
        """Whether rows may be in files: until it was looked, and while ours are."""
        self._is_first = True

    async def add(self, rows: Rows) -> int:
        """Append rows, and return how many did not fit."""
        async with self._using:
            left_out = await asyncio.to_thread(self._append, rows)
            self.may_have_any = True
            return left_out

    async def drain(self, write: Callable[[Rows], Awaitable[None]]) -> None:
        """Pass all rows to `write` and delete them when it returns; the first time, those of ended
        processes too.

        What `write` raises is raised, and the rows stay.
        """
        if not self.may_have_any:
            return
        async with self._using:
            if self._own is not None:
                await _drain(self._own, write)
                self._forget()
            for file in await asyncio.to_thread(self._orphaned_files) if self._is_first else ():
                with closing(file):
                    await _drain(file, write)
            self._is_first = self.may_have_any = False

    def _forget(self) -> None:
        if self._own is not None:
            self._own.close()
        self._own = None

    async def close(self) -> None:
        """Unlock the file, so that another process can take over the rest."""
        async with self._using:
            self._forget()

    # -- in a thread ----------------------------------------------------------------------------

    def _append(self, rows: Rows) -> int:
        try:
            file = self._own = self._own or self._open_file()
            room = MAX_SPILLED_BYTES - sum(p.stat().st_size for p in self._files())
            for done, row in enumerate(rows):
                line = _line(row)
                room -= len(line)
                if room < 0:
                    file.flush()
                    return len(rows) - done
                file.write(line)
            file.flush()
        except OSError:
            return len(rows)
        return 0

    def _open_file(self) -> IO[bytes]:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / f"calls-{uuid4().hex}.jsonl"
        file = open(path, "a+b", opener=_open_private)  # noqa: SIM115 closed with the log
        fcntl.flock(file, fcntl.LOCK_EX)
        return file

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("calls-*.jsonl"))

    def _orphaned_files(self) -> list[IO[bytes]]:
        """Lock and return the files that no process has locked."""
        found: list[IO[bytes]] = []
        for path in self._files():
            with suppress(OSError):  # held by another process, or gone
                found.append(_open_locked(path))
        return found


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _open_locked(path: Path) -> IO[bytes]:
    file = path.open("r+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file


async def _drain(file: IO[bytes], write: Callable[[Rows], Awaitable[None]]) -> None:
    file.seek(0)
    parts = _read_batches(file)
    while (rows := await asyncio.to_thread(next, parts, None)) is not None:
        await write(rows)
    await asyncio.to_thread(os.unlink, file.name)


def _read_batches(file: IO[bytes]) -> Generator[Rows]:
    together: list[dict[str, Any]] = []
    for line in file:
        with suppress(ValueError, TypeError, KeyError):  # cut off in the middle of writing
            together.append(_row(line))
        if len(together) == _MOST_TOGETHER:
            yield together
            together = []
    if together:
        yield together


def _line(row: dict[str, Any]) -> bytes:
    times = {name: row[name].isoformat() for name in _TIME_FIELDS}
    return json.dumps({**row, **times}).encode() + b"\n"


def _row(line: bytes) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(line)
    return {**row, **{name: datetime.fromisoformat(row[name]) for name in _TIME_FIELDS}}


logger = logging.getLogger(__name__)
_LOG = mcp_tool_call_log.c
_FLUSH_SECONDS = 0.5
_OUTAGE_RETRY_SECONDS = 5.0
_DELETE_INTERVAL_SECONDS = 3600.0
_MOST_WAITING = 10_000
_MOST_DELETED = 5_000
_ADD = PreparedStatement(insert(mcp_tool_call_log).inline())
_TEXTS = [(each.name, each.type.length) for each in _LOG if isinstance(each.type, String)]


@dataclass(slots=True, kw_only=True)
class CallRow:
    """One call. The fields are the columns of `mcp_tool_call_log`.

    Not frozen: with so many fields that would cost more than all the rest.
    """

    call_id: str
    tool_name: str
    started_at: datetime
    status: CallStatus
    trace_id: str = ""
    span_id: str = ""
    tenant_id: str | None = None
    user_id: str = ""
    session_id: str = ""
    run_id: str = ""
    agent_id: str = ""
    api_key_id: str | None = None
    server_id: str = ""
    tool_id: int | None = None
    schema_version: int | None = None
    definition_hash: str | None = None
    protocol_version: str | None = None
    connection_generation: int | None = None
    ended_at: datetime | None = None
    duration_ms: float = 0.0
    queue_ms: float = 0.0
    attempts: int = 0
    input_valid: bool | None = None
    output_valid: bool | None = None
    error_code: str | None = None
    error_message: str | None = None
    args_digest: str | None = None
    args_redacted: dict[str, str] | None = None
    result_bytes: int | None = None


_FIELDS = tuple(field.name for field in fields(CallRow))
_values = attrgetter(*_FIELDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFilter:
    """Which calls are requested; None matches any value."""

    tenant_id: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    api_key_id: str | None = None
    server_id: str | None = None
    tool_id: int | None = None
    tool_name: str | None = None
    status: CallStatus | None = None
    trace_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class CallLog:
    """Records calls as they end, and lists them for administrators. For the event loop only."""

    def __init__(
        self,
        database: Database,
        *,
        spill_dir: Path | None = None,
        keep_days: int | None = None,
        scrubber: Scrubber | None = None,
        on_lost: Callable[[int], None] | None = None,
        flush_seconds: float = _FLUSH_SECONDS,
        outage_retry_seconds: float = _OUTAGE_RETRY_SECONDS,
        most_waiting: int = _MOST_WAITING,
    ) -> None:
        """Spill rows to `spill_dir` in an outage; report the number of lost rows to `on_lost`.

        Calls are forgotten after `keep_days`.
        """
        self._db = database
        self._spilled = None if spill_dir is None else SpilledCalls(spill_dir)
        self._keep_days = keep_days
        self._scrubber = scrubber or Scrubber()
        self._on_lost = on_lost
        self._flush_seconds = flush_seconds
        self._outage_retry_seconds = outage_retry_seconds
        self._most_waiting = most_waiting
        self._waiting: deque[CallRow] = deque()
        self._has_waiting = asyncio.Event()
        self._closing = asyncio.Event()
        self._writing = asyncio.Lock()
        self._flusher: asyncio.Task[None] | None = None
        self._forgetter: asyncio.Task[None] | None = None
        self.lost = 0
        """How many rows were lost."""

    # -- life -----------------------------------------------------------------------------------

    def start(self) -> None:
        """Start writing, rows of ended processes first. A second call does nothing."""
        if self._flusher is None and not self._closing.is_set():
            self._flusher = asyncio.create_task(self._flush_loop(), name="mcp-calls")
            if self._keep_days is not None:
                forgetting = self._delete_loop(timedelta(days=self._keep_days))
                self._forgetter = asyncio.create_task(forgetting, name="mcp-calls-retention")

    async def aclose(self) -> None:
        """Write the waiting rows to the database or the file, and stop."""
        self._closing.set()
        self._has_waiting.set()
        await cancel_all([self._forgetter])
        if self._flusher is not None:  # not cancelled: what it is writing would be written twice
            await self._flusher
        await self.flush()
        self._count_lost(len(self._waiting), "the database does not answer")
        self._waiting.clear()
        if self._spilled is not None:
            await self._spilled.close()

    # -- reporting ------------------------------------------------------------------------------

    def note(self, row: CallRow) -> None:
        """Record a call, soon."""
        if len(self._waiting) >= self._most_waiting:
            self._count_lost(1, "too many wait for the database")
            return
        self._waiting.append(row)
        self._has_waiting.set()
        self.start()

    def _columns(self, row: CallRow) -> dict[str, Any]:
        """Return the row with texts scrubbed and cut to their columns' lengths."""
        values: dict[str, Any] = dict(zip(_FIELDS, _values(row), strict=True))
        values["ended_at"] = row.ended_at or row.started_at
        for name in ("error_message", "tool_name"):
            if values[name]:
                values[name] = self._scrubber.text(values[name])
        for name, length in _TEXTS:
            if values[name]:
                values[name] = storable(values[name])[:length]
        return values

    def _count_lost(self, count: int, why: str) -> None:
        if not count:
            return
        self.lost += count
        if self._on_lost is not None:
            self._on_lost(count)
        if self.lost == count or self.lost % 1_000 < count:  # a flood must not flood the log
            logger.error("records of MCP calls were lost: %s", why, extra={"lost": self.lost})

    # -- writing --------------------------------------------------------------------------------

    async def _flush_loop(self) -> None:
        await self._restore_spilled()
        while not self._closing.is_set():
            looks_again = self._spilled is not None and self._spilled.may_have_any
            with suppress(TimeoutError):
                async with asyncio.timeout(self._outage_retry_seconds if looks_again else None):
                    await self._has_waiting.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._flush_seconds):
                    await self._closing.wait()
            self._has_waiting.clear()
            await self.flush()

    async def flush(self) -> None:
        """Write the waiting rows now; while the database is unavailable, to the file.

        What comes meanwhile waits for the next time: busy callers would otherwise have their rows
        written one by one.
        """
        async with self._writing:
            is_there = True
            left = len(self._waiting)
            while left and is_there:
                count = min(left, _MOST_TOGETHER)
                is_there = await self._write([self._waiting[i] for i in range(count)])
                left -= count
            if not is_there:
                await self._spill()
        if is_there:
            await self._restore_spilled()

    async def _write(self, rows: Sequence[CallRow]) -> bool:
        """Write the oldest waiting rows; False if the database is unavailable."""

        def unit(connection: Connection) -> None:
            _ADD.execute(connection, [self._columns(row) for row in rows])

        try:
            await self._db.write(unit, is_durable=False)
        except Unavailable:
            logger.warning("the log of MCP calls waits for its database")
            return False
        except Exception:
            logger.exception("%d records of MCP calls could not be written", len(rows))
            self._count_lost(len(rows), "a write failed")
        for _ in rows:
            self._waiting.popleft()
        return True

    async def _spill(self) -> None:
        """Move the waiting rows to the file, if there is one."""
        if self._spilled is None:
            self._has_waiting.set()
            return
        rows = [self._columns(row) for row in self._waiting]
        self._count_lost(await self._spilled.add(rows), "their file takes no more")
        for _ in rows:
            self._waiting.popleft()

    async def _restore_spilled(self) -> None:
        """Write spilled rows back, if the database is available again."""
        if self._spilled is None:
            return
        try:
            await self._spilled.drain(self._write_back)
        except Unavailable:
            logger.warning("records of MCP calls wait in a file for the database")
        except Exception:
            logger.exception("records of MCP calls could not be brought back from a file")

    async def _write_back(self, rows: Sequence[dict[str, Any]]) -> None:
        usable = [row for row in rows if row.keys() == set(_FIELDS)]
        self._count_lost(len(rows) - len(usable), "a file for them is damaged")
        for start in range(0, len(usable), _MOST_TOGETHER):
            together = usable[start : start + _MOST_TOGETHER]
            await self._db.write(lambda c, some=together: _add_new(c, some), is_durable=False)

    # -- reading --------------------------------------------------------------------------------

    async def list(
        self, wanted: CallFilter | None = None, *, limit: int = 100, offset: int = 0
    ) -> tuple[list[CallRow], int]:
        """Return a page of the matching calls, newest first, and how many match."""
        fits = _conditions(wanted or CallFilter())
        page = (
            select(mcp_tool_call_log)
            .where(*fits)
            .order_by(_LOG.started_at.desc(), _LOG.call_id.desc())
            .limit(limit)
            .offset(offset)
        )
        counted = select(func.count()).select_from(mcp_tool_call_log).where(*fits)

        def unit(connection: Connection) -> tuple[list[CallRow], int]:
            rows = [CallRow(**row) for row in connection.execute(page).mappings()]
            return rows, connection.execute(counted).scalar() or 0

        return await self._db.read(unit)

    async def _delete_loop(self, longer_than: timedelta) -> None:
        while True:
            try:
                if forgotten := await self.delete_before(datetime.now(UTC) - longer_than):
                    logger.info("%d records of MCP calls were forgotten", forgotten)
            except Exception:
                logger.exception("old records of MCP calls could not be forgotten; trying later")
            await asyncio.sleep(_DELETE_INTERVAL_SECONDS)

    async def delete_before(self, moment: datetime) -> int:
        """Delete calls that began before a moment, and return how many."""
        old = select(_LOG.call_id).where(_LOG.started_at < moment).limit(_MOST_DELETED)
        deleted = 0
        while True:
            found = await self._db.write(lambda c: _delete(c, old))
            deleted += found
            if found < _MOST_DELETED:
                return deleted


def _add_new(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows that do not exist yet: a file may be read twice."""
    named = {row["call_id"]: row for row in rows}
    there = select(_LOG.call_id).where(_LOG.call_id.in_(named))
    for call_id in connection.execute(there).scalars().all():
        del named[call_id]
    if named:
        _ADD.execute(connection, [*named.values()])


def _delete(connection: Connection, wanted: Any) -> int:
    found = connection.execute(wanted).scalars().all()
    if found:
        connection.execute(delete(mcp_tool_call_log).where(_LOG.call_id.in_(found)))
    return len(found)


def _conditions(wanted: CallFilter) -> list[ColumnElement[bool]]:
    given = {each.name: getattr(wanted, each.name) for each in fields(wanted)}
    since, until = given.pop("since"), given.pop("until")
    found = [_LOG[name] == value for name, value in given.items() if value is not None]
    if since is not None:
        found.append(_LOG.started_at >= since)
    if until is not None:
        found.append(_LOG.started_at < until)
    return found
