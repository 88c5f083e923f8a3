"""LangGraph's MySQL saver over one pool, with a thread's history read in two queries.

The library's saver would read a thread's ancestors one query at a time, at every turn.
`aget_delta_channel_history` here fetches the chain at once, then its writes.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import asyncmy
from asyncmy.pool import Pool
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    DeltaChannelHistory,
    get_checkpoint_id,
    writes_sort_key,
)
from langgraph.checkpoint.mysql.asyncmy import AsyncMySaver
from sqlalchemy.engine import URL

from dataagent_core.engine.checkpoints.savers import CachingSerialiser, Checkpoints, FencedSaver
from dataagent_core.errors import StorageUnavailable

_CHAIN = """
WITH RECURSIVE chain (checkpoint_id, parent_id, versions, depth) AS (
    SELECT checkpoint_id, parent_checkpoint_id, JSON_EXTRACT(checkpoint, '$.channel_versions'), 0
    FROM checkpoints
    WHERE thread_id = %s AND checkpoint_ns_hash = UNHEX(MD5(%s)) AND checkpoint_id = %s
    UNION ALL
    SELECT c.checkpoint_id, c.parent_checkpoint_id,
        JSON_EXTRACT(c.checkpoint, '$.channel_versions'), chain.depth + 1
    FROM chain JOIN checkpoints c ON c.checkpoint_id = chain.parent_id
    WHERE c.thread_id = %s AND c.checkpoint_ns_hash = UNHEX(MD5(%s)) AND chain.depth < 100000
)
SELECT checkpoint_id, versions FROM chain ORDER BY depth
"""
_BLOBS = """
SELECT channel, version, type, `blob` FROM checkpoint_blobs
WHERE thread_id = %s AND checkpoint_ns_hash = UNHEX(MD5(%s)) AND type <> 'empty'
    AND channel IN ({channels})
"""
_WRITES = """
SELECT checkpoint_id, channel, task_id, task_path, idx, type, `blob` FROM checkpoint_writes
WHERE thread_id = %s AND checkpoint_ns_hash = UNHEX(MD5(%s))
    AND channel IN ({channels}) AND checkpoint_id IN ({checkpoints})
"""


class DeltaMySaver(FencedSaver, AsyncMySaver):
    """The library's saver with a quick history, behind the fence."""

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """The writes since each channel's last snapshot, oldest first, and the snapshot."""
        # always there in a run
        place = config["configurable"]  # pyright: ignore[reportTypedDictNotRequiredAccess]
        thread = (place["thread_id"], place.get("checkpoint_ns", ""))
        target = get_checkpoint_id(config)
        if not channels or not target:
            return {channel: {"writes": []} for channel in channels}
        async with self._cursor() as cursor:
            await cursor.execute(_CHAIN, (*thread, target, *thread))
            ancestors = (await cursor.fetchall())[1:]  # the first is the target itself
            names = ",".join(["%s"] * len(channels))
            await cursor.execute(_BLOBS.format(channels=names), (*thread, *channels))
            blobs = {(b["channel"], b["version"]): b for b in await cursor.fetchall()}
            seeds, spans = _spans(ancestors, blobs, channels)
            ids = sorted(set().union(*spans.values()))
            writes: Sequence[dict[str, Any]] = []
            if ids:
                statement = _WRITES.format(channels=names, checkpoints=",".join(["%s"] * len(ids)))
                await cursor.execute(statement, (*thread, *channels, *ids))
                writes = await cursor.fetchall()
        return {
            channel: self._history(channel, spans[channel], seeds.get(channel), writes)
            for channel in channels
        }

    def _history(
        self,
        channel: str,
        span: Sequence[str],
        seed: Mapping[str, Any] | None,
        rows: Sequence[Mapping[str, Any]],
    ) -> DeltaChannelHistory:
        age = {checkpoint_id: number for number, checkpoint_id in enumerate(span)}
        own = [r for r in rows if r["channel"] == channel and r["checkpoint_id"] in age]
        own.sort(
            key=lambda r: (
                -age[r["checkpoint_id"]],
                writes_sort_key(r["task_path"], r["task_id"], r["idx"]),
            )
        )
        history: DeltaChannelHistory = {
            "writes": [
                (r["task_id"], channel, self.serde.loads_typed((r["type"], r["blob"]))) for r in own
            ]
        }
        if seed is not None:
            history["seed"] = self.serde.loads_typed((seed["type"], seed["blob"]))
        return history


def _spans(
    ancestors: Sequence[Mapping[str, Any]],
    blobs: Mapping[tuple[str, str], Mapping[str, Any]],
    channels: Sequence[str],
) -> tuple[dict[str, Mapping[str, Any]], dict[str, list[str]]]:
    """Each channel's nearest snapshot, and the checkpoints from there on, nearest first."""
    seeds: dict[str, Mapping[str, Any]] = {}
    spans: dict[str, list[str]] = {channel: [] for channel in channels}
    for row in ancestors:
        versions = json.loads(row["versions"] or "{}")
        for channel in channels:
            if channel in seeds:
                continue
            spans[channel].append(row["checkpoint_id"])
            blob = blobs.get((channel, str(versions.get(channel))))
            if blob is not None:
                seeds[channel] = blob
    return seeds, spans


class MysqlCheckpoints(Checkpoints):
    """Threads in the MySQL or MariaDB database that holds everything else."""

    def __init__(self, url: URL, *, pool_size: int) -> None:
        self._url = url
        self._pool_size = pool_size
        self._pool: Pool | None = None
        self._serialiser = CachingSerialiser()

    async def setup(self) -> None:
        """Open the pool and create LangGraph's tables, one process at a time.

        Raises:
            StorageUnavailable: another process does so for two minutes.
        """
        self._pool = await asyncmy.create_pool(
            minsize=1,
            maxsize=self._pool_size,
            pool_recycle=3600,
            host=self._url.host or "localhost",
            port=self._url.port or 3306,
            user=self._url.username,
            password=self._url.password or "",
            db=self._url.database,
            autocommit=True,
        )
        async with self._pool.acquire() as connection, connection.cursor() as cursor:
            name = (
                f"dataagent.threads.{sha256((self._url.database or '').encode()).hexdigest()[:16]}"
            )
            await cursor.execute("SELECT GET_LOCK(%s, 120)", (name,))
            if await cursor.fetchone() != (1,):
                raise StorageUnavailable("Another process is still making the tables of threads.")
            try:
                await AsyncMySaver(connection).setup()
            finally:
                await cursor.execute("SELECT RELEASE_LOCK(%s)", (name,))

    def saver(self) -> BaseCheckpointSaver[Any]:
        """A saver with a lock of its own over the shared pool."""
        pool: Any = self._pool  # the saver takes pools; its type knows only connections
        return DeltaMySaver(pool, serde=self._serialiser)

    async def close(self) -> None:
        """Close the pool."""
        if self._pool is not None:
            self._pool.close()
            await self._pool.wait_closed()
