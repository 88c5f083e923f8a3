"""Writes down how servers are, when that changes, for processes and people that do not hold them.

A server that is lost or does not answer is logged, too. Nobody waits for the writing: of several
changes in a row the last is written. A connection that is one user's own to a shared server says
nothing about the server. Above: `hub.py`. Below: `servers.py`.
"""

from __future__ import annotations

import asyncio
import logging

from dataagent_core.errors import DataAgentError, Unavailable
from dataagent_core.mcp.servers.servers import ServerStore
from dataagent_core.mcp.types import ConnectionKey, ConnectionStatus, ServerSpec
from dataagent_core.storage.tasks import cancel_all

logger = logging.getLogger(__name__)
_SHARED = "shared"
_PAUSE_SECONDS = 1.0


class StatusWriter:
    """The last status of each server, on its way to the database."""

    def __init__(self, store: ServerStore) -> None:
        self._store = store
        self._waiting: dict[str, tuple[ConnectionStatus, int | None]] = {}
        self._has_waiting = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to write."""
        self._writer = asyncio.create_task(self._write(), name="mcp-statuses")

    async def aclose(self) -> None:
        """Stop; what is not written is known again when someone connects."""
        await cancel_all([self._writer])

    def note(self, key: ConnectionKey, spec: ServerSpec, status: ConnectionStatus) -> None:
        """A connection is in another state."""
        log_failure(spec, status)
        if spec.scope == "file" or (key.principal != _SHARED and spec.scope != "user"):
            return
        self._waiting[spec.server_id] = status, key.version or None
        self._has_waiting.set()

    async def _write(self) -> None:
        while True:
            await self._has_waiting.wait()
            self._has_waiting.clear()
            waiting, self._waiting = self._waiting, {}
            for server_id, (status, version) in waiting.items():
                await self._write_one(server_id, status, version)

    async def _write_one(
        self, server_id: str, status: ConnectionStatus, version: int | None
    ) -> None:
        try:
            await self._store.note_status(server_id, status, version=version)
        except Unavailable:
            self._waiting.setdefault(server_id, (status, version))
            self._has_waiting.set()
            await asyncio.sleep(_PAUSE_SECONDS)
        except DataAgentError:  # it was removed at this moment
            return
        except Exception:
            logger.exception("the status of an MCP server could not be written")


def log_failure(spec: ServerSpec, status: ConnectionStatus) -> None:
    """Say so if a server is not reached; the first failure in a row is a warning."""
    if status.status == "error":
        level = logging.INFO if status.fail_count > 1 else logging.WARNING
        logger.log(level, "MCP server %s is not reached: %s", spec.label, status.reason)
