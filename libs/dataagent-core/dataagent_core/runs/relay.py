"""Carries a session's committed entries to readers in other processes.

A process announces the entries it commits on the bus, with their text, so that readers elsewhere
need not query the store. Nothing depends on delivery: one loop compares all watched sessions with
the store at intervals, and whenever messages may have been lost.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from dataagent_core.errors import Unavailable
from dataagent_core.runs.channel import SessionChannel
from dataagent_core.runs.cluster.bus import Bus, Subscription
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import Batch, Entry, entries_of
from dataagent_core.storage.tasks import cancel_all

logger = logging.getLogger(__name__)
_CONFIRM_SECONDS = 1.0
_CHECK_SECONDS = 1.5
_BATCH_SIZE = 300


@dataclass(slots=True)
class _Watch:
    """A session that has readers in this process."""

    channel: SessionChannel
    subscription: Subscription
    readers: int = 0


class Relay:
    """Announces entries committed here and receives those committed elsewhere."""

    def __init__(self, bus: Bus, store: RunStore, *, check_seconds: float = _CHECK_SECONDS) -> None:
        """`check_seconds` is the interval of the comparison with the store."""
        self._bus = bus
        self._store = store
        self._check_seconds = check_seconds
        self._sender = uuid.uuid4().hex[:12].encode()
        self._watches: dict[str, _Watch] = {}
        self._suspects: set[str] = set()
        self._check_now = asyncio.Event()
        self._check_task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start comparing the watched sessions with the store."""
        self._check_task = asyncio.create_task(self._check_loop(), name="relay")

    async def aclose(self) -> None:
        """Stop comparing."""
        await cancel_all([self._check_task])

    def announce(self, batch: Batch) -> None:
        """Publish a committed batch to readers in other processes."""
        self._bus.publish(_topic(batch.session_id), encode(self._sender, batch))

    @asynccontextmanager
    async def watch(self, session_id: str, channel: SessionChannel) -> AsyncGenerator[None]:
        """Feed the channel with entries that other processes commit, while open.

        Once entered, no later commit is missed; earlier entries are in the store.
        """
        watch = self._watches.get(session_id)
        if watch is None:
            subscription = self._bus.subscribe(
                _topic(session_id), lambda payload: self._on_message(session_id, payload)
            )
            watch = self._watches[session_id] = _Watch(channel, subscription)
        watch.readers += 1
        try:
            await watch.subscription.wait_confirmed(_CONFIRM_SECONDS)
            yield
        finally:
            watch.readers -= 1
            if not watch.readers:
                del self._watches[session_id]
                watch.subscription.end()

    def _on_message(self, session_id: str, payload: bytes | None) -> None:
        watch = self._watches.get(session_id)
        if watch is None:
            return
        if payload is None:
            self._suspects.add(session_id)
            self._check_now.set()
        elif not payload.startswith(self._sender):
            entries = decode(payload)
            watch.channel.receive(entries)
            if entries[-1].event_type == "done":
                watch.channel.expire_later()

    # -- comparing with the store----------------------------------------------------------------

    async def _check_loop(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._check_seconds):
                    await self._check_now.wait()
            self._check_now.clear()
            suspects, self._suspects = self._suspects, set()
            await self._check(suspects or self._watches.keys())

    async def _check(self, session_ids: Iterable[str]) -> None:
        """Compare with the store; failed comparisons are repeated next time."""
        wanted = [session_id for session_id in session_ids if session_id in self._watches]
        try:
            for start in range(0, len(wanted), _BATCH_SIZE):
                some = wanted[start : start + _BATCH_SIZE]
                self._compare(some, await self._store.last_seqs(some))
        except Unavailable:
            logger.info("the watched sessions wait for the store")
        except Exception:
            logger.exception("the watched sessions could not be compared with the store")

    def _compare(self, session_ids: Iterable[str], tails: dict[str, int]) -> None:
        for session_id in session_ids:
            watch = self._watches.get(session_id)
            if watch is None:
                continue
            if session_id in tails:
                watch.channel.advance_to(tails[session_id])
            else:
                watch.channel.end_readers()


def encode(sender: bytes, batch: Batch) -> bytes:
    """A batch as a message: a line about it, then its events, one a line (JSON has no newline)."""
    head = b"%b %d %b" % (sender, batch.first_seq, batch.run_id.encode())
    return b"\n".join((head, *batch.wires))


def decode(payload: bytes) -> list[Entry]:
    """The entries of a message."""
    head, *wires = payload.split(b"\n")
    _, first_seq, run_id = head.split(b" ", 2)
    return entries_of(wires, int(first_seq), run_id.decode())


def _topic(session_id: str) -> str:
    return f"session:{session_id}"
