"""What connects this process with the others of the installation, if there are any.

One process alone has a bus inside itself and no queue. With Redis and a database server there may
be many: each hears what the others commit, and by its role executes what it accepts (`all`),
leaves that to workers (`web`), or is one of them (`worker`). Above: `assembly.py`.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dataagent_core.config import Settings
from dataagent_core.errors import Misconfigured
from dataagent_core.runs.cluster.bus import Bus, LocalBus
from dataagent_core.runs.cluster.control import Control
from dataagent_core.runs.dispatch import Dispatch
from dataagent_core.runs.recovery import WorkerRole
from dataagent_core.runs.relay import Relay
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.worker import Worker
from dataagent_core.telemetry import Traces

if TYPE_CHECKING:
    from dataagent_core.runs.cluster.queue import RunQueue

Role = Literal["all", "web", "worker"]


@dataclass(frozen=True, slots=True)
class Peers:
    """The other processes, as this one reaches them."""

    name: str  # this process's, which no other has or had
    role: Role
    bus: Bus
    control: Control
    worker_role: WorkerRole
    relay: Relay | None = None
    queue: RunQueue | None = None

    def dispatch(self, store: RunStore, worker: Worker, traces: Traces | None = None) -> Dispatch:
        """What sends runs to where this role has them executed."""
        queue = self.queue if self.role == "web" else None
        return Dispatch(store, worker, control=self.control, queue=queue, traces=traces)

    def consume_queue(self, worker: Worker, stack: AsyncExitStack, *, lease_seconds: float) -> None:
        """Take runs from the queue until the stack is closed, if that is this role's part."""
        if self.role == "worker" and self.queue is not None:
            self.queue.start(worker, lease_seconds=lease_seconds)
            stack.push_async_callback(self.queue.stop)


async def open_peers(
    settings: Settings, store: RunStore, stack: AsyncExitStack, *, role: Role, name: str
) -> Peers:
    """Reach the other processes. `name` is this one's.

    Raises:
        Misconfigured: the role needs other processes, and they could not reach each other.
    """
    worker_role = WorkerRole(
        takes_queued=role == "worker",
        resumes_waiting=role != "web",
        max_runs=settings.runs_per_worker,
        queue_seconds=settings.queue_timeout,
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
