"""The bus of many processes: Redis pub/sub.

It has two connections. One receives; when it was lost, every handler is called with None, because
messages may be missing. One publishes pending messages in one write; topics whose messages could
not be sent get an empty message once Redis is back, which handlers receive as None. So subscribers
know when to read the store, on whichever side the network was broken.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from redis.asyncio import ConnectionPool
from redis.exceptions import RedisError

from dataagent_core.errors import Misconfigured, StorageUnavailable
from dataagent_core.runs.cluster.bus import Bus, Handler, Subscription
from dataagent_core.storage.background_tasks import cancel_all

if TYPE_CHECKING:
    from redis.asyncio.connection import AbstractConnection

logger = logging.getLogger(__name__)
_OUTAGES = (RedisError, OSError)
_CONNECT_SECONDS = 2.0
_REPLY_SECONDS = 5.0
_QUIET_SECONDS = 5.0
_RETRY_SECONDS = (0.05, 0.1, 0.2, 0.5)
_MAX_WAITING = 20_000
_BATCH_SIZE = 500
_LAST_SECONDS = 1.0


class _Topic:
    """The handlers of one channel of Redis."""

    __slots__ = ("handlers", "is_confirmed", "was_confirmed")

    def __init__(self) -> None:
        self.handlers: list[Handler] = []
        self.is_confirmed = asyncio.Event()
        self.was_confirmed = False

    def deliver(self, payload: bytes | None) -> None:
        for handler in list(self.handlers):
            try:
                handler(payload)
            except Exception:
                logger.exception("a handler of the bus failed")


class RedisBus(Bus):
    """Messages through Redis."""

    is_shared = True

    def __init__(self, url: str, *, prefix: str) -> None:
        """`prefix` stands before the names of all channels.

        Raises:
            Misconfigured: it is not a Redis URL.
        """
        self._pool = _pool(url)
        self._prefix = f"{prefix}bus:".encode()
        self._topics: dict[bytes, _Topic] = {}
        self._commands: deque[tuple[bytes, bytes]] = deque()  # SUBSCRIBE and UNSUBSCRIBE to be sent
        self._has_commands = asyncio.Event()
        self._unanswered: dict[bytes, int] = {}  # SUBSCRIBEs that are not yet confirmed
        self._outgoing: deque[tuple[bytes, bytes]] = deque()
        self._missed: dict[bytes, None] = {}
        self._has_outgoing = asyncio.Event()
        self._is_sent = asyncio.Event()
        self._is_sent.set()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """As `Bus.start`."""
        self._tasks = [
            asyncio.create_task(self._listen_loop(), name="bus-listens"),
            asyncio.create_task(self._send_loop(), name="bus-sends"),
        ]

    async def aclose(self) -> None:
        """As `Bus.aclose`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS if self._tasks else 0):
                await self._is_sent.wait()
        await cancel_all(self._tasks)
        self._tasks = []

    async def ping(self) -> None:
        """As `Bus.ping`, on a connection of its own: a pooled one may have been answered before."""
        connection = self._pool.make_connection()
        try:
            await connection.connect()
            await connection.send_command("PING", check_health=False)
            await connection.read_response()
        except _OUTAGES as error:
            raise StorageUnavailable("Redis does not answer.") from error
        finally:
            await connection.disconnect(nowait=True)

    # -- publishing -----------------------------------------------------------------------------

    def publish(self, topic: str, payload: bytes) -> None:
        """As `Bus.publish`."""
        channel = self._prefix + topic.encode()
        if len(self._outgoing) >= _MAX_WAITING:
            self._missed[channel] = None
            return
        self._outgoing.append((channel, payload))
        self._is_sent.clear()
        self._has_outgoing.set()

    async def _send_loop(self) -> None:
        connection = self._pool.make_connection()
        failures = 0
        try:
            while True:
                if not self._outgoing and not self._missed:
                    self._is_sent.set()
                await self._has_outgoing.wait()
                batch = self._next_batch()
                try:
                    await _publish(connection, batch)
                    failures = 0
                except _OUTAGES as error:
                    _warn_once("publish", failures, error)
                    self._missed.update(dict.fromkeys(channel for channel, _ in batch))
                    self._has_outgoing.set()
                    await connection.disconnect(nowait=True)
                    await _pause(failures)
                    failures += 1
        finally:
            await connection.disconnect(nowait=True)

    def _next_batch(self) -> list[tuple[bytes, bytes]]:
        """The next messages: first to topics that missed some, then pending ones."""
        batch = [(channel, b"") for channel in self._missed]
        self._missed.clear()
        while self._outgoing and len(batch) < _BATCH_SIZE:
            batch.append(self._outgoing.popleft())
        if not self._outgoing:
            self._has_outgoing.clear()
        return batch

    # -- receiving ------------------------------------------------------------------------------

    def subscribe(self, topic: str, handler: Handler) -> Subscription:
        """As `Bus.subscribe`."""
        channel = self._prefix + topic.encode()
        known = self._topics.get(channel)
        if known is None:
            known = self._topics[channel] = _Topic()
            self._queue_command(b"SUBSCRIBE", channel)
        known.handlers.append(handler)
        return _RedisSubscription(self, channel, known, handler)

    def drop(self, channel: bytes, topic: _Topic, handler: Handler) -> None:
        """Stop calling a handler; the last one of a topic ends the channel."""
        topic.handlers.remove(handler)
        if not topic.handlers and self._topics.get(channel) is topic:
            del self._topics[channel]
            self._queue_command(b"UNSUBSCRIBE", channel)

    def _queue_command(self, command: bytes, channel: bytes) -> None:
        if command == b"SUBSCRIBE":
            self._unanswered[channel] = self._unanswered.get(channel, 0) + 1
        self._commands.append((command, channel))
        self._has_commands.set()

    async def _listen_loop(self) -> None:
        failures = 0
        while True:
            connection = self._pool.make_connection()
            try:
                await connection.connect()
                self._resubscribe_all()
                failures = 0
                await self._serve(connection)
            except _OUTAGES as error:
                _warn_once("listen", failures, error)
            finally:
                for topic in self._topics.values():
                    topic.is_confirmed.clear()
                await connection.disconnect(nowait=True)
            await _pause(failures)
            failures += 1

    def _resubscribe_all(self) -> None:
        """Subscribe to all topics on a fresh connection."""
        self._commands.clear()
        self._unanswered.clear()
        for channel in self._topics:
            self._queue_command(b"SUBSCRIBE", channel)

    async def _serve(self, connection: AbstractConnection) -> None:
        """Send subscriptions and receive messages until the connection is lost."""
        sending = asyncio.create_task(self._send_commands(connection))
        receiving = asyncio.create_task(self._receive(connection))
        try:
            await asyncio.wait({sending, receiving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_all([sending, receiving])
        for task in (sending, receiving):
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error

    async def _send_commands(self, connection: AbstractConnection) -> None:
        while True:
            await self._has_commands.wait()
            self._has_commands.clear()
            commands = list(self._commands)
            self._commands.clear()
            await connection.send_packed_command(
                connection.pack_commands(commands), check_health=False
            )

    async def _receive(self, connection: AbstractConnection) -> None:
        """Receive messages; ping a connection that is quiet for long."""
        is_pinged = False
        while True:
            # Any: Redis's reply, a list of a kind and its parts
            reply: Any = await cast(Any, connection).read_response(
                timeout=_QUIET_SECONDS, disconnect_on_error=False
            )
            if reply is not None:
                is_pinged = False
                self._handle_reply(reply)
            elif is_pinged:
                raise ConnectionError("Redis has gone quiet.")
            else:
                is_pinged = True
                await connection.send_command("PING", check_health=False)

    def _handle_reply(self, reply: Any) -> None:  # Any: as above
        if reply[0] == b"message":
            topic = self._topics.get(reply[1])
            if topic is not None:
                topic.deliver(reply[2] or None)
        elif reply[0] == b"subscribe":
            self._confirm(reply[1])

    def _confirm(self, channel: bytes) -> None:
        """Note a confirmed channel, unless a later command for it is not answered yet."""
        left = self._unanswered.get(channel, 1) - 1
        if left > 0:
            self._unanswered[channel] = left
            return
        self._unanswered.pop(channel, None)
        topic = self._topics.get(channel)
        if topic is None:
            return
        topic.is_confirmed.set()
        if topic.was_confirmed:  # before the connection was lost, and messages with it
            topic.deliver(None)
        topic.was_confirmed = True


class _RedisSubscription(Subscription):
    def __init__(self, bus: RedisBus, channel: bytes, topic: _Topic, handler: Handler) -> None:
        self._bus = bus
        self._channel = channel
        self._topic = topic
        self._handler: Handler | None = handler

    async def wait_confirmed(self, timeout_seconds: float) -> bool:
        if self._topic.is_confirmed.is_set():
            return True
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._topic.is_confirmed.wait()
        return self._topic.is_confirmed.is_set()

    def end(self) -> None:
        if self._handler is not None:
            self._bus.drop(self._channel, self._topic, self._handler)
            self._handler = None


async def _publish(connection: AbstractConnection, batch: list[tuple[bytes, bytes]]) -> None:
    commands = [(b"PUBLISH", channel, payload) for channel, payload in batch]
    await connection.send_packed_command(connection.pack_commands(commands), check_health=False)
    for _ in batch:
        await connection.read_response()


def _pool(url: str) -> ConnectionPool:
    """A pool with the older protocol, in which a message is an ordinary reply."""
    try:
        # the client leaves its options untyped
        return ConnectionPool.from_url(  # pyright: ignore[reportUnknownMemberType]
            url,
            protocol=2,
            socket_connect_timeout=_CONNECT_SECONDS,
            socket_timeout=_REPLY_SECONDS,
        )
    except ValueError as error:
        raise Misconfigured(
            "DATAAGENT_REDIS_URL is not a Redis URL. Use redis://host:6379/0."
        ) from error


async def _pause(failures: int) -> None:
    await asyncio.sleep(_RETRY_SECONDS[min(failures, len(_RETRY_SECONDS) - 1)])


def _warn_once(what: str, failures: int, error: BaseException) -> None:
    if failures == 0:
        logger.warning("the bus cannot %s: %s", what, error)
