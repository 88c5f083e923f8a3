"""Short messages between the processes of one installation, by topic.

Delivery is quick and not certain: what is true is in the store, a message only says where to look
or saves the look. When messages may have been lost a handler is called with None, and looks.
`LocalBus` is for one process; `redis_bus.py` has the one for many. Above: `relay.py` (entries to
readers elsewhere), `control.py` (orders to a run's owner), the server (users that changed).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

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
