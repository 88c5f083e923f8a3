"""The session's ledger: the events of its runs, in order, committed before any reader sees them.

A run's owner writes through a `RunWriter`; one loop per process commits the events of all writers
together, and then publishes them. Text that waits for the commit is joined to one event, except the
first piece of an answer.

Readers follow a session from any `seq` (`Ledger.follow`). They pull: a `SessionChannel` holds the
latest entries of a session, whichever process wrote them, and no reader has a queue of its own. A
reader that falls behind this cache continues from the store.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary, ref

from dataagent_core.errors import (
    DataAgentError,
    SessionDeleted,
    StaleAttempt,
    StorageFull,
    Unavailable,
)
from dataagent_core.events import AnyEvent, DoneEvent, ErrorEvent, TextEvent, event_to_wire
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import Batch, Ending, Entry, Run, entries_of
from dataagent_core.storage.background_tasks import cancel_all

if TYPE_CHECKING:
    from dataagent_core.runs.cluster.peers import Relay

logger = logging.getLogger(__name__)
CACHE_SECONDS = 2.0
_MAX_ENTRIES = 512
_MAX_PENDING = 1000
_RETRY_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0)
_LONG_RETRY_SECONDS = (1.0,) * 30


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


class Ledger:
    """The ledgers of all sessions this process writes or reads."""

    def __init__(
        self,
        store: RunStore,
        *,
        pace_seconds: float = 0.02,
        cache_seconds: float = CACHE_SECONDS,
        relay: Relay | None = None,
    ) -> None:
        """`pace_seconds` is the least time between two commits of streamed text, `cache_seconds`
        how long the entries of an ended run are served from memory.

        With a `relay` entries are also exchanged with other processes.
        """
        self._store = store
        self.relay = relay
        self._pace_seconds = pace_seconds
        self.cache_seconds = cache_seconds
        self._channels: WeakValueDictionary[str, SessionChannel] = WeakValueDictionary()
        self.generation = 0
        self._dirty: dict[str, RunWriter] = {}
        self._urgent: dict[str, RunWriter] = {}
        self._wake = asyncio.Event()
        self._urgent_event = asyncio.Event()
        self._loop_task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start committing."""
        self._loop_task = asyncio.create_task(self._commit_loop(), name="ledger")

    async def aclose(self) -> None:
        """Stop committing. Close all writers first."""
        await cancel_all([self._loop_task])

    def writer(self, run: Run, last_seq: int, *, written_bytes: int = 0) -> RunWriter:
        """The writer of a run's owner; `last_seq` is the session's highest number so far.

        `written_bytes` is the size of the events that earlier attempts of the run wrote.
        """
        return RunWriter(self, run, last_seq, written_bytes)

    async def follow(self, session_id: str, *, after: int) -> AsyncIterator[list[Entry]]:
        """The session's entries after a `seq`, in bursts, for as long as the reader stays.

        Raises:
            SessionDeleted: the session was deleted meanwhile; its entries were yielded before.
            StorageFull: what the reader waits for cannot be stored.
        """
        channel = self.channel(session_id)
        generation, cursor = channel.generation, after
        async with nullcontext() if self.relay is None else self.relay.watch(session_id, channel):
            while True:
                changed = channel.changed
                has_ended = channel.generation != generation
                entries = None if has_ended else channel.since(cursor)
                if entries is None:
                    entries = await self._read(session_id, cursor)
                if entries:
                    cursor = entries[-1].seq
                    yield entries
                elif has_ended:
                    raise SessionDeleted(f"Session {session_id!r} was deleted.")
                else:
                    await changed.wait()
                    if channel.failure is not None:
                        raise channel.failure

    def end_readers(self, session_id: str) -> None:
        """End the readers of a deleted session in this process."""
        self.generation += 1
        channel = self._channels.get(session_id)
        if channel is not None:
            channel.end_readers()

    async def _read(self, session_id: str, after: int) -> list[Entry]:
        """Read the store, retrying while it is unavailable: a short outage ends no reader."""
        for pause in (*_RETRY_SECONDS, *_LONG_RETRY_SECONDS):
            with suppress(Unavailable):
                return await self._store.read(session_id, after=after)
            await asyncio.sleep(pause)
        return await self._store.read(session_id, after=after)

    def channel(self, session_id: str) -> SessionChannel:
        """The session's channel, shared by its writer and readers."""
        channel = self._channels.get(session_id)
        if channel is None:
            channel = self._channels[session_id] = SessionChannel()
        return channel

    def mark(self, writer: RunWriter, *, is_urgent: bool) -> None:
        """Schedule a commit of a writer's events; streamed text may wait a moment."""
        self._wake.set()
        if is_urgent:
            self._urgent[writer.run.run_id] = writer
            self._urgent_event.set()
        else:
            self._dirty[writer.run.run_id] = writer

    async def _commit_loop(self) -> None:
        """Commit what is pending, then what arrived meanwhile, for ever."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            started = time.monotonic()
            await self._commit_writers(self._take_dirty())
            while await self._wait_for_urgent(started):
                await self._commit_writers(self._take_urgent())

    def _take_dirty(self) -> dict[str, RunWriter]:
        writers = {**self._dirty, **self._take_urgent()}
        self._dirty = {}
        return writers

    def _take_urgent(self) -> dict[str, RunWriter]:
        self._urgent_event.clear()
        writers, self._urgent = self._urgent, {}
        return writers

    async def _wait_for_urgent(self, started: float) -> bool:
        """Space out commits of streamed text; True if a writer cannot wait.

        Urgent writers are committed alone, without the waiting text of others. With many runs text
        comes in larger pieces (`models.merge.TextWindow`), so the pace need not grow with them.
        """
        remaining = started + self._pace_seconds - time.monotonic()
        if remaining > 0 and not self._urgent_event.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(remaining):
                    await self._urgent_event.wait()
        return self._urgent_event.is_set() and time.monotonic() < started + self._pace_seconds

    async def _commit_writers(self, writers: dict[str, RunWriter]) -> None:
        """Commit the pending events of these writers."""
        taken = [batch for writer in writers.values() if (batch := writer.take()) is not None]
        if taken:
            await self._commit({batch.run_id: batch for batch in taken}, writers)

    async def _commit(self, batches: dict[str, Batch], writers: dict[str, RunWriter]) -> None:
        try:
            refused = await self._append_with_retries(batches)
        except StorageFull as error:
            logger.warning("%d runs end: %s", len(batches), error.message)
            for run_id in batches:
                writers[run_id].fail(error)
            return
        for run_id, batch in batches.items():
            writers[run_id].on_committed(batch, is_refused=run_id in refused)

    async def _append_with_retries(self, batches: dict[str, Batch]) -> set[str]:
        """Append, retrying while the store is unavailable; a batch sent twice is stored once.

        Raises:
            StorageFull: there is no space; freeing some may take hours, so this does not retry.
        """
        for attempt, pause in enumerate(_retry_delays()):
            try:
                return await self._store.append(list(batches.values()))
            except StorageFull:
                raise
            except Unavailable:
                logger.warning("the ledger waits for its store", exc_info=attempt == 0)
                await asyncio.sleep(pause)
            except Exception:
                logger.exception("a commit of %d runs failed", len(batches))
                return await self._append_each(batches) if len(batches) > 1 else set(batches)
        return set()

    async def _append_each(self, batches: dict[str, Batch]) -> set[str]:
        """Append each run's batch separately, so that one bad batch ends its own run only."""
        refused: set[str] = set()
        for run_id, batch in batches.items():
            refused |= await self._append_with_retries({run_id: batch})
        return refused

    async def close_run(self, run: Run, ending: Ending, last: Batch) -> bool:
        """Write a run's end, retrying while the store is unavailable.

        Raises:
            StorageFull: there is no space. Recovery ends the run once there is.
        """
        for attempt, pause in enumerate(_retry_delays()):
            try:
                if await self._store.close(run, ending, last):
                    return True
                stored = await self._store.get(run.run_id) if attempt else None
                return stored is not None and not stored.is_active and stored.attempt == run.attempt
            except StorageFull:
                raise
            except Unavailable:
                logger.warning("the end of run %s waits for its store", run.run_id)
                await asyncio.sleep(pause)
        return False


class RunWriter:
    """Numbers and commits the events of one attempt of one run."""

    def __init__(self, ledger: Ledger, run: Run, last_seq: int, written_bytes: int = 0) -> None:
        self.run = run
        self._bytes = written_bytes
        self._ledger = ledger
        self._channel = ledger.channel(run.session_id)
        self._first_seq = self._last_seq = last_seq
        self._pending: list[AnyEvent] = []
        self._has_text = False
        self.first_text_at: float | None = None  # time of the first text, on the monotonic clock
        self._in_flight = False
        self._settled = asyncio.Event()
        self._is_refused = False
        self._failure: StorageFull | None = None

    @property
    def written(self) -> int:
        """How many events this attempt has numbered."""
        return self._last_seq - self._first_seq

    @property
    def is_refused(self) -> bool:
        """Whether a newer attempt owns the run."""
        return self._is_refused

    def write(self, event: AnyEvent) -> None:
        """Add an event, to be committed at once, or soon if it is text after the first.

        Text joins the text of the same agent that waits for a commit.

        Raises:
            StaleAttempt: a newer attempt has taken the run.
            StorageFull: earlier events could not be stored.
        """
        self._check()
        if isinstance(event, TextEvent) and self._join(event):
            return
        self._pending.append(event)
        is_first = isinstance(event, TextEvent) and self._is_first_text()
        self._ledger.mark(self, is_urgent=is_first or not isinstance(event, TextEvent))

    def fail(self, error: StorageFull) -> None:
        """End the run and its readers because its events cannot be stored."""
        self._in_flight = False
        self._is_refused = True
        self._failure = error
        self._channel.fail(error)
        self._settled.set()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._is_refused:
            raise StaleAttempt(f"Another process has taken over run {self.run.run_id}.")

    def _is_first_text(self) -> bool:
        """Whether this is the first text; the first piece of an answer does not wait."""
        if self._has_text:
            return False
        self._has_text = True
        self.first_text_at = time.monotonic()
        return True

    def _join(self, event: TextEvent) -> bool:
        """Join the text to a pending text of the same agent, if there is one."""
        last = self._pending[-1] if self._pending else None
        if not isinstance(last, TextEvent) or last.is_final:
            return False
        if (last.agent, last.is_main) != (event.agent, event.is_main):
            return False
        self._pending[-1] = TextEvent(
            content=last.content + event.content,
            is_final=event.is_final,
            agent=last.agent,
            is_main=last.is_main,
            timestamp=last.timestamp,
        )
        return True

    async def drain(self) -> None:
        """Wait while too much is uncommitted, so that a fast run cannot outpace its store."""
        while len(self._pending) > _MAX_PENDING and not self._is_refused:
            await self._settle()

    async def flush(self) -> None:
        """Wait until everything written so far is committed."""
        while (self._pending or self._in_flight) and not self._is_refused:
            await self._settle()

    async def _settle(self) -> None:
        self._settled.clear()
        await self._settled.wait()

    def take(self) -> Batch | None:
        """The next numbered batch; None while a commit is in progress or nothing is pending."""
        if self._in_flight or not self._pending:
            return None
        self._in_flight = True
        return self._batch()

    def _batch(self) -> Batch:
        events, self._pending = self._pending, []
        first = self._last_seq + 1
        self._last_seq += len(events)
        run_id = self.run.run_id
        wires = tuple(_wire(event, first + i, run_id) for i, event in enumerate(events))
        self._bytes += sum(map(len, wires))
        return Batch(self.run.session_id, run_id, self.run.attempt, first, self._last_seq, wires)

    def on_committed(self, batch: Batch, *, is_refused: bool) -> None:
        """Publish a committed batch, or note that it was refused."""
        self._in_flight = False
        if is_refused:
            self._is_refused = True
        else:
            self._channel.publish(entries_of(batch.wires, batch.first_seq, batch.run_id))
            if self._ledger.relay is not None:
                self._ledger.relay.announce(batch)
        if self._pending:
            is_text = all(isinstance(event, TextEvent) for event in self._pending)
            self._ledger.mark(self, is_urgent=not is_text)
        self._settled.set()

    async def close(self, done: DoneEvent, ending: Ending) -> bool:
        """Commit pending events, the `done` event and the run's end together; False if refused."""
        while self._in_flight:
            await self._settle()
        if self._is_refused:
            return False
        self._in_flight = True  # so that the commit loop takes no more
        self._pending.append(done)
        last = self._batch()
        text_bytes = len(self.run.input.message.encode()) + len(ending.content.encode())
        ending = replace(ending, bytes_used=self._bytes + text_bytes)
        try:
            is_stored = await self._ledger.close_run(self.run, ending, last)
        except StorageFull as error:
            self.fail(error)
            raise
        if not is_stored:
            self._is_refused = True
            return False
        self._channel.publish(entries_of(last.wires, last.first_seq, last.run_id))
        if self._ledger.relay is not None:
            self._ledger.relay.announce(last)
        self._channel.expire_later(self._ledger.cache_seconds)
        return True


def _retry_delays() -> Iterator[float]:
    """The pauses between retries while the store is unavailable, without end."""
    return chain(_RETRY_SECONDS, repeat(_RETRY_SECONDS[-1]))


def _wire(event: AnyEvent, seq: int, run_id: str) -> bytes:
    """The event as bytes. One that cannot be serialised must not block the other commits."""
    try:
        return event_to_wire(event, seq=seq, run_id=run_id)
    except Exception:
        logger.exception("a %s event of run %s cannot be stored", event.event_type, run_id)
        stand_in = ErrorEvent(
            error=f"A {event.event_type} event could not be kept.", error_code="event_not_kept"
        )
        return event_to_wire(stand_in, seq=seq, run_id=run_id)


def is_done(entry: Entry) -> bool:
    """Whether the entry is a run's end."""
    return entry.event_type == "done"
