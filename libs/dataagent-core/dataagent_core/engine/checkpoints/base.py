"""Where LangGraph keeps its threads: one `Checkpoints` a process, one saver a run.

The savers are LangGraph's own. Ours to decide: the strict serialiser (a checkpoint never names code
to run), one saver object per run (savers lock), and that a thread is deleted whole or not at all
(its messages are deltas on earlier checkpoints).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from dataagent_core.engine.checkpoints.fence import FencedSaver
from dataagent_core.engine.checkpoints.serialiser import CachingSerialiser


class Checkpoints(ABC):
    """The threads of all sessions."""

    @abstractmethod
    async def setup(self) -> None:
        """Create the tables if they are not there."""

    @abstractmethod
    def saver(self) -> BaseCheckpointSaver[Any]:
        """A saver for one run."""

    @abstractmethod
    async def close(self) -> None:
        """Release connections."""

    async def delete(self, session_id: str) -> None:
        """Forget a thread."""
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
