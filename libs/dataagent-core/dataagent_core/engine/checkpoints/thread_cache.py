"""Threads as their last checkpoints left them, so that a turn reads only what the last one wrote.

LangGraph keeps a thread's messages as writes on a chain of checkpoints and puts them together anew
at every turn. What a checkpoint stands for never changes, so the thread that was put together for
one is kept under the checkpoint's id; the next turn adds the writes since. The oldest go when all
of them together hold too many messages.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from dataagent_core.models.thread import Thread

_MAX_MESSAGES = 20_000


class ThreadCache:
    """The latest known thread of each conversation. Safe to use from several threads."""

    def __init__(self, *, max_messages: int = _MAX_MESSAGES) -> None:
        self._kept: OrderedDict[tuple[str, str], tuple[str, Thread]] = OrderedDict()
        self._max_messages = max_messages
        self._messages = 0
        self._lock = threading.Lock()

    def get(self, thread_id: str, namespace: str) -> tuple[str, Thread] | None:
        """A checkpoint's id and the thread as of it."""
        with self._lock:
            return self._kept.get((thread_id, namespace))

    def keep(self, thread_id: str, namespace: str, checkpoint_id: str, thread: Thread) -> None:
        """Remember the thread as of a checkpoint, instead of what was known before."""
        with self._lock:
            self._drop((thread_id, namespace))
            if len(thread) > self._max_messages:
                return
            self._kept[thread_id, namespace] = (checkpoint_id, thread)
            self._messages += len(thread)
            while self._messages > self._max_messages:
                self._drop(next(iter(self._kept)))

    def forget(self, thread_id: str) -> None:
        """Drop a deleted thread."""
        with self._lock:
            for key in [each for each in self._kept if each[0] == thread_id]:
                self._drop(key)

    def _drop(self, key: tuple[str, str]) -> None:
        known = self._kept.pop(key, None)
        if known is not None:
            self._messages -= len(known[1])
