"""LangGraph's SQLite saver on our database's own threads, with a cache of recent threads.

`AsyncSqliteSaver` hops to a thread for every statement and holds a lock around it; here each call
is one unit of work of `SqliteDatabase`, so that checkpoints share its commits. LangGraph stores a
thread's messages as writes on a chain of checkpoints and joins them at every turn. What a
checkpoint stands for never changes, so the joined thread is cached under the checkpoint's id; the
next turn adds the writes since.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_id,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Overwrite
from sqlalchemy import Connection

from dataagent_core.engine.checkpoints.savers import CachingSerialiser, Checkpoints, check_fence
from dataagent_core.middleware.upstream import DeltaSnapshot, reduce_messages
from dataagent_core.models.messages import Thread
from dataagent_core.storage import Database

_MAX_MESSAGES = 20_000


class ThreadCache:
    """The latest known thread of each conversation. Safe to use from several threads."""

    def __init__(self, *, max_messages: int = _MAX_MESSAGES) -> None:
        self._threads: OrderedDict[tuple[str, str], tuple[str, Thread]] = OrderedDict()
        self._max_messages = max_messages
        self._messages = 0
        self._lock = threading.Lock()

    def get(self, thread_id: str, namespace: str) -> tuple[str, Thread] | None:
        """A checkpoint's id and the thread as of it."""
        with self._lock:
            return self._threads.get((thread_id, namespace))

    def keep(self, thread_id: str, namespace: str, checkpoint_id: str, thread: Thread) -> None:
        """Store the thread as of a checkpoint, replacing the earlier one."""
        with self._lock:
            self._drop((thread_id, namespace))
            if len(thread) > self._max_messages:
                return
            self._threads[thread_id, namespace] = (checkpoint_id, thread)
            self._messages += len(thread)
            while self._messages > self._max_messages:
                self._drop(next(iter(self._threads)))

    def forget(self, thread_id: str) -> None:
        """Drop a deleted thread."""
        with self._lock:
            for key in [each for each in self._threads if each[0] == thread_id]:
                self._drop(key)

    def _drop(self, key: tuple[str, str]) -> None:
        known = self._threads.pop(key, None)
        if known is not None:
            self._messages -= len(known[1])


MESSAGES = "messages"
_WRITES = """
SELECT task_path, task_id, idx, type, value FROM writes
WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? AND channel = ?
"""


class _UnitSaver(SqliteSaver):
    """The synchronous saver inside a unit of work: who runs the unit commits, not the saver."""

    def __init__(self, connection: sqlite3.Connection, serialiser: SerializerProtocol) -> None:
        """Only what a unit needs: a turn has several, and LangGraph's own costs more than one."""
        self.conn = connection
        self.serde = serialiser

    def setup(self) -> None:
        """The tables are made by `SqliteCheckpoints.setup`."""

    @contextmanager
    def cursor(self, transaction: bool = True) -> Generator[sqlite3.Cursor]:
        """A cursor without a commit."""
        cursor = self.conn.cursor()
        try:
            yield cursor
        finally:
            cursor.close()

    def writes_on(self, config: RunnableConfig) -> list[Any]:
        """The writes to the messages on a checkpoint, in their order."""
        place = (*_thread_of(config), _checkpoint_id(config), MESSAGES)
        with self.cursor() as cursor:
            rows = cursor.execute(_WRITES, place).fetchall()
        rows.sort(key=lambda row: writes_sort_key(row[0], row[1], row[2]))
        return [self.serde.loads_typed((row[3], row[4])) for row in rows]


class SharedSqliteSaver(BaseCheckpointSaver[str]):
    """The asynchronous face of `_UnitSaver`."""

    def __init__(
        self, database: Database, serialiser: CachingSerialiser, cache: ThreadCache
    ) -> None:
        self.serde = serialiser  # what LangGraph's `__init__` does, after a look at its methods
        self._database = database
        self._cache = cache
        self._prefetched: tuple[str, Mapping[str, DeltaChannelHistory]] | None = None

    def _on(self, connection: Connection) -> _UnitSaver:
        return _UnitSaver(_raw(connection), self.serde)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The thread's checkpoint, read together with its history, which is requested next."""

        def unit(connection: Connection) -> CheckpointTuple | None:
            saver = self._on(connection)
            found = saver.get_tuple(config)
            if found is not None and MESSAGES in found.checkpoint["channel_versions"]:
                history = self._history(saver, found)
                if _snapshot_in(found) and "seed" in history:
                    found.checkpoint["channel_values"][MESSAGES] = history["seed"]
                self._prefetched = (_checkpoint_id(found.config), {MESSAGES: history})
            return found

        self._prefetched = None
        return await self._database.read(unit)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """The thread's checkpoints, newest first."""

        def unit(connection: Connection) -> list[CheckpointTuple]:
            saver = self._on(connection)
            return list(saver.list(config, filter=filter, before=before, limit=limit))

        for item in await self._database.read(unit):
            yield item

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint."""
        await check_fence()
        return await self._database.write(
            lambda c: self._on(c).put(config, checkpoint, metadata, new_versions), is_durable=False
        )

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store the writes of a task."""
        await check_fence()
        await self._database.write(
            lambda c: self._on(c).put_writes(config, writes, task_id, task_path), is_durable=False
        )

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread."""
        await self._database.write(lambda c: self._on(c).delete_thread(thread_id))
        self._cache.forget(thread_id)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """The writes a thread's messages are made of."""
        ahead, self._prefetched = self._prefetched, None
        if ahead is not None and [*channels] == [MESSAGES] and ahead[0] == _checkpoint_id(config):
            return ahead[1]
        return await self._database.read(
            lambda c: self._on(c).get_delta_channel_history(config=config, channels=channels)
        )

    def _history(self, saver: _UnitSaver, found: CheckpointTuple) -> DeltaChannelHistory:
        """The thread's messages as of a checkpoint, put together."""
        thread = self._extend_cached(saver, found)
        if thread is None:
            history = (
                _snapshot_in(found)
                or saver.get_delta_channel_history(config=found.config, channels=[MESSAGES])[
                    MESSAGES
                ]
            )
            writes = [value for _, _, value in history["writes"]]
            seed = history.get("seed", DeltaSnapshot(()))
            if not isinstance(seed, DeltaSnapshot) or _has_overwrite(writes):
                return history
            thread = reduce_messages(Thread(seed.value), writes)
        self._cache.keep(*_thread_of(found.config), _checkpoint_id(found.config), thread)
        return {"seed": DeltaSnapshot(thread), "writes": []}

    def _extend_cached(self, saver: _UnitSaver, found: CheckpointTuple) -> Thread | None:
        """The thread, if it is known as of this checkpoint or of the one before it."""
        known = self._cache.get(*_thread_of(found.config))
        if known is None or _snapshot_in(found):
            return None
        checkpoint_id, thread = known
        if checkpoint_id == _checkpoint_id(found.config):
            return thread
        if found.parent_config is None or checkpoint_id != _checkpoint_id(found.parent_config):
            return None
        writes = saver.writes_on(found.parent_config)
        return None if _has_overwrite(writes) else reduce_messages(thread, writes)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """As LangGraph's SQLite saver counts."""
        return SqliteSaver.get_next_version(cast(Any, self), current, channel)  # uses no state


class SqliteCheckpoints(Checkpoints):
    """Threads in the same SQLite file as everything else."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._serialiser = CachingSerialiser()
        self._cache = ThreadCache()

    async def setup(self) -> None:
        """Create LangGraph's two tables as its own saver would."""
        await self._database.write(_create_tables)

    def saver(self) -> BaseCheckpointSaver[Any]:
        """A saver that shares the database's threads."""
        return SharedSqliteSaver(self._database, self._serialiser, self._cache)

    async def close(self) -> None:
        """The database is closed by its owner."""


def _snapshot_in(found: CheckpointTuple) -> DeltaChannelHistory | None:
    """The whole thread, where a checkpoint holds it."""
    stored = found.checkpoint["channel_values"].get(MESSAGES)
    return None if stored is None else {"seed": stored, "writes": []}


def _thread_of(config: RunnableConfig) -> tuple[str, str]:
    # a stored one has it
    place = config["configurable"]  # pyright: ignore[reportTypedDictNotRequiredAccess]
    return str(place["thread_id"]), str(place.get("checkpoint_ns", ""))


def _has_overwrite(writes: Sequence[Any]) -> bool:
    """Whether a write replaces the thread (in any of LangGraph's forms) instead of adding to it."""
    return any(isinstance(write, Overwrite | dict) for write in writes)


def _checkpoint_id(config: RunnableConfig) -> str:
    return str(get_checkpoint_id(config))


def _raw(connection: Connection) -> sqlite3.Connection:
    # SQLite's pool holds these
    return connection.connection.driver_connection  # pyright: ignore[reportReturnType]


def _create_tables(connection: Connection) -> None:
    """Take the schema from a fresh LangGraph database, so that it cannot drift from the saver's."""
    with sqlite3.connect(":memory:") as model:
        SqliteSaver(model).setup()
        rows = model.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    model.close()
    for (statement,) in rows:
        connection.exec_driver_sql(
            statement.replace("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ", 1)
        )
