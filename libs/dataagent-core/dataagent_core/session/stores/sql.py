"""Sessions and messages in SQLite, PostgreSQL or MySQL/MariaDB.

`SqlSessionStore` serves all three databases through `storage.Database`. Deleting a session deletes
its messages, runs, events and approvals through the tables' foreign keys.

The stores named after a database open one of their own: `async with` creates the tables and closes
the connections at the end; `init_tables` and `close` do the same one by one. The `messages` of a
session store share its connections.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from sqlalchemy import (
    URL,
    ColumnElement,
    Connection,
    Row,
    bindparam,
    delete,
    exists,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from dataagent_core.errors import Conflict, SessionNotFound
from dataagent_core.session.store import (
    ConversationStore,
    DatabaseUser,
    MessageStore,
    Store,
    T,
)
from dataagent_core.session.types import Message, Role, Session, metadata_bytes, now
from dataagent_core.storage import Database, open_database
from dataagent_core.storage.database import is_storable, storable
from dataagent_core.storage.migrate import migrate
from dataagent_core.storage.prepared_statement import PreparedStatement
from dataagent_core.storage.tables import deleted_sessions, messages, runs, sessions

_ID = sessions.c.session_id == bindparam("key")
_SESSION = select(*(sessions.c[f.name] for f in fields(Session)))
_NEWEST_FIRST = (sessions.c.last_active.desc(), sessions.c.session_id)
_IS_SOFT_DELETED = sessions.c.deleted_at.is_not(None)
_IS_VISIBLE = sessions.c.deleted_at.is_(None)
_GET = PreparedStatement(_SESSION.where(_ID, _IS_VISIBLE))
_GET_SOFT_DELETED = _SESSION.where(_ID, _IS_SOFT_DELETED)
_BY_THREAD = _SESSION.where(sessions.c.thread_id == bindparam("thread_id"), _IS_VISIBLE)
_IS_TAKEN = select(sessions.c.session_id).where(
    (sessions.c.session_id == bindparam("key")) | (sessions.c.thread_id == bindparam("thread_id"))
)
_OF_USER = (sessions.c.user_id == bindparam("user_id")) & _IS_VISIBLE
_BY_USER = _SESSION.where(_OF_USER).order_by(*_NEWEST_FIRST)
_BY_ASSISTANT = _SESSION.where(
    sessions.c.assistant_id == bindparam("assistant_id"), _IS_VISIBLE
).order_by(*_NEWEST_FIRST)
_COUNT_BY_USER = select(func.count()).where(_OF_USER)
_BYTES_OF_USER = select(func.sum(sessions.c.bytes_used)).where(
    sessions.c.user_id == bindparam("user_id")
)
_CREATE = insert(sessions)
_WAS_DELETED = select(deleted_sessions.c.session_id).where(
    deleted_sessions.c.session_id == bindparam("key")
)
_TOUCH = update(sessions).where(_ID, _IS_VISIBLE).values(last_active=bindparam("at"))
_SOFT_DELETE = update(sessions).where(_ID, _IS_VISIBLE).values(deleted_at=bindparam("at"))
_RESTORE = update(sessions).where(_ID, _IS_SOFT_DELETED).values(deleted_at=None)
_SOFT_DELETED_BEFORE = (
    _SESSION.where(sessions.c.deleted_at < bindparam("at"))
    .order_by(sessions.c.deleted_at)
    .limit(bindparam("most"))
)
_UPDATE = (
    update(sessions)
    .where(_ID, _IS_VISIBLE)
    .values(
        title=bindparam("new_title"),
        state=bindparam("new_state"),
        metadata=bindparam("new_metadata"),
        last_active=bindparam("at"),
    )
)
_DELETE_RUNS = delete(runs).where(runs.c.session_id == bindparam("key"))
_DELETE = delete(sessions).where(_ID)
_CLOSE_ID = insert(deleted_sessions)
# a session whose run is active is not idle, however long the run takes
_IS_IDLE = (sessions.c.last_active < bindparam("cutoff")) & ~exists().where(
    runs.c.active_session == sessions.c.session_id
)
_EXPIRED = select(sessions.c.session_id).where(_IS_IDLE).order_by(sessions.c.last_active)
_LOCK_EXPIRED = select(sessions.c.session_id).where(_IS_IDLE).with_for_update()

_OF_SESSION = messages.c.session_id == bindparam("key")
_MESSAGES = (
    select(*(messages.c[f.name] for f in fields(Message)))
    .where(_OF_SESSION)
    .order_by(messages.c.position)
    .limit(bindparam("page"))
    .offset(bindparam("skip"))
)
_COUNT_MESSAGES = select(func.count()).where(_OF_SESSION)
_DELETE_MESSAGES = delete(messages).where(_OF_SESSION)
_SAVE_MESSAGE = insert(messages).inline()


class _SqlStore(Store):
    """A store in a database, which is closed with the store if it `is_own`."""

    def __init__(self, database: Database, *, is_own: bool = False) -> None:
        self._db = database
        self._is_own = is_own

    async def init_tables(self) -> None:
        """As `Store.init_tables`."""
        await migrate(self._db)

    async def close(self) -> None:
        """As `Store.close`."""
        if self._is_own:
            await self._db.close()


class SqlSessionStore(_SqlStore, ConversationStore):
    """Sessions in a SQL database."""

    def __init__(self, database: Database, *, is_own: bool = False) -> None:
        super().__init__(database, is_own=is_own)
        self._opened: DatabaseUser | None = None
        self._opening = asyncio.Lock()

    async def close(self) -> None:
        """As `Store.close`."""
        if self._opened is not None:
            await self._opened.close()
        await super().close()

    async def insert(self, session: Session) -> bool:
        """As `ConversationStore.insert`."""
        row = {f.name: getattr(session, f.name) for f in fields(Session)}
        row["bytes_used"] = metadata_bytes(session)
        try:
            await self._db.write(lambda c: _insert(c, row))
        except IntegrityError as error:
            same = {"key": session.session_id, "thread_id": session.thread_id}
            taken = {row[0] for row in await self._read(_IS_TAKEN, same)}
            if session.session_id in taken:
                raise Conflict(f"Session {session.session_id!r} exists already.") from error
            if taken:
                return False
            if await self._read(_WAS_DELETED, {"key": session.session_id}):
                raise _deleted_error(session.session_id) from error
            raise
        return True

    async def get(self, session_id: str) -> Session | None:
        """As `SessionStore.get`."""
        if not is_storable(session_id):
            return None
        rows = await self._db.read(lambda c: _GET.rows(c, {"key": session_id}))
        return Session(*rows[0]) if rows else None

    async def get_by_thread(self, thread_id: str) -> Session | None:
        """As `ConversationStore.get_by_thread`."""
        if not is_storable(thread_id):
            return None
        rows = await self._read(_BY_THREAD, {"thread_id": thread_id})
        return Session(*rows[0]) if rows else None

    async def update(self, session: Session) -> None:
        """As `SessionStore.update`."""
        changed = await self._write(
            _UPDATE,
            {
                "key": session.session_id,
                "new_title": session.title,
                "new_state": session.state,
                "new_metadata": session.metadata,
                "at": session.last_active,
            },
        )
        if not changed:
            raise SessionNotFound(f"There is no session {session.session_id!r}.")

    async def touch(self, session_id: str) -> None:
        """As `ConversationStore.touch`."""
        await self._write(_TOUCH, {"key": session_id, "at": now()})

    async def delete(self, session_id: str, *, frees_id: bool = False) -> bool:
        """As `ConversationStore.delete`."""
        if not is_storable(session_id):
            return False
        return await self._db.write(lambda c: _delete(c, session_id, frees_id=frees_id))

    async def soft_delete(self, session_id: str) -> bool:
        """As `ConversationStore.soft_delete`."""
        return await self._write(_SOFT_DELETE, {"key": session_id, "at": now()}) > 0

    async def get_soft_deleted(self, session_id: str) -> Session | None:
        """As `ConversationStore.get_soft_deleted`."""
        if not is_storable(session_id):
            return None
        rows = await self._read(_GET_SOFT_DELETED, {"key": session_id})
        return Session(*rows[0]) if rows else None

    async def restore(self, session_id: str) -> bool:
        """As `ConversationStore.restore`."""
        return await self._write(_RESTORE, {"key": session_id}) > 0

    async def soft_deleted_before(self, at: datetime, *, limit: int = 500) -> list[Session]:
        """As `ConversationStore.soft_deleted_before`."""
        rows = await self._read(_SOFT_DELETED_BEFORE, {"at": at, "most": limit})
        return [Session(*row) for row in rows]

    async def list_by_user(
        self, user_id: str, *, limit: int | None = None, offset: int = 0
    ) -> list[Session]:
        """As `ConversationStore.list_by_user`."""
        page = _BY_USER.limit(limit).offset(offset) if limit is not None or offset else _BY_USER
        return [Session(*row) for row in await self._read(page, {"user_id": user_id})]

    async def list_by_assistant(self, assistant_id: str) -> list[Session]:
        """As `SessionStore.list_by_assistant`."""
        rows = await self._read(_BY_ASSISTANT, {"assistant_id": assistant_id})
        return [Session(*row) for row in rows]

    async def count_by_user(self, user_id: str) -> int:
        """As `ConversationStore.count_by_user`."""
        return (await self._read(_COUNT_BY_USER, {"user_id": user_id}))[0][0]

    async def bytes_of_user(self, user_id: str) -> int:
        """As `ConversationStore.bytes_of_user`."""
        return int((await self._read(_BYTES_OF_USER, {"user_id": user_id}))[0][0] or 0)

    async def expired(self, timeout_seconds: float) -> list[str]:
        """As `ConversationStore.expired`; a session with an active run is not idle."""
        rows = await self._read(_EXPIRED, {"cutoff": _cutoff(timeout_seconds)})
        return [row[0] for row in rows]

    async def cleanup_expired(self, timeout_seconds: float) -> int:
        """As `SessionStore.cleanup_expired`."""
        return await self._db.write(lambda c: _delete_expired(c, _cutoff(timeout_seconds)))

    @property
    def messages(self) -> MessageStore:
        """As `ConversationStore.messages`."""
        return SqlMessageStore(self._db)

    async def open_with_database(self, make: Callable[[Database], T]) -> T:
        """As `ConversationStore.open_with_database`."""
        async with self._opening:
            if self._opened is None:
                opened = make(self._db)
                try:
                    await opened.setup()
                except BaseException:
                    await opened.close()
                    raise
                self._opened = opened
        return cast("T", self._opened)  # one kind of thing is opened: the checkpoints

    async def _read(
        self, statement: Any, values: dict[str, Any]
    ) -> Sequence[Row[*tuple[Any, ...]]]:  # Any: selects of several shapes
        return await self._db.read(lambda c: c.execute(statement, values).all())

    async def _write(
        self, statement: Any, values: dict[str, Any]
    ) -> int:  # Any: insert, update or delete
        return await self._db.write(lambda c: c.execute(statement, values).rowcount)


class SqlMessageStore(_SqlStore, MessageStore):
    """Messages in a SQL database."""

    async def save_message(
        self,
        session_id: str,
        role: Role,
        content: str,
        metadata: dict[str, Any] | None = None,
    ) -> str:
        """As `MessageStore.save_message`."""
        message_id = str(uuid4())
        row = {
            "message_id": message_id,
            "session_id": session_id,
            "role": role,
            "content": storable(content),
            "status": "complete",
            "created_at": now(),
            "metadata": metadata or {},
        }

        def unit(connection: Connection) -> None:
            connection.execute(_SAVE_MESSAGE, row)

        try:
            await self._db.write(unit)
        except IntegrityError as error:  # the session's foreign key: the id is fresh
            raise SessionNotFound(f"There is no session {session_id!r}.") from error
        return message_id

    async def get_messages(
        self, session_id: str, limit: int = 100, offset: int = 0
    ) -> list[Message]:
        """As `MessageStore.get_messages`."""
        values = {"key": session_id, "page": limit, "skip": offset}
        rows = await self._db.read(lambda c: c.execute(_MESSAGES, values).all())
        return [Message(*row) for row in rows]

    async def sessions_containing(self, text: str, session_ids: Sequence[str]) -> set[str]:
        """As `MessageStore.sessions_containing`."""
        if not session_ids or not is_storable(text):
            return set()
        statement = (
            select(messages.c.session_id)
            .where(messages.c.session_id.in_(session_ids), _has(self._db.dialect, text))
            .distinct()
        )
        return await self._db.read(lambda c: set(c.execute(statement).scalars()))

    async def count_messages(self, session_id: str) -> int:
        """As `MessageStore.count_messages`."""
        return await self._db.read(
            lambda c: c.execute(_COUNT_MESSAGES, {"key": session_id}).scalar_one()
        )

    async def delete_messages(self, session_id: str) -> int:
        """As `MessageStore.delete_messages`."""
        return await self._db.write(
            lambda c: c.execute(_DELETE_MESSAGES, {"key": session_id}).rowcount
        )


def _has(dialect: str, text: str) -> ColumnElement[bool]:
    """Whether a message has the text in it, whatever the case of its ASCII letters."""
    content = messages.c.content
    if dialect == "mysql":  # its usual collations take many characters for one, all emoji say
        binary = func.lower(content).collate("utf8mb4_bin")
        return binary.contains(text.lower(), autoescape=True)
    if dialect == "postgresql":
        return content.icontains(text, autoescape=True)
    return content.contains(text, autoescape=True)


def _insert(connection: Connection, row: dict[str, Any]) -> None:
    """Insert a session whose id was never deleted.

    The row goes in first: it waits for a deletion under way, whose mark is then seen.
    """
    connection.execute(_CREATE, row)
    session_id = row["session_id"]
    if connection.execute(_WAS_DELETED, {"key": session_id}).first() is not None:
        raise _deleted_error(session_id)


def _deleted_error(session_id: str) -> Conflict:
    return Conflict(f"Session {session_id!r} was deleted.")


def _delete(connection: Connection, session_id: str, *, frees_id: bool = False) -> bool:
    # the run is locked before its session, as a run's own writes do: no deadlock between them
    connection.execute(_DELETE_RUNS, {"key": session_id})
    if not connection.execute(_DELETE, {"key": session_id}).rowcount:
        return False
    if not frees_id:
        connection.execute(_CLOSE_ID, {"session_id": session_id, "deleted_at": now()})
    return True


def _delete_expired(connection: Connection, cutoff: datetime) -> int:
    expired = connection.execute(_LOCK_EXPIRED, {"cutoff": cutoff}).scalars().all()
    return sum(_delete(connection, session_id) for session_id in expired)


def _cutoff(timeout_seconds: float) -> datetime:
    return now() - timedelta(seconds=timeout_seconds)


class SQLiteSessionStore(SqlSessionStore):
    """Sessions in a SQLite file."""

    def __init__(self, path: str | Path = "dataagent.db") -> None:
        super().__init__(_sqlite(path), is_own=True)


class SQLiteMessageStore(SqlMessageStore):
    """Messages in a SQLite file, of the sessions in the same file."""

    def __init__(self, path: str | Path = "dataagent.db") -> None:
        super().__init__(_sqlite(path), is_own=True)


class MySQLSessionStore(SqlSessionStore):
    """Sessions in a MySQL or MariaDB database, which has to exist."""

    def __init__(
        self,
        host: str = "localhost",
        port: int = 3306,
        user: str = "root",
        password: str = "",
        database: str = "dataagent",
        pool_size: int = 10,
        max_overflow: int = 20,
    ) -> None:
        url = URL.create("mysql", user, password or None, host, port, database)
        super().__init__(_server(url, pool_size, max_overflow), is_own=True)


class MySQLMessageStore(SqlMessageStore):
    """Messages in a MySQL or MariaDB database, of the sessions in the same database."""

    def __init__(
        self,
        host: str = "localhost",
        port: int = 3306,
        user: str = "root",
        password: str = "",
        database: str = "dataagent",
        pool_size: int = 10,
        max_overflow: int = 20,
    ) -> None:
        url = URL.create("mysql", user, password or None, host, port, database)
        super().__init__(_server(url, pool_size, max_overflow), is_own=True)


class PostgresSessionStore(SqlSessionStore):
    """Sessions in a PostgreSQL database, which has to exist."""

    def __init__(
        self,
        host: str = "localhost",
        port: int = 5432,
        user: str = "postgres",
        password: str = "",
        database: str = "dataagent",
        pool_size: int = 10,
        max_overflow: int = 20,
    ) -> None:
        url = URL.create("postgresql", user, password or None, host, port, database)
        super().__init__(_server(url, pool_size, max_overflow), is_own=True)


class PostgresMessageStore(SqlMessageStore):
    """Messages in a PostgreSQL database, of the sessions in the same database."""

    def __init__(
        self,
        host: str = "localhost",
        port: int = 5432,
        user: str = "postgres",
        password: str = "",
        database: str = "dataagent",
        pool_size: int = 10,
        max_overflow: int = 20,
    ) -> None:
        url = URL.create("postgresql", user, password or None, host, port, database)
        super().__init__(_server(url, pool_size, max_overflow), is_own=True)


def _sqlite(path: str | Path) -> Database:
    return open_database(URL.create("sqlite", database=str(path)))


def _server(url: URL, pool_size: int, max_overflow: int) -> Database:
    return open_database(url, pool_size=pool_size, max_overflow=max_overflow)
