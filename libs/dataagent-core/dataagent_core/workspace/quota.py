"""The quota ledger: how many bytes each user has, reserved before they are written.

Measuring a tree on every write is slow, and two writers at once would both pass the check. A write
first reserves its bytes in one atomic step, then happens, then releases what it did not need.
Changes that bypass the ledger (a shell command) are corrected by `reconcile` with the measured
size, reservations of a crashed process by `correct_if_quiet`.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, Connection, and_, case, insert, select, update
from sqlalchemy.exc import IntegrityError

from dataagent_core.errors import QuotaExceeded
from dataagent_core.storage import Database
from dataagent_core.storage.tables import workspace_usage

_RowUnit = Callable[[Connection], bool]  # False when the user has no row yet
_TABLE = workspace_usage.c
QUIET = timedelta(seconds=10)
"""What was booked so long ago has been written, or never will be."""


class QuotaLedger(ABC):
    """Bytes in use by user. All amounts are bytes."""

    @abstractmethod
    async def reserve(self, user_id: str, delta: int, quota: int) -> None:
        """Reserve `delta` more bytes unless that would exceed the quota.

        Raises:
            QuotaExceeded: nothing was booked; the message says how much is missing.
        """

    @abstractmethod
    async def release(self, user_id: str, freed: int) -> None:
        """Release bytes. A negative amount adds bytes that already exist."""

    @abstractmethod
    async def usage(self, user_id: str) -> int | None:
        """Return the bytes in use, or None for an unknown user."""

    @abstractmethod
    async def initialize(self, user_id: str, actual: int) -> None:
        """Set a new user's bytes to what was measured; an existing entry stays."""

    @abstractmethod
    async def reconcile(self, user_id: str, actual: int) -> None:
        """Set a user's bytes to what was measured."""

    async def correct_if_quiet(
        self,
        user_id: str,
        measure: Callable[[], Awaitable[int]],
        *,
        quiet: timedelta = QUIET,
    ) -> int | None:
        """Compare the ledger with what is measured, correct it if nothing changed meanwhile, and
        return the bytes in use, or None as `usage`.

        Where a write may be under way the book stays as it is.
        """
        quiet_since = datetime.now(UTC) - quiet
        booked = await self.usage(user_id)
        if booked is None:
            return None
        actual = await measure()
        if actual == booked or await self._correct(user_id, booked, actual, quiet_since):
            return actual
        return booked

    @abstractmethod
    async def _correct(self, user_id: str, booked: int, actual: int, quiet_since: datetime) -> bool:
        """Set the bytes, unless the entry changed since."""


def over_quota(used: int, quota: int, needed: int) -> QuotaExceeded:
    """Return the refusal of a write that does not fit."""
    return QuotaExceeded(
        f"The workspace is full: {used} of {quota} bytes are used and this needs {needed} more. "
        "Delete files that are no longer needed, or ask for a larger quota.",
        details={"bytes_used": used, "quota": quota, "needed": needed},
    )


class MemoryQuotaLedger(QuotaLedger):
    """A ledger for one process."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}
        self._changed_at: dict[str, datetime] = {}
        self._lock = threading.Lock()

    async def reserve(self, user_id: str, delta: int, quota: int) -> None:
        """As `QuotaLedger.reserve`."""
        with self._lock:
            used = self._used.get(user_id, 0)
            if delta > 0 and used + delta > quota:
                raise over_quota(used, quota, delta)
            self._put(user_id, max(0, used + delta))

    async def release(self, user_id: str, freed: int) -> None:
        """As `QuotaLedger.release`."""
        with self._lock:
            self._put(user_id, max(0, self._used.get(user_id, 0) - freed))

    async def usage(self, user_id: str) -> int | None:
        """As `QuotaLedger.usage`."""
        return self._used.get(user_id)

    async def initialize(self, user_id: str, actual: int) -> None:
        """As `QuotaLedger.initialize`."""
        with self._lock:
            if user_id not in self._used:
                self._put(user_id, actual)

    async def reconcile(self, user_id: str, actual: int) -> None:
        """As `QuotaLedger.reconcile`."""
        with self._lock:
            self._put(user_id, actual)

    async def _correct(self, user_id: str, booked: int, actual: int, quiet_since: datetime) -> bool:
        with self._lock:
            if self._used.get(user_id) != booked or self._changed_at[user_id] > quiet_since:
                return False
            self._put(user_id, actual)
            return True

    def _put(self, user_id: str, used: int) -> None:
        self._used[user_id] = used
        self._changed_at[user_id] = datetime.now(UTC)


class SqlQuotaLedger(QuotaLedger):
    """A ledger shared by all processes through the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def reserve(self, user_id: str, delta: int, quota: int) -> None:
        """As `QuotaLedger.reserve`: one conditional UPDATE decides."""
        if delta <= 0:
            await self.release(user_id, -delta)
            return
        await self._write_row(
            user_id, lambda connection: _reserve(connection, user_id, delta, quota)
        )

    async def release(self, user_id: str, freed: int) -> None:
        """As `QuotaLedger.release`."""
        if freed:
            await self._write_row(user_id, lambda connection: _release(connection, user_id, freed))

    async def usage(self, user_id: str) -> int | None:
        """As `QuotaLedger.usage`."""
        return await self._database.read(lambda connection: _used(connection, user_id))

    async def initialize(self, user_id: str, actual: int) -> None:
        """As `QuotaLedger.initialize`."""
        with suppress(IntegrityError):  # another was quicker, and may have booked since
            await self._database.write(lambda connection: _insert(connection, user_id, actual))

    async def reconcile(self, user_id: str, actual: int) -> None:
        """As `QuotaLedger.reconcile`."""
        await self._write_row(user_id, lambda connection: _set(connection, user_id, actual))

    async def _correct(self, user_id: str, booked: int, actual: int, quiet_since: datetime) -> bool:
        is_quiet = and_(_TABLE.bytes_used == booked, _TABLE.updated_at <= quiet_since)
        return await self._database.write(
            lambda connection: _set(connection, user_id, actual, is_quiet)
        )

    async def _write_row(self, user_id: str, unit: _RowUnit) -> None:
        """Run the unit; if the user's row is missing, insert it and run the unit again."""
        if await self._database.write(unit):
            return
        with suppress(IntegrityError):  # another process made the row first
            await self._database.write(lambda connection: _insert(connection, user_id))
        await self._database.write(unit)


def _used(connection: Connection, user_id: str) -> int | None:
    found = connection.execute(select(_TABLE.bytes_used).where(_TABLE.user_id == user_id)).scalar()
    return None if found is None else int(found)


def _reserve(connection: Connection, user_id: str, delta: int, quota: int) -> bool:
    fits = _TABLE.bytes_used + delta <= quota
    changed = connection.execute(
        update(workspace_usage)
        .where(_TABLE.user_id == user_id, fits)
        .values(bytes_used=_TABLE.bytes_used + delta, updated_at=datetime.now(UTC))
    ).rowcount
    if changed:
        return True
    used = _used(connection, user_id)
    if used is None:
        return False
    raise over_quota(used, quota, delta)


def _release(connection: Connection, user_id: str, freed: int) -> bool:
    left = case((_TABLE.bytes_used > freed, _TABLE.bytes_used - freed), else_=0)
    changed = connection.execute(
        update(workspace_usage)
        .where(_TABLE.user_id == user_id)
        .values(bytes_used=left, updated_at=datetime.now(UTC))
    ).rowcount
    return bool(changed)


def _set(
    connection: Connection, user_id: str, actual: int, *conditions: ColumnElement[bool]
) -> bool:
    changed = connection.execute(
        update(workspace_usage)
        .where(_TABLE.user_id == user_id, *conditions)
        .values(bytes_used=actual, updated_at=datetime.now(UTC))
    ).rowcount
    return bool(changed)


def _insert(connection: Connection, user_id: str, actual: int = 0) -> None:
    row = {"user_id": user_id, "bytes_used": actual, "updated_at": datetime.now(UTC)}
    connection.execute(insert(workspace_usage).values(**row))
