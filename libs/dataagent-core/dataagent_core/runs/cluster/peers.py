"""The other processes of the installation, and the exchange of committed entries with them.

One process alone has a bus inside itself and no queue. With Redis and a database server there may
be many: each receives what the others commit, and by its role executes what it accepts (`all`),
leaves that to workers (`web`), or is one of them (`worker`).

`Relay` announces the entries a process commits on the bus, with their text, so that readers in
other processes need not query the store. Nothing depends on delivery: one loop compares all watched
sessions with the store at intervals, and whenever messages may have been lost.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dataagent_core.config import Settings
from dataagent_core.errors import Misconfigured, Unavailable
from dataagent_core.runs.cluster.bus import Bus, Control, LocalBus, Subscription
from dataagent_core.runs.ledger import SessionChannel
from dataagent_core.runs.recovery import Recovery, WorkerRole
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import Batch, Entry, entries_of
from dataagent_core.storage.background_tasks import cancel_all

if TYPE_CHECKING:
    from dataagent_core.runs.cluster.queue import RunQueue


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


Role = Literal["all", "web", "worker"]


@dataclass(frozen=True, slots=True)
class Peers:
    """The connections of this process to the others."""

    name: str  # of this process, unique among living and dead ones
    role: Role
    bus: Bus
    control: Control
    worker_role: WorkerRole
    relay: Relay | None = None
    queue: RunQueue | None = None

    @property
    def worker_queue(self) -> RunQueue | None:
        """Where accepted runs are put for workers; None if this process executes them."""
        return self.queue if self.role == "web" else None

    def consume_queue(
        self, recovery: Recovery, stack: AsyncExitStack, *, lease_seconds: float
    ) -> None:
        """Take runs from the queue until the stack is closed, if this process is a worker."""
        if self.role == "worker" and self.queue is not None:
            self.queue.start(recovery, lease_seconds=lease_seconds)
            stack.push_async_callback(self.queue.stop)


async def open_peers(
    settings: Settings, store: RunStore, stack: AsyncExitStack, *, role: Role, name: str
) -> Peers:
    """Connect to the other processes. `name` is this one's.

    Raises:
        Misconfigured: the role needs other processes, and nothing connects them.
    """
    worker_role = WorkerRole(
        takes_queued=role == "worker",
        resumes_waiting=role != "web",
        max_runs=settings.runs_per_worker,
    )
    if role != "all":
        settings.check_shared(f"DATAAGENT_RUNS_IN={settings.runs_in}")
    bus = _bus(settings)
    if not bus.is_shared:
        return Peers(name, role, bus, Control(bus), worker_role)
    stack.push_async_callback(bus.aclose)
    await bus.start()
    relay = Relay(bus, store)
    stack.push_async_callback(relay.aclose)
    relay.start()
    queue = None if role == "all" else _queue(settings, stack, name=name)
    return Peers(name, role, bus, Control(bus), worker_role, relay, queue)


def _bus(settings: Settings) -> Bus:
    if settings.redis_url is None or not settings.is_shared:
        return LocalBus()
    from dataagent_core.runs.cluster.redis_bus import RedisBus

    return RedisBus(settings.redis_url.get_secret_value(), prefix=settings.redis_prefix)


def _queue(settings: Settings, stack: AsyncExitStack, *, name: str) -> RunQueue:
    if settings.redis_url is None:
        raise Misconfigured("A queue needs DATAAGENT_REDIS_URL.")
    from dataagent_core.runs.cluster.queue import RunQueue
    from dataagent_core.storage.redis import open_redis

    url = settings.redis_url.get_secret_value()
    space = open_redis(url, prefix=settings.redis_prefix, pool_size=4)
    stack.push_async_callback(space.close)
    queue = RunQueue(url, space, name=name)
    stack.push_async_callback(queue.aclose)
    return queue
