"""Who may still write to a thread: asked before every write of a run's.

A process that was frozen does not know that its run was taken over. What it would write to the
thread then hides the turns that came since. Who owns the run puts a fence up in the run's own task
(`runs/worker.py`); savers pass it. Where none stands, as for a thread without a run, all may write.
"""

from __future__ import annotations

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
        """Keep a checkpoint."""
        await check_fence()
        return await super().aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Keep what a task wrote."""
        await check_fence()
        await super().aput_writes(config, writes, task_id, task_path)
