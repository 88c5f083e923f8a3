"""Changes of MCP servers: the version in the database, and messages to listeners and processes.

A writer locks the version's row, so that changes follow one another on every database. A writer
that also changes tools agents can be bound to increments the agents' version first: the order in
which `agents/` takes its locks. A `McpChange` names a server and says what happened, never how it
is reached.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

import orjson
from sqlalchemy import Connection, bindparam, select, update

from dataagent_core.storage.agent_tables import versions

_VERSION = select(versions.c.number).where(versions.c.name == bindparam("of"))
_COUNT = (
    update(versions).where(versions.c.name == bindparam("of")).values(number=versions.c.number + 1)
)
_MCP = {"of": "mcp"}
_AGENTS = {"of": "agents"}


def version_of(connection: Connection) -> int:
    """Return the version: how often anything was changed."""
    return connection.execute(_VERSION, _MCP).scalar() or 0


def hold(connection: Connection) -> int:
    """Lock the version until this transaction commits, and return the version it will be."""
    return (connection.execute(_VERSION.with_for_update(), _MCP).scalar() or 0) + 1


def count_up(connection: Connection) -> None:
    """Increment the version."""
    connection.execute(_COUNT, _MCP)


def hold_agents(connection: Connection) -> None:
    """Lock and increment the agents' version: tools they can be bound to changed."""
    connection.execute(_COUNT, _AGENTS)


logger = logging.getLogger(__name__)
ChangeKind = Literal["added", "updated", "removed", "status", "tools"]


@dataclass(frozen=True, slots=True)
class McpChange:
    """A server was changed."""

    user_id: str | None
    """Whom it concerns; None: everyone who has the server."""
    tenant_id: str | None
    server_id: str
    name: str
    what: ChangeKind


Listener = Callable[[McpChange], None]


class Listeners:
    """The listeners for changes in this process."""

    def __init__(self) -> None:
        self._handlers: list[Listener] = []

    def add(self, handler: Listener) -> Callable[[], None]:
        """Call the handler for each change, until the returned function is called."""
        self._handlers.append(handler)

        def end() -> None:
            if handler in self._handlers:
                self._handlers.remove(handler)

        return end

    def tell(self, change: McpChange) -> None:
        """Call every handler; one that fails is logged and does not stop the others."""
        for handler in list(self._handlers):
            try:
                handler(change)
            except Exception:
                logger.exception("a listener of MCP changes failed")


@dataclass(frozen=True, slots=True)
class PeerMessage:
    """A message to other processes: a change, or the end of a session."""

    origin: str
    change: McpChange | None = None
    session_id: str = ""

    def to_bytes(self) -> bytes:
        """Serialise the message."""
        change = None if self.change is None else asdict(self.change)
        return orjson.dumps(
            {"origin": self.origin, "change": change, "session_id": self.session_id}
        )

    @classmethod
    def from_bytes(cls, payload: bytes) -> PeerMessage:
        """Parse a message."""
        fields = orjson.loads(payload)
        change = None if fields["change"] is None else McpChange(**fields["change"])
        return cls(fields["origin"], change, fields["session_id"])
