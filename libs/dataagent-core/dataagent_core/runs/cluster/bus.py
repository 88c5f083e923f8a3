"""Short messages between the processes of one installation, by topic.

Delivery is quick and not certain: the store holds the truth, a message tells where to look or saves
a read. When messages may have been lost a handler is called with None, and reads the store.
`LocalBus` is for one process; `redis_bus.py` has the one for many.

`Control` sends orders to a run's owner: stop it, read a decision, look for free runs. An order is a
hint; it is in the store before it is sent (`RunStore.request_cancel`, `decide`), and an owner that
does not receive it finds it there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import orjson

Handler = Callable[[bytes | None], None]
"""Receives a message; None: some may have been lost."""

USERS_TOPIC = "users"
"""The topic of users that were changed; a message is the user's id."""


class Subscription(ABC):
    """A handler on a topic, until it is ended."""

    @abstractmethod
    async def wait_confirmed(self, timeout_seconds: float) -> bool:
        """Wait until every message from now on arrives; False if that is not known in time."""

    @abstractmethod
    def end(self) -> None:
        """Stop receiving. Further calls do nothing."""


class Bus(ABC):
    """Messages by topic. Start it before use, close it when done."""

    is_shared: bool  # whether other processes receive what is published

    @abstractmethod
    def publish(self, topic: str, payload: bytes) -> None:
        """Send a message to all subscribers, in this process too. Never waits or raises."""

    @abstractmethod
    def subscribe(self, topic: str, handler: Handler) -> Subscription:
        """Call the handler with each message of the topic. It must not wait or raise."""

    async def start(self) -> None:  # noqa: B027 nothing to start in this process alone
        """Begin to carry messages; the transport may still be unavailable."""

    async def ping(self) -> None:  # noqa: B027 nothing that could be unavailable
        """Raise `StorageUnavailable` unless messages can be carried."""

    async def aclose(self) -> None:  # noqa: B027 nothing to close
        """Send pending messages, and stop."""


class LocalBus(Bus):
    """Messages inside this process, delivered before `publish` returns."""

    is_shared = False

    def __init__(self) -> None:
        self._handlers: dict[str, list[Handler]] = {}

    def publish(self, topic: str, payload: bytes) -> None:
        """As `Bus.publish`."""
        for handler in list(self._handlers.get(topic, ())):
            handler(payload)

    def subscribe(self, topic: str, handler: Handler) -> Subscription:
        """As `Bus.subscribe`."""
        self._handlers.setdefault(topic, []).append(handler)
        return _LocalSubscription(self._handlers, topic, handler)


class _LocalSubscription(Subscription):
    def __init__(self, handlers: dict[str, list[Handler]], topic: str, handler: Handler) -> None:
        self._handlers = handlers
        self._topic = topic
        self._handler: Handler | None = handler

    async def wait_confirmed(self, timeout_seconds: float) -> bool:
        return True

    def end(self) -> None:
        if self._handler is None:
            return
        others = self._handlers[self._topic]
        others.remove(self._handler)
        self._handler = None
        if not others:
            del self._handlers[self._topic]


_WORKERS = "workers"


class Control:
    """Sends orders to the owners of runs, and receives those for this process."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    @property
    def is_shared(self) -> bool:
        """Whether other processes receive orders."""
        return self._bus.is_shared

    def cancel(self, owner: str, run_id: str) -> None:
        """Order a run's owner to stop it."""
        self._send(owner, "cancel", run_id, "")

    def notify_decided(self, owner: str, run_id: str, request_id: str) -> None:
        """Notify a run's owner that a request was decided."""
        self._send(owner, "decided", run_id, request_id)

    def announce_free_runs(self) -> None:
        """Notify all workers that there are runs to claim."""
        self._bus.publish(_WORKERS, b"look")

    def _send(self, owner: str, *order: str) -> None:
        self._bus.publish(_topic(owner), orjson.dumps(order))

    def subscribe_worker(
        self,
        name: str,
        *,
        on_cancel: Callable[[str], object],
        on_decided: Callable[[str, str], object],
        on_free_runs: Callable[[], object],
    ) -> list[Subscription]:
        """Receive the orders for the process of that name.

        If some may be lost, `on_free_runs` is called.
        """

        def take(payload: bytes | None) -> None:
            if payload is None:
                on_free_runs()
                return
            order, run_id, request_id = orjson.loads(payload)
            if order == "cancel":
                on_cancel(run_id)
            elif order == "decided":
                on_decided(run_id, request_id)

        def announce_free_runs(_: bytes | None) -> None:
            on_free_runs()

        return [
            self._bus.subscribe(_topic(name), take),
            self._bus.subscribe(_WORKERS, announce_free_runs),
        ]


def _topic(owner: str) -> str:
    return f"worker:{owner}"
