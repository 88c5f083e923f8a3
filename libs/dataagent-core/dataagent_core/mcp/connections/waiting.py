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

_COMING = frozenset({"idle", "connecting"})


class Patience:
    """Knows whom it is no use to wait for."""

    def __init__(self) -> None:
        self._in_vain: set[tuple[str, int]] = set()
        self._turn = asyncio.Event()

    async def wait(self, connections: Sequence[ServerConnection], seconds: float) -> None:
        """Wait until those that may come are ready or have failed, or the time is over."""
        coming = [each for each in connections if self._may_come(each)]
        if not coming or seconds <= 0:
            return
        for connection in coming:
            connection.wake()
        try:
            async with asyncio.timeout(seconds):
                while any(map(_is_open, coming)):
                    await self._turn.wait()
        except TimeoutError:
            self._in_vain |= {_key(each.spec) for each in coming if _is_open(each)}

    def turned(self, spec: ServerSpec, status: ConnectionStatus) -> None:
        """A connection is in another state; one that is ready is worth waiting for again."""
        if status.state == "ready":
            self._in_vain.discard(_key(spec))
        self._turn.set()
        self._turn = asyncio.Event()

    def _may_come(self, connection: ServerConnection) -> bool:
        return _is_open(connection) and _key(connection.spec) not in self._in_vain


def _is_open(connection: ServerConnection) -> bool:
    """Whether it is neither ready nor known to fail."""
    status = connection.status
    return status.state in _COMING and status.fail_count == 0


def _key(spec: ServerSpec) -> tuple[str, int]:
    return spec.server_id, spec.config_version
