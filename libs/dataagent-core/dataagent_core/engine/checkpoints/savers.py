"""Stores the threads of all sessions: one `Checkpoints` a process, one saver a run.

The savers are LangGraph's own. Every write of a run passes its fence, so that a process that was
frozen while another took over its run writes nothing more. The serialiser is strict (a checkpoint
never names code to run) and caches values under their bytes, because reading a message means
building a model; only containers are copied, because LangGraph fills them.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from dataagent_core.middleware.upstream import DeltaSnapshot

Fence = Callable[[], Awaitable[None]]
"""Raises `StaleAttempt` for a run that is no longer this process's."""

_fence: ContextVar[Fence | None] = ContextVar("fence", default=None)


def fence_threads(fence: Fence) -> None:
    """Have every write to a thread, of this task and of those it starts, pass a fence."""
    _fence.set(fence)


async def check_fence() -> None:
    """Pass the fence, if one stands.

    Raises:
        StaleAttempt: the run is no longer this process's.
    """
    fence = _fence.get()
    if fence is not None:
        await fence()


class FencedSaver(BaseCheckpointSaver[Any]):
    """A saver that passes the fence before it writes. Stands before LangGraph's own class."""

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint."""
        await check_fence()
        return await super().aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store the writes of a task."""
        await check_fence()
        await super().aput_writes(config, writes, task_id, task_path)


_MAX_BYTES = 4 * 1024 * 1024
_OBJECT_BYTES = 3 * 1024
"""Memory of a message besides its own text."""


class CachingSerialiser(JsonPlusSerializer):
    """LangGraph's serialiser, restricted to plain data and LangChain's own types."""

    def __init__(self, *, max_bytes: int = _MAX_BYTES) -> None:
        super().__init__(allowed_msgpack_modules=None)
        self._cached: OrderedDict[tuple[str, bytes], Any] = OrderedDict()
        self._bytes = 0
        self._max_bytes = max_bytes
        self._lock = threading.Lock()

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The value's bytes; the value is cached, since the next turn reads it back."""
        data = super().dumps_typed(obj)
        self._cache(data, _copy_containers(obj))
        return data

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value, with containers of its own."""
        key = (data[0], bytes(data[1]))
        with self._lock:
            value = self._cached.get(key, _ABSENT)
            if value is not _ABSENT:
                self._cached.move_to_end(key)
        if value is _ABSENT:
            value = super().loads_typed(data)
            self._cache(key, value)
        return _copy_containers(value)

    def _cache(self, key: tuple[str, bytes], value: Any) -> None:
        size = _size(key)
        if size > self._max_bytes // 2:
            return
        with self._lock:
            if key not in self._cached:
                self._cached[key] = value
                self._bytes += size
            while self._bytes > self._max_bytes:
                dropped, _ = self._cached.popitem(last=False)
                self._bytes -= _size(dropped)


_ABSENT = object()


def _size(key: tuple[str, bytes]) -> int:
    """About how much memory a cached value takes."""
    return len(key[1]) + _OBJECT_BYTES


def _copy_containers(value: Any) -> Any:
    """The value with its lists, dictionaries and snapshots copied; messages are shared."""
    # stored values of any shape
    kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is list:
        return [_copy_containers(item) if type(item) in _CONTAINERS else item for item in value]
    if kind is dict:
        return {
            key: _copy_containers(item) if type(item) in _CONTAINERS else item
            for key, item in value.items()
        }
    return DeltaSnapshot(_copy_containers(value.value)) if kind is DeltaSnapshot else value


_CONTAINERS = frozenset({list, dict, DeltaSnapshot})


class Checkpoints(ABC):
    """The threads of all sessions."""

    @abstractmethod
    async def setup(self) -> None:
        """Create the tables if they are missing."""

    @abstractmethod
    def saver(self) -> BaseCheckpointSaver[Any]:
        """A saver for one run."""

    @abstractmethod
    async def close(self) -> None:
        """Release connections."""

    async def delete(self, session_id: str) -> None:
        """Delete a thread."""
        await self.saver().adelete_thread(session_id)


class _MemorySaver(FencedSaver, InMemorySaver):
    """LangGraph's, behind the fence."""


class MemoryCheckpoints(Checkpoints):
    """Threads for the lifetime of the process."""

    def __init__(self) -> None:
        self._saver = _MemorySaver(serde=CachingSerialiser())

    async def setup(self) -> None:
        """Nothing to create."""

    def saver(self) -> BaseCheckpointSaver[Any]:
        """The one saver; it holds no lock."""
        return self._saver

    async def close(self) -> None:
        """Nothing to release."""
