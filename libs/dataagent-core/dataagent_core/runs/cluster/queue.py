"""The queue of runs that wait for a worker: taskiq on a Redis stream.

A message only names a run; that the run is queued is in the store. A worker that reads a message
claims the run there, which exactly one can, and acknowledges the message. So a message that is lost
or arrives twice does no harm: a run without a message is found in any worker's next round
(`Recovery.recover`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, Protocol, cast

from redis.asyncio import Redis
from redis.exceptions import RedisError
from taskiq import AckableMessage
from taskiq.exceptions import TaskiqError
from taskiq.receiver import Receiver
from taskiq_redis import RedisStreamBroker

from dataagent_core.errors import Unavailable
from dataagent_core.storage.background_tasks import cancel_all
from dataagent_core.storage.redis import RedisSpace

logger = logging.getLogger(__name__)
_TASK = "run"
_GROUP = "workers"
_OUTAGES = (RedisError, TaskiqError, OSError, TimeoutError)
_BLOCK_MILLISECONDS = 2000
_KEPT_MESSAGES = 100_000
_DEAD_READER_MILLISECONDS = 3_600_000
_LAST_SECONDS = 2.0
_CONNECTIONS = 8
_RETRY_SECONDS = (0.05, 0.2, 0.5, 1.0)


class RunConsumer(Protocol):
    """The part of `Recovery` that takes runs from the queue."""

    async def wait_for_capacity(self) -> None:
        """Wait until one more run can be executed."""
        ...

    async def claim(self, run_id: str) -> bool:
        """Claim a queued run and begin to answer it; False if another process has it."""
        ...


class _Stream(RedisStreamBroker):
    """taskiq's stream, read one message at a time, which leaves the rest to other workers.

    Messages that a dead worker read are not read again: their runs are found in the store.
    """

    async def listen(self) -> AsyncGenerator[AckableMessage]:
        """New messages, for ever."""
        async with Redis(connection_pool=self.connection_pool) as client:
            while True:
                # Any: streams with their messages, or nothing
                # untyped
                found: Any = await client.xreadgroup(  # pyright: ignore[reportUnknownMemberType]
                    self.consumer_group_name,
                    self.consumer_name,
                    {self.queue_name: ">"},
                    block=self.block,
                    count=1,
                )
                for _, messages in found or ():
                    for message_id, fields in messages:
                        acknowledge = self._ack_generator(message_id, self.queue_name)
                        yield AckableMessage(data=fields[b"data"], ack=acknowledge)


class RunQueue:
    """The queue, from both ends. Start it before use, close it when done."""

    def __init__(self, url: str, space: RedisSpace, *, name: str) -> None:
        """`name` is this process's; `space` has the prefix of the installation's keys."""
        self._space = space
        self._name = name
        self._stream = space.key("queue")
        self._broker = _Stream(
            url,
            queue_name=self._stream,
            consumer_group_name=_GROUP,
            consumer_name=name,
            consumer_id="0",  # also messages from before the first worker
            xread_block=_BLOCK_MILLISECONDS,
            maxlen=_KEPT_MESSAGES,
            max_connection_pool_size=_CONNECTIONS,
            protocol=2,
        )
        self._put = self._broker.register_task(_placeholder_task, task_name=_TASK)
        self._putting: set[asyncio.Task[None]] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._claiming: asyncio.Task[None] | None = None
        logging.getLogger("taskiq").setLevel(logging.WARNING)  # it logs every message

    # -- accepting processes --------------------------------------------------------------------

    def put(self, run_id: str) -> None:
        """Announce a queued run to the workers. Never waits: the run is committed already."""
        task = asyncio.create_task(self._enqueue(run_id))
        self._putting.add(task)
        task.add_done_callback(self._putting.discard)

    async def _enqueue(self, run_id: str) -> None:
        try:
            await self._put.kiq(run_id)
        except _OUTAGES as error:
            logger.warning("run %s waits for a worker to find it: %s", run_id, error)

    async def has_workers(self) -> bool:
        """Whether any worker takes runs.

        Raises:
            StorageUnavailable: Redis does not answer.
        """
        count = await self._space.command(
            "ZCOUNT", self._space.key("workers"), f"{time.time():.3f}", "+inf"
        )
        return int(count) > 0

    # -- workers --------------------------------------------------------------------------------

    def start(self, consumer: RunConsumer, *, lease_seconds: float) -> None:
        """Take runs until `stop`, and report this process as a worker."""
        self._tasks = [
            asyncio.create_task(self._consume_loop(consumer), name="queue"),
            asyncio.create_task(self._heartbeat_loop(lease_seconds), name="heartbeat"),
        ]

    async def stop(self) -> None:
        """Take no more runs. Those that were read and not claimed are left to others."""
        await cancel_all(self._tasks)
        if self._claiming is not None:  # a run that is being claimed is ours
            await asyncio.wait({self._claiming}, timeout=_LAST_SECONDS)
        if self._tasks:
            self._tasks = []
            with suppress(Unavailable, TimeoutError):
                async with asyncio.timeout(_LAST_SECONDS):
                    await self._space.command("ZREM", self._space.key("workers"), self._name)
                    await self._remove_reader(self._name)

    async def aclose(self) -> None:
        """Stop, send pending messages and release all connections."""
        await self.stop()
        if self._putting:
            await asyncio.wait(self._putting, timeout=_LAST_SECONDS)
        await cancel_all(self._putting)
        await self._broker.shutdown()

    async def _consume_loop(self, consumer: RunConsumer) -> None:
        async def take(run_id: str) -> None:
            await consumer.claim(run_id)

        receiver = self._receiver(take)
        failures = 0
        while True:
            try:
                await self._broker.startup()
                await self._remove_dead_readers()
                failures = 0
                await self._consume(receiver, consumer)
            except (*_OUTAGES, Unavailable) as error:
                if failures == 0:
                    logger.warning("the queue does not answer: %s", error)
            await asyncio.sleep(_RETRY_SECONDS[min(failures, len(_RETRY_SECONDS) - 1)])
            failures += 1

    async def _consume(self, receiver: Receiver, consumer: RunConsumer) -> None:
        """Read one message after another, while there is capacity for its run."""
        await consumer.wait_for_capacity()
        async with aclosing(self._broker.listen()) as messages:
            async for message in messages:
                # in a task: the library treats a cancellation as the task's own failure
                self._claiming = asyncio.create_task(receiver.callback(message))
                await asyncio.shield(self._claiming)
                await consumer.wait_for_capacity()

    def _receiver(self, take: Callable[[str], Awaitable[None]]) -> Receiver:
        """A receiver that turns a message into a call and acknowledges it after that."""
        self._broker.local_task_registry.pop(_TASK)
        self._broker.register_task(take, task_name=_TASK)
        return Receiver(self._broker, validate_params=False, max_async_tasks=1, run_startup=False)

    # -- known workers --------------------------------------------------------------------------

    async def _heartbeat_loop(self, lease_seconds: float) -> None:
        key = self._space.key("workers")
        while True:
            now = time.time()
            with suppress(Unavailable):
                await self._space.command("ZADD", key, f"{now + lease_seconds:.3f}", self._name)
                await self._space.command("ZREMRANGEBYSCORE", key, "-inf", f"({now:.3f}")
            await asyncio.sleep(lease_seconds / 4)

    async def _remove_dead_readers(self) -> None:
        """Remove readers that were idle for an hour; Redis would keep their names for ever."""
        found: list[Any] = await self._space.command("XINFO", "CONSUMERS", self._stream, _GROUP)
        for reader in found:
            known = _fields(reader)
            if int(known[b"idle"]) > _DEAD_READER_MILLISECONDS:
                await self._remove_reader(known[b"name"].decode())

    async def _remove_reader(self, name: str) -> None:
        await self._space.command("XGROUP", "DELCONSUMER", self._stream, _GROUP, name)


async def _placeholder_task(run_id: str) -> None:
    """The task in processes that only put runs into the queue."""


def _fields(reader: Any) -> dict[bytes, Any]:  # Any: a map or a flat list, as the protocol has it
    if isinstance(reader, dict):
        fields = cast("dict[bytes | str, Any]", reader)  # untyped
        return {_bytes(name): value for name, value in fields.items()}
    return dict(zip(reader[::2], reader[1::2], strict=True))


def _bytes(name: Any) -> bytes:  # Any: text or bytes
    return name.encode() if isinstance(name, str) else name
