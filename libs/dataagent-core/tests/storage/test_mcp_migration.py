"""Tools and bindings of an older database outlive the step that tells tools apart by their keys."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from dataagent_core.agents import AgentRegistry
from dataagent_core.agents.store import AgentStore, ToolDefinition
from dataagent_core.mcp.catalogue.catalogue import ToolCatalogue
from dataagent_core.mcp.servers.registration import NewServer
from dataagent_core.mcp.servers.server_store import ServerStore
from dataagent_core.mcp.types import RemoteTool
from dataagent_core.storage import open_database
from dataagent_core.storage.migrate import migrate, migrate_to
from tests.requirements import requirement
from tests.services import fresh_database
from tests.tiers import SQL_STORES

TOOLS = {3: "ls", 4: "read_file", 9: "sql_db_query"}
BOUND = {("a_1", 3), ("a_1", 9), ("a_2", 4)}
_AT = "2026-01-02 03:04:05.678"


@pytest.fixture(params=SQL_STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[str]:
    with fresh_database(request.param, tmp_path) as fresh:
        yield fresh


def _write_rows(connection: Connection) -> None:
    """As version 0004 wrote them; number 12 was given once and its tool is gone."""
    agent = text(
        "INSERT INTO agents (agent_id, name, kind, bindings, created_at, updated_at) "
        f"VALUES (:id, :id, 'custom', 'listed', '{_AT}', '{_AT}')"
    )
    for agent_id in ("a_1", "a_2"):
        connection.execute(agent, {"id": agent_id})
    tool = text(
        "INSERT INTO tools (tool_id, name, kind, description, input_schema, created_at) "
        f"VALUES (:id, :name, 'builtin', 'Does.', '{json.dumps({})}', '{_AT}')"
    )
    for tool_id, name in {**TOOLS, 12: "gone"}.items():
        connection.execute(tool, {"id": tool_id, "name": name})
    connection.execute(text("DELETE FROM tools WHERE tool_id = 12"))
    if connection.dialect.name == "postgresql":  # numbers above were given by hand
        connection.execute(text("SELECT setval('tools_tool_id_seq', 12)"))
    bind = text("INSERT INTO agent_tools (agent_id, tool_id) VALUES (:agent, :tool)")
    for agent_id, tool_id in BOUND:
        connection.execute(bind, {"agent": agent_id, "tool": tool_id})


def _kept(connection: Connection) -> tuple[dict[int, str], set[tuple[str, int]]]:
    tools = connection.execute(text("SELECT tool_id, name FROM tools"))
    bound = connection.execute(text("SELECT agent_id, tool_id FROM agent_tools"))
    return {row.tool_id: row.name for row in tools}, {(r.agent_id, r.tool_id) for r in bound}


@requirement("R25.7")
async def test_numbers_and_bindings_survive_the_step_up_and_down(url: str) -> None:
    database = open_database(url)
    try:
        await migrate_to(database, "0004")
        await database.write(_write_rows)

        await migrate(database)

        assert await database.read(_kept) == (TOOLS, BOUND)
        keys = text("SELECT tool_id, tool_key FROM tools")
        told = await database.read(lambda c: {r.tool_id: r.tool_key for r in c.execute(keys)})
        assert told == {number: f"builtin:{name}" for number, name in TOOLS.items()}
        definitions = [ToolDefinition(name, "Does.", {}) for name in (*TOOLS.values(), "new")]
        registry = AgentRegistry(AgentStore(database), tools=definitions)
        await registry.open()
        numbers = registry.now.tool_ids
        await registry.aclose()
        assert {name: numbers[name] for name in TOOLS.values()} == {
            name: number for number, name in TOOLS.items()
        }
        assert numbers["new"] == 13  # no number is given twice
        spec = await ServerStore(database).create(
            NewServer(name="s", scope="global", url="https://mcp.example/"), by="root"
        )
        await ToolCatalogue(database).sync(spec, [RemoteTool("ls")])
        tools, bound = await database.read(_kept)
        assert (len(tools), bound) == (5, BOUND)

        await migrate_to(database, "0004")
        tools, bound = await database.read(_kept)
        assert (tools, bound) == ({**TOOLS, 13: "new"}, BOUND)
        await migrate(database)
        assert await database.read(_kept) == ({**TOOLS, 13: "new"}, BOUND)
    finally:
        await database.close()
