"""The latest entries of one session in this process, whichever process wrote them.

Readers pull: a channel holds the latest entries and a signal, and no reader has a queue of its own.
A slow reader costs only its cursor; when it falls behind this cache it continues from the store.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from itertools import islice
from weakref import ref

from dataagent_core.errors import DataAgentError
from dataagent_core.runs.types import Entry

_MAX_ENTRIES = 512
CACHE_SECONDS = 2.0


class SessionChannel:
    """The recent entries of a session."""

    __slots__ = ("__weakref__", "_changed", "_entries", "failure", "generation", "last_seq")

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=_MAX_ENTRIES)
        self._changed = asyncio.Event()
        self.last_seq = 0
        self.generation = 0
        self.failure: DataAgentError | None = None  # why readers get nothing more

    @property
    def changed(self) -> asyncio.Event:
        """Set at the next publication, dismissal or failure. Take it before reading."""
        return self._changed

    def publish(self, entries: Sequence[Entry]) -> None:
        """Add committed entries and wake the readers."""
        if entries[0].seq != self.last_seq + 1:
            self._entries.clear()
        self._entries.extend(entries)
        self.last_seq = entries[-1].seq
        self.failure = None
        self._wake()

    def fail(self, error: DataAgentError) -> None:
        """Wake the waiting readers with the reason why nothing more comes for now."""
        self.failure = error
        self._wake()

    def receive(self, entries: Sequence[Entry]) -> None:
        """As `publish`, for entries of another process, which may be late or duplicated."""
        if entries[0].seq <= self.last_seq:
            entries = [entry for entry in entries if entry.seq > self.last_seq]
        if entries:
            self.publish(entries)

    def advance_to(self, last_seq: int) -> None:
        """Note that the store has entries up to this one; readers fetch the gap from there."""
        if last_seq > self.last_seq:
            self._entries.clear()
            self.last_seq = last_seq
            self._wake()

    def end_readers(self) -> None:
        """End every reader of a deleted session and drop its entries.

        A reader compares `generation` with what it was when it began. One that begins later reads
        a session that was restored.
        """
        self._entries.clear()
        self.generation += 1
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def expire_later(self, seconds: float = CACHE_SECONDS) -> None:
        """Drop the entries of an ended run once readers had a moment to take them.

        After that they are read from the store. New entries cancel the drop.
        """
        channel: ref[SessionChannel] = ref(self)
        asyncio.get_running_loop().call_later(seconds, _expire, channel, self.last_seq)

    def expire_up_to(self, seq: int) -> None:
        """Drop the entries if this is the last of them."""
        if self.last_seq == seq:
            self._entries.clear()

    def since(self, seq: int) -> list[Entry] | None:
        """The entries after `seq`; None when some are only in the store."""
        if seq >= self.last_seq > 0:
            return []
        if not self._entries or self._entries[0].seq > seq + 1:
            return None
        newest = list(islice(reversed(self._entries), self.last_seq - seq))  # few of many
        newest.reverse()
        return newest


def _expire(channel: ref[SessionChannel], seq: int) -> None:
    """Expire through a weak reference, so that this timer does not keep a channel alive."""
    if (living := channel()) is not None:
        living.expire_up_to(seq)
