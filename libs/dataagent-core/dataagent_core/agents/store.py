"""Stores agents, tools and bindings in the database.

Every change locks the row with the version, so changes come one after the other on every database
and a set of bindings is replaced as a whole. Tools are rows of one catalogue, those of MCP servers
among them; a tool gets its number when it is first seen, and no other tool ever has it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from langchain_core.tools import BaseTool
from sqlalchemy import Connection, RowMapping, bindparam, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from dataagent_core.agents.types import AgentKind, AgentSpec
from dataagent_core.errors import AgentNotFound, Conflict
from dataagent_core.storage import Database
from dataagent_core.storage.agent_tables import agent_tools, agents, mcp_servers, tools, versions

ToolKind = Literal["builtin", "mcp"]

ALWAYS_BOUND = frozenset({"write_todos", "task", "activate_skill", "route"})
"""Tools that every agent has: its plan, helpers and skills. They have no number."""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as its makers describe it."""

    name: str
    description: str
    input_schema: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of the catalogue."""

    tool_id: int
    name: str
    description: str
    kind: ToolKind
    input_schema: dict[str, Any]
    server_id: str | None = None


def definitions(tools: Iterable[BaseTool]) -> list[ToolDefinition]:
    """The tools that can be bound, by name; of two with one name the first."""
    found: dict[str, ToolDefinition] = {}
    for tool in tools:
        if tool.name not in ALWAYS_BOUND:
            found.setdefault(tool.name, _definition(tool))
    return [found[name] for name in sorted(found)]


def _definition(tool: BaseTool) -> ToolDefinition:
    schema: Any = tool.tool_call_schema  # a model, or JSON schema as it is
    to_json = getattr(schema, "model_json_schema", None)
    return ToolDefinition(
        tool.name, tool.description.strip(), schema if to_json is None else to_json()
    )


Bindings = Literal["shipped", "all", "listed"]
"""The built-in tools of an agent: as it was shipped, all, or those listed for it."""

_VERSION = select(versions.c.number).where(versions.c.name == "agents")
_HOLD = _VERSION.with_for_update()
_COUNT = update(versions).where(versions.c.name == "agents").values(number=versions.c.number + 1)
_AGENTS = select(agents).order_by(agents.c.name)
# built-in tools and those of shared MCP servers: a user's own are never bound to an agent
_IS_BINDABLE = or_(
    tools.c.kind == "builtin",
    tools.c.server_id.in_(select(mcp_servers.c.server_id).where(mcp_servers.c.scope != "user")),
)
_TOOLS = select(tools).where(_IS_BINDABLE).order_by(tools.c.tool_id)
_BINDINGS = select(agent_tools.c.agent_id, agent_tools.c.tool_id)
_IS_AGENT = agents.c.agent_id == bindparam("wanted")
_AGENT = select(agents).where(_IS_AGENT)
_BOUND = select(agent_tools.c.tool_id).where(agent_tools.c.agent_id == bindparam("wanted"))
_NAMED = select(agents.c.agent_id).where(agents.c.name == bindparam("named"))
_UNBIND = delete(agent_tools).where(agent_tools.c.agent_id == bindparam("wanted"))
_TOOL_IDS = select(tools.c.tool_id).where(_IS_BINDABLE)
_DESCRIBE = (
    update(tools)
    .where(tools.c.tool_id == bindparam("wanted"))
    .values(description=bindparam("new_description"), input_schema=bindparam("schema"))
)


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent as it is stored. None in a row of a built-in or package agent: as it was shipped."""

    agent_id: str
    name: str
    kind: AgentKind
    description: str | None = None
    system_prompt: str | None = None
    model: str | None = None
    icon: str | None = None
    show_in_selector: bool | None = None
    bindings: Bindings = "shipped"
    allow_user_tools: bool = True
    tool_ids: frozenset[int] = frozenset()
    """Those that are listed for it: of MCP servers always, of the built-in ones if `listed`."""


@dataclass(frozen=True, slots=True)
class StoredAgents:
    """All rows, at one version."""

    version: int = 0
    rows: tuple[AgentRow, ...] = ()
    tools: tuple[Tool, ...] = field(default=(), repr=False)


class AgentStore:
    """The rows of agents, tools and bindings."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def version(self) -> int:
        """The number of changes so far."""
        return await self._db.read(_version)

    async def load(self) -> StoredAgents:
        """All rows of one version."""
        return await self._db.write(_load)  # a transaction, held: no change in between

    async def seed(
        self, shipped: Iterable[AgentSpec], definitions: Sequence[ToolDefinition]
    ) -> None:
        """Give each agent and tool of this process a row, unless it has one; tools get numbers."""
        specs = list(shipped)
        await self._db.write(lambda c: _seed(c, specs, definitions))

    async def create(self, row: AgentRow) -> None:
        """Add an agent with its bindings.

        Raises:
            Conflict: another agent has that name.
        """

        def unit(connection: Connection) -> None:
            _hold(connection)
            _check_free(connection, row.name, but=None)
            connection.execute(insert(agents), _new_row(row))
            _bind(connection, row)
            connection.execute(_COUNT)

        await self._write(unit, row.name)

    async def change(
        self, agent_id: str, change: Callable[[AgentRow], AgentRow], *, named: str
    ) -> None:
        """Put what `change` makes of an agent's row and bindings in place of them.

        Raises:
            AgentNotFound: it is gone.
            Conflict: another agent has its new name.
        """

        def unit(connection: Connection) -> None:
            _hold(connection)
            found = connection.execute(_AGENT, {"wanted": agent_id}).mappings().first()
            if found is None:
                raise not_found_error(named)
            listed = connection.execute(_BOUND, {"wanted": agent_id}).scalars().all()
            row = change(_row(found, listed))
            _check_free(connection, row.name, but=agent_id)
            values = {**_columns(row), "updated_at": datetime.now(UTC)}
            connection.execute(update(agents).where(_IS_AGENT).values(values), {"wanted": agent_id})
            connection.execute(_UNBIND, {"wanted": agent_id})
            _bind(connection, row)
            connection.execute(_COUNT)

        await self._write(unit, named)

    async def delete(self, agent_id: str, *, named: str) -> None:
        """Remove an agent and its bindings.

        Raises:
            AgentNotFound: it is gone.
        """

        def unit(connection: Connection) -> None:
            _hold(connection)
            connection.execute(_UNBIND, {"wanted": agent_id})
            removed = connection.execute(delete(agents).where(_IS_AGENT), {"wanted": agent_id})
            if not removed.rowcount:
                raise not_found_error(named)
            connection.execute(_COUNT)

        await self._db.write(unit)

    async def _write(self, unit: Any, name: str) -> None:
        try:
            await self._db.write(unit)
        except IntegrityError:  # a database that lets two writers in all the same
            raise name_taken_error(name) from None


def not_found_error(name: str) -> AgentNotFound:
    """There is no such agent."""
    return AgentNotFound(
        f"There is no agent {name[:80]!r}. GET /api/v1/agents lists those there are."
    )


def name_taken_error(name: str) -> Conflict:
    """The name is another's."""
    return Conflict(f"There is an agent {name!r} already. Choose another name.")


def _version(connection: Connection) -> int:
    return connection.execute(_VERSION).scalar() or 0


def _hold(connection: Connection) -> int:
    """Let no other change in until this one is committed."""
    return connection.execute(_HOLD).scalar() or 0


def _load(connection: Connection) -> StoredAgents:
    version = _hold(connection)
    listed: dict[str, set[int]] = {}
    for agent_id, tool_id in connection.execute(_BINDINGS):
        listed.setdefault(agent_id, set()).add(tool_id)
    rows = connection.execute(_AGENTS).mappings().all()
    found = connection.execute(_TOOLS).all()
    return StoredAgents(
        version=version,
        rows=tuple(_row(each, listed.get(each["agent_id"], ())) for each in rows),
        tools=tuple(
            Tool(r.tool_id, r.name, r.description, r.kind, r.input_schema, r.server_id)
            for r in found
        ),
    )


def _row(kept: RowMapping, tool_ids: Collection[int]) -> AgentRow:
    values = {name: kept[name] for name in _COLUMNS}
    return AgentRow(**values, tool_ids=frozenset(tool_ids))


_COLUMNS = tuple(name for name in AgentRow.__slots__ if name != "tool_ids")


def _columns(row: AgentRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _COLUMNS}


def _new_row(row: AgentRow) -> dict[str, Any]:
    at = datetime.now(UTC)
    return {**_columns(row), "created_at": at, "updated_at": at}


def _check_free(connection: Connection, name: str, *, but: str | None) -> None:
    if connection.execute(_NAMED, {"named": name}).scalar() not in (None, but):
        raise name_taken_error(name)


def _bind(connection: Connection, row: AgentRow) -> None:
    """List the row's tools that are still there."""
    if not row.tool_ids:
        return
    there = set(connection.execute(_TOOL_IDS).scalars())
    wanted = [{"agent_id": row.agent_id, "tool_id": each} for each in sorted(row.tool_ids & there)]
    if wanted:
        connection.execute(insert(agent_tools), wanted)


def _seed(
    connection: Connection, specs: Sequence[AgentSpec], definitions: Sequence[ToolDefinition]
) -> None:
    _hold(connection)
    is_changed = _seed_tools(connection, definitions)
    known = {row.name for row in connection.execute(select(agents.c.name))}
    new = [
        _new_row(AgentRow(spec.agent_id, spec.name, spec.kind))
        for spec in specs
        if spec.name not in known
    ]
    if new:
        connection.execute(insert(agents), new)
    if new or is_changed:
        connection.execute(_COUNT)


def _seed_tools(connection: Connection, definitions: Sequence[ToolDefinition]) -> bool:
    """Number new tools, in order, and update known ones; whether anything changed."""
    known = {row.tool_key: row for row in connection.execute(_TOOLS)}
    at = datetime.now(UTC)
    is_changed = False
    for each in definitions:
        key = f"builtin:{each.name}"
        row = known.get(key)
        values = {"description": each.description, "input_schema": each.input_schema}
        if row is None:
            new = {"tool_key": key, "name": each.name, "kind": "builtin", "created_at": at}
            connection.execute(insert(tools), {**new, **values})
            is_changed = True
        elif (row.description, row.input_schema) != tuple(values.values()):
            changes = {
                "wanted": row.tool_id,
                "new_description": each.description,
                "schema": each.input_schema,
            }
            connection.execute(_DESCRIBE, changes)
            is_changed = True
    return is_changed
