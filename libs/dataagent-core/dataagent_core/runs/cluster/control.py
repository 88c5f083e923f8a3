"""Orders to a run's owner, wherever it is: stop it, look at a decision, look for free runs.

The order is a hint; what was asked is in the store before it is sent (`RunStore.request_cancel`,
`decide`), and an owner that did not hear it finds it there. Above: `service.py` sends, `worker.py`
obeys. Below: `bus.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import orjson

from dataagent_core.runs.cluster.bus import Bus, Subscription

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
