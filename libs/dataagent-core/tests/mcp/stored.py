"""Servers, their tools and calls in an empty database of each kind, and what to put into it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import delete, make_url

from dataagent_core.mcp.catalogue.catalogue import ToolCatalogue
from dataagent_core.mcp.servers.registration import NewServer
from dataagent_core.mcp.servers.server_store import ServerStore
from dataagent_core.mcp.types import CatalogueTool, RemoteTool
from dataagent_core.storage import Database, open_database
from dataagent_core.storage.agent_tables import (
    mcp_servers,
    mcp_sessions,
    mcp_templates,
    mcp_tool_call_log,
    tools,
)
from tests.end_to_end.fault_proxy import FaultProxy


@dataclass(frozen=True, slots=True)
class Cuttable:
    """A database whose network can go away and come back."""

    database: Database
    proxy: FaultProxy


def shared(name: str, **values: Any) -> NewServer:
    """Everyone's server."""
    fields: dict[str, Any] = {"scope": "global", "url": "https://shared.example/mcp", **values}
    return NewServer(name=name, **fields)


def own(name: str, user_id: str = "alice", **values: Any) -> NewServer:
    """A user's server."""
    return shared(name, scope="user", user_id=user_id, **values)


def remote(name: str, description: str = "Does it.", **values: Any) -> RemoteTool:
    """A tool as a server lists it."""
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    fields: dict[str, Any] = {"input_schema": schema, **values}
    return RemoteTool(name=name, description=description, **fields)


ORDER = remote(
    "mall4j.order.get_detail",
    "One order.",
    title="Order",
    input_schema={
        "type": "object",
        "properties": {"orderId": {"type": "string"}},
        "required": ["orderId"],
    },
    output_schema={"type": "object", "properties": {"total": {"type": "number"}}},
    annotations={"readOnlyHint": True},
)


def catalogued(input_schema: dict[str, Any], output_schema: Any = None) -> CatalogueTool:
    """A tool with these schemas."""
    definition = remote("t", input_schema=input_schema, output_schema=output_schema)
    return CatalogueTool(
        tool_id=1,
        server_id="s",
        name="t",
        exposed_name="s__t",
        definition=definition,
        definition_hash=str(hash((str(input_schema), str(output_schema)))),
        schema_version=1,
        status="active",
    )


async def _emptied(place: str) -> Database:
    opened = open_database(place)
    for table in (mcp_servers, mcp_sessions, mcp_templates, mcp_tool_call_log, tools):
        await opened.write(lambda c, t=table: c.execute(delete(t)).rowcount)
    return opened


@pytest.fixture
async def database(sql_place: str) -> AsyncGenerator[Database]:
    opened = await _emptied(sql_place)
    yield opened
    await opened.close()


@pytest.fixture(params=["postgres", "mysql"])
def cuttable_place(request: pytest.FixtureRequest, place_of: Callable[[str], str]) -> str:
    return place_of(request.param)


@pytest.fixture
async def cuttable(cuttable_place: str) -> AsyncGenerator[Cuttable]:
    place = make_url(cuttable_place)
    await (await _emptied(place.render_as_string(hide_password=False))).close()
    proxy = FaultProxy(place.port or 0)
    await proxy.mend()
    through = open_database(place.set(port=proxy.port).render_as_string(hide_password=False))
    yield Cuttable(through, proxy)
    await through.close()
    await proxy.cut()


@pytest.fixture
def servers(database: Database) -> ServerStore:
    return ServerStore(database)


@pytest.fixture
async def catalogue(database: Database) -> ToolCatalogue:
    opened = ToolCatalogue(database)
    await opened.open()
    return opened
