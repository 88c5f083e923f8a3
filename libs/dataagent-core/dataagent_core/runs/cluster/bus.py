"""Short messages between the processes of one installation, by topic.

Delivery is quick and not certain: what is true is in the store, a message only says where to look
or saves the look. When messages may have been lost a handler is called with None, and looks.
`LocalBus` is for one process; `redis_bus.py` has the one for many. Above: `relay.py` (entries to
readers elsewhere), `control.py` (orders to a run's owner), the server (users that changed).

Orders to a run's owner, wherever it is: stop it, look at a decision, look for free runs.

The order is a hint; what was asked is in the store before it is sent (`RunStore.request_cancel`,
`decide`), and an owner that did not hear it finds it there. Above: `service.py` sends, `worker.py`
obeys. Below: `bus.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import orjson

Handler = Callable[[bytes | None], None]
"""Takes a message; None: some may have been lost."""

USERS_TOPIC = "users"
"""The topic of users that were changed; a message is the user's id."""


class Subscription(ABC):
    """A handler on a topic, until it is ended."""

    @abstractmethod
    async def wait_confirmed(self, timeout_seconds: float) -> bool:
        """Wait until every message from now on arrives; False if that is not known in time."""

    @abstractmethod
    def end(self) -> None:
        """Stop hearing. A second time does nothing."""


class Bus(ABC):
    """Messages by topic. Start it before use, close it when done."""

    is_shared: bool  # whether other processes hear what is published

    @abstractmethod
    def publish(self, topic: str, payload: bytes) -> None:
        """Send a message to all who hear the topic, in this process too. Never waits or raises."""

    @abstractmethod
    def subscribe(self, topic: str, handler: Handler) -> Subscription:
        """Call the handler with each message of the topic. It must not wait or raise."""

    async def start(self) -> None:  # noqa: B027 nothing to start in this process alone
        """Begin to carry messages; what carries them may still be away."""

    async def ping(self) -> None:  # noqa: B027 nothing that could be away
        """Raise `StorageUnavailable` unless messages can be carried."""

    async def aclose(self) -> None:  # noqa: B027 nothing to close
        """Send what waits, and stop."""


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


_EVERYONE = "workers"


class Control:
    """Sends orders, and passes on those for this process."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    @property
    def is_shared(self) -> bool:
        """Whether other processes hear an order."""
        return self._bus.is_shared

    def cancel(self, owner: str, run_id: str) -> None:
        """Tell a run's owner to stop it."""
        self._send(owner, "cancel", run_id, "")

    def notify_decided(self, owner: str, run_id: str, request_id: str) -> None:
        """Tell a run's owner that a request has an answer."""
        self._send(owner, "decided", run_id, request_id)

    def announce_free_runs(self) -> None:
        """Tell everyone that there are runs to be taken."""
        self._bus.publish(_EVERYONE, b"look")

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
        """Hear the orders for the process of that name; lost ones are a reason to look."""

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
            self._bus.subscribe(_EVERYONE, announce_free_runs),
        ]


def _topic(owner: str) -> str:
    return f"worker:{owner}"
