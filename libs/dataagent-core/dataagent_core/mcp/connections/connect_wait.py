"""How long a run waits for servers: for those that may come, once, and never for a dead one.

A server that is being connected to for the first time is worth a moment. One that has failed, or
that has kept someone waiting in vain, is not waited for until it was ready again: so a dead server
delays no run but the first. Above: `hub.py`. Below: `connection.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from dataagent_core.mcp.connections.connection import ServerConnection
from dataagent_core.mcp.types import ConnectionStatus, ServerSpec

_CONNECTING_STATES = frozenset({"idle", "connecting"})


class ConnectWait:
    """Knows whom it is no use to wait for."""

    def __init__(self) -> None:
        self._timed_out: set[tuple[str, int]] = set()
        self._changed = asyncio.Event()

    async def wait(self, connections: Sequence[ServerConnection], seconds: float) -> None:
        """Wait until those that may come are ready or have failed, or the time is over."""
        pending = [each for each in connections if self._is_worth_waiting_for(each)]
        if not pending or seconds <= 0:
            return
        for connection in pending:
            connection.wake()
        try:
            async with asyncio.timeout(seconds):
                while any(map(_is_undecided, pending)):
                    await self._changed.wait()
        except TimeoutError:
            self._timed_out |= {_key(each.spec) for each in pending if _is_undecided(each)}

    def on_status(self, spec: ServerSpec, status: ConnectionStatus) -> None:
        """A connection is in another state; one that is ready is worth waiting for again."""
        if status.state == "ready":
            self._timed_out.discard(_key(spec))
        self._changed.set()
        self._changed = asyncio.Event()

    def _is_worth_waiting_for(self, connection: ServerConnection) -> bool:
        return _is_undecided(connection) and _key(connection.spec) not in self._timed_out


def _is_undecided(connection: ServerConnection) -> bool:
    """Whether it is neither ready nor known to fail."""
    status = connection.status
    return status.state in _CONNECTING_STATES and status.fail_count == 0


def _key(spec: ServerSpec) -> tuple[str, int]:
    return spec.server_id, spec.config_version
