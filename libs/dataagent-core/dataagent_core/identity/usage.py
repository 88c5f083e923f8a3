"""The usage of each user by day (UTC): runs, tokens, tool calls, SQL and wall seconds.

Runs note their usage when they end; a loop writes the notes at most once a second. A process that
is killed loses the notes of its last second.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import Connection, Insert, Row, bindparam, func, select
from sqlalchemy.dialects import mysql, sqlite

from dataagent_core.errors import Denied
from dataagent_core.identity.principal import Principal
from dataagent_core.storage import Database
from dataagent_core.storage.background_tasks import cancel_all
from dataagent_core.storage.tables import usage_days, users

logger = logging.getLogger(__name__)
_PAUSE_SECONDS = 1.0
_AMOUNTS = ("runs", "input_tokens", "output_tokens", "tool_calls", "sql_seconds", "wall_seconds")

_DAY = select(usage_days).where(
    usage_days.c.user_id == bindparam("owner"), usage_days.c.day == bindparam("on")
)
_IN_SPAN = (usage_days.c.day >= bindparam("first")) & (usage_days.c.day <= bindparam("last"))
_ALL_DAYS = (
    select(usage_days, users.c.username)
    .outerjoin(users, users.c.id == usage_days.c.user_id)
    .where(_IN_SPAN)
    .order_by(usage_days.c.day.desc(), usage_days.c.user_id)
)
_DAYS = _ALL_DAYS.where(usage_days.c.user_id == bindparam("owner"))
_COUNT_ALL = select(func.count()).select_from(usage_days).where(_IN_SPAN)


@dataclass(slots=True)
class Amounts:
    """How much of everything."""

    runs: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    tool_calls: int = 0
    sql_seconds: float = 0.0
    wall_seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """Tokens, in and out."""
        return self.input_tokens + self.output_tokens

    def add(self, more: Amounts) -> None:
        """Count more."""
        self.runs += more.runs
        self.input_tokens += more.input_tokens
        self.output_tokens += more.output_tokens
        self.tool_calls += more.tool_calls
        self.sql_seconds += more.sql_seconds
        self.wall_seconds += more.wall_seconds


@dataclass(frozen=True, slots=True)
class DayUsage:
    """What a user used on a day. Without an account they have no `username`."""

    user_id: str
    day: date
    amounts: Amounts
    username: str | None = None


class UsageRecorder:
    """What was used, in the database. Start it, and close it when all runs have ended."""

    def __init__(self, database: Database, *, pause_seconds: float = _PAUSE_SECONDS) -> None:
        self._db = database
        self._add = _upsert(database.dialect)
        self._pause_seconds = pause_seconds
        self._pending: dict[tuple[str, date], Amounts] = {}
        self._has_notes = asyncio.Event()
        self._writing = asyncio.Lock()
        self._writer: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start writing."""
        self._writer = asyncio.create_task(self._flush_loop(), name="usage")

    async def aclose(self) -> None:
        """Write what is left and stop."""
        await cancel_all([self._writer])
        await self._try_to_flush()

    def note(self, user_id: str, day: date, amounts: Amounts) -> None:
        """Count something; it is written soon."""
        self._pending.setdefault((user_id, day), Amounts()).add(amounts)
        self._has_notes.set()

    async def of_day(self, user_id: str, day: date) -> Amounts:
        """What a user used on a day, with what is noted here and not yet written."""
        values = {"owner": user_id, "on": day}
        async with self._writing:
            row = await self._db.read(lambda c: c.execute(_DAY, values).first())
            found = Amounts() if row is None else _amounts(row)
            noted = self._pending.get((user_id, day))
        if noted is not None:
            found.add(noted)
        return found

    async def days(self, user_id: str, first: date, last: date) -> list[DayUsage]:
        """The days on which a user used something, the newest first.

        Raises:
            StorageUnavailable: the database does not answer.
        """
        await self.flush()
        values = {"owner": user_id, "first": first, "last": last}
        rows = await self._db.read(lambda c: list(c.execute(_DAYS, values)))
        return [_day(row) for row in rows]

    async def days_for(
        self, caller: Principal, first: date, last: date, *, user_id: str | None = None
    ) -> list[DayUsage]:
        """As `days`, of the caller, or of the user that is named.

        Raises:
            Denied: it is another user, and the caller is no administrator.
        """
        if user_id not in (None, caller.user_id) and not caller.is_admin:
            raise Denied("Only an administrator may see what others use.")
        return await self.days(user_id or caller.user_id, first, last)

    async def page_for(
        self,
        caller: Principal,
        first: date,
        last: date,
        *,
        user_id: str | None = None,
        is_everyone: bool = False,
        limit: int,
        offset: int,
    ) -> tuple[list[DayUsage], int]:
        """A page of `days_for`, or of `days_of_all`, and how many there are. Raises as they do."""
        if is_everyone:
            return await self.days_of_all(caller, first, last, limit=limit, offset=offset)
        found = await self.days_for(caller, first, last, user_id=user_id)
        return found[offset : offset + limit], len(found)

    async def days_of_all(
        self, caller: Principal, first: date, last: date, *, limit: int, offset: int
    ) -> tuple[list[DayUsage], int]:
        """A page of everybody's days, the newest first, and how many there are.

        Raises:
            Denied: the caller is no administrator.
            StorageUnavailable: the database does not answer.
        """
        if not caller.is_admin:
            raise Denied("Only an administrator may see what others use.")
        await self.flush()
        values = {"first": first, "last": last}
        statement = _ALL_DAYS.limit(limit).offset(offset)

        def unit(connection: Connection) -> tuple[list[Row[Any]], int]:
            total = connection.execute(_COUNT_ALL, values).scalar() or 0
            return [*connection.execute(statement, values)], total

        rows, total = await self._db.read(unit)
        return [_day(row) for row in rows], total

    async def flush(self) -> None:
        """Write what is noted.

        Raises:
            StorageUnavailable: the database does not answer; the notes remain.
        """
        async with self._writing:
            self._has_notes.clear()
            taken, self._pending = self._pending, {}
            if not taken:
                return
            # in one order, so that two processes that write the same rows cannot lock each other
            rows = [_row(key, taken[key]) for key in sorted(taken)]
            try:
                await self._db.write(lambda c: _execute(c, self._add, rows), is_durable=False)
            except BaseException:
                for (user_id, day), amounts in taken.items():
                    self.note(user_id, day, amounts)
                raise

    async def _flush_loop(self) -> None:
        while True:
            await self._has_notes.wait()
            await self._try_to_flush()
            await asyncio.sleep(self._pause_seconds)

    async def _try_to_flush(self) -> None:
        try:
            await self.flush()
        except Exception:
            logger.warning("usage could not be written; it is tried again", exc_info=True)


def today() -> date:
    """The day it is, in UTC."""
    return datetime.now(UTC).date()


def _upsert(dialect: str) -> Insert:
    """An INSERT that adds to the row of the user and day if there is one."""
    if dialect == "mysql":
        new = mysql.insert(usage_days)
        return new.on_duplicate_key_update(
            {name: usage_days.c[name] + new.inserted[name] for name in _AMOUNTS}
        )
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql

        fresh = postgresql.insert(usage_days)
    else:
        fresh = sqlite.insert(usage_days)
    return fresh.on_conflict_do_update(
        index_elements=[usage_days.c.user_id, usage_days.c.day],
        set_={name: usage_days.c[name] + fresh.excluded[name] for name in _AMOUNTS},
    )


def _execute(connection: Connection, statement: Insert, rows: list[dict[str, Any]]) -> None:
    connection.execute(statement, rows)


def _row(key: tuple[str, date], amounts: Amounts) -> dict[str, Any]:
    return {"user_id": key[0], "day": key[1], **asdict(amounts)}


def _day(row: Row[Any]) -> DayUsage:
    return DayUsage(row.user_id, row.day, _amounts(row), row.username)


def _amounts(row: Row[Any]) -> Amounts:
    return Amounts(**{name: getattr(row, name) for name in _AMOUNTS})
