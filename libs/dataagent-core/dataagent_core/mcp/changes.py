"""What others are told of servers: people's screens, other processes. Plain data.

A `McpChange` goes to the listeners of this process and, as a message, to other processes. It names
a server and says what happened, never how it is reached. Above: `hub.py`, the server's sockets.

The version that every change in this room counts up.

Whoever changes something holds the version's row, so that changes come one after the other on every
database. Who also changes tools that agents can be bound to counts up the agents' version as well,
before touching them: the order in which `agents/` takes its locks. Below: `storage/`.
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
    """How often anything was changed."""
    return connection.execute(_VERSION, _MCP).scalar() or 0


def hold(connection: Connection) -> int:
    """Let no other change in until this one is committed; the version it will be."""
    return (connection.execute(_VERSION.with_for_update(), _MCP).scalar() or 0) + 1


def count_up(connection: Connection) -> None:
    """Say that something changed."""
    connection.execute(_COUNT, _MCP)


def hold_agents(connection: Connection) -> None:
    """Say that the tools agents can be bound to changed, and let no other change of them in."""
    connection.execute(_COUNT, _AGENTS)


logger = logging.getLogger(__name__)
ChangeKind = Literal["added", "updated", "removed", "status", "tools"]


@dataclass(frozen=True, slots=True)
class McpChange:
    """Something happened to a server."""

    user_id: str | None
    """Whom it concerns; None: everyone who has the server."""
    tenant_id: str | None
    server_id: str
    name: str
    what: ChangeKind


Listener = Callable[[McpChange], None]


class Listeners:
    """Who wants to hear of changes."""

    def __init__(self) -> None:
        self._handlers: list[Listener] = []

    def add(self, handler: Listener) -> Callable[[], None]:
        """Tell the handler from now on, until what is returned is called."""
        self._handlers.append(handler)

        def end() -> None:
            if handler in self._handlers:
                self._handlers.remove(handler)

        return end

    def tell(self, change: McpChange) -> None:
        """Tell everyone; who fails is logged and keeps nobody from hearing."""
        for handler in list(self._handlers):
            try:
                handler(change)
            except Exception:
                logger.exception("a listener of MCP changes failed")


@dataclass(frozen=True, slots=True)
class PeerMessage:
    """What goes to other processes: a change, or the end of a session."""

    origin: str
    change: McpChange | None = None
    session_id: str = ""

    def to_bytes(self) -> bytes:
        """As it is sent."""
        change = None if self.change is None else asdict(self.change)
        return orjson.dumps(
            {"origin": self.origin, "change": change, "session_id": self.session_id}
        )

    @classmethod
    def from_bytes(cls, payload: bytes) -> PeerMessage:
        """As it was sent."""
        fields = orjson.loads(payload)
        change = None if fields["change"] is None else McpChange(**fields["change"])
        return cls(fields["origin"], change, fields["session_id"])
