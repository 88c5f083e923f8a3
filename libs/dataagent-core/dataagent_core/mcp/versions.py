"""The version that every change in this room counts up.

Whoever changes something holds the version's row, so that changes come one after the other on every
database. Who also changes tools that agents can be bound to counts up the agents' version as well,
before touching them: the order in which `agents/` takes its locks. Below: `storage/`.
"""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, select, update

from dataagent_core.storage.agents import versions

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
