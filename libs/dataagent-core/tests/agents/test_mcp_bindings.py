"""Tools of MCP servers are bound to agents by number, like any other; nobody has them unasked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dataagent_core.agents import AgentRegistry, AgentService
from dataagent_core.agents.service import NewAgent
from dataagent_core.agents.store import AgentStore, ToolDefinition
from dataagent_core.errors import AgentBusy
from dataagent_core.identity.tenancy import Tenancy
from dataagent_core.mcp.catalogue.catalogue import ToolCatalogue
from dataagent_core.mcp.servers.registration import NewServer
from dataagent_core.mcp.servers.server_store import ServerStore
from dataagent_core.mcp.types import RemoteTool, Scope
from dataagent_core.storage import Database, open_database
from tests.requirements import requirement
from tests.services import migrated_database

BUILT_IN = ("ls", "read_file", "think_tool")


@dataclass(slots=True)
class Place:
    """Agents and a catalogue over one database."""

    database: Database
    registry: AgentRegistry
    service: AgentService
    catalogue: ToolCatalogue
    active: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    async def found(self, name: str, *tools: str, scope: Scope = "global") -> list[int]:
        """Numbers of tools that a new server is found to have."""
        user_id = "anna" if scope == "user" else ""
        new = NewServer(name=name, scope=scope, user_id=user_id, url="https://x.example/mcp")
        spec = await ServerStore(self.database).create(new, by="root")
        await self.catalogue.sync(spec, [RemoteTool(tool) for tool in tools])
        numbers = {each.name: each.tool_id for each in self.catalogue.tools_of(spec.server_id)}
        return [numbers[tool] for tool in tools]

    def number(self, name: str) -> int:
        return self.registry.now.tool_ids[name]


@pytest.fixture
def url(tmp_path: Path) -> Generator[str]:
    with migrated_database("sqlite", tmp_path) as made:
        yield made


@pytest.fixture
async def place(url: str) -> AsyncGenerator[Place]:
    database = open_database(url)
    store = AgentStore(database)
    known = [ToolDefinition(name, f"{name}.", {"type": "object"}) for name in BUILT_IN]
    registry = AgentRegistry(store, tools=known)
    active: dict[str, frozenset[str]] = {}

    async def runs() -> dict[str, frozenset[str]]:
        return active

    service = AgentService(registry, store, Tenancy(database, is_on=False), runs)
    await registry.open()
    catalogue = ToolCatalogue(database)
    await catalogue.open()
    yield Place(database, registry, service, catalogue, active)
    await registry.aclose()
    await database.close()


@requirement("B1", "B2", "B6", "B7")
async def test_tool_ids_take_and_return_tools_of_both_kinds(place: Place) -> None:
    order, search = await place.found("mall", "order", "search")
    new = NewAgent(name="seller", tool_ids=[place.number("ls"), search, search, 999_999])
    made = await place.service.create(new)
    assert made.tool_ids == tuple(sorted([place.number("ls"), search]))
    assert made.ignored_tool_ids == (999_999,)
    assert (made.spec.tools, made.spec.mcp_tools) == (frozenset({"ls"}), frozenset({search}))
    changed = await place.service.update(made.spec.agent_id, {"tool_ids": [order]})
    assert (changed.tool_ids, changed.spec.tools) == ((order,), frozenset())


async def test_general_has_all_tools_of_ours_and_those_of_servers_only_if_listed(
    place: Place,
) -> None:
    order, search = await place.found("mall", "order", "search")
    general = await place.registry.get("general")
    assert (general.tools, general.mcp_tools) == (None, frozenset())
    every = [place.number(name) for name in BUILT_IN]
    view = await place.service.update("general", {"tool_ids": [*every, order]})
    assert (view.spec.tools, view.spec.mcp_tools) == (None, frozenset({order}))
    assert view.tool_ids == tuple(sorted([*every, order]))
    view = await place.service.set_mcp_tools("agent", [search])
    assert (view.spec.tools, view.spec.mcp_tools) == (None, frozenset({search}))


async def test_a_shipped_agent_keeps_its_own_tools_when_it_gets_those_of_servers(
    place: Place,
) -> None:
    [order] = await place.found("mall", "order")
    before = (await place.registry.get("sql")).tools
    view = await place.service.set_mcp_tools("sql", [order])
    assert (view.spec.tools, view.spec.mcp_tools) == (before, frozenset({order}))
    view = await place.service.set_mcp_tools("sql", [])
    assert (view.spec.tools, view.spec.mcp_tools) == (before, frozenset())
    await place.service.set_mcp_tools("sql", [order])
    view = await place.service.update("sql", {"tool_ids": None})  # as it was made
    assert (view.spec.tools, view.spec.mcp_tools) == (before, frozenset())


async def test_a_users_own_tools_are_bound_to_nobody(place: Place) -> None:
    [mine] = await place.found("mine", "secret", scope="user")
    view = await place.service.set_mcp_tools("sql", [mine])
    assert (view.spec.mcp_tools, view.ignored_tool_ids) == (frozenset(), (mine,))
    made = await place.service.create(NewAgent(name="other", tool_ids=[mine]))
    assert (made.tool_ids, made.ignored_tool_ids) == ((), (mine,))


@requirement("B8")
async def test_tools_of_servers_are_not_changed_under_an_active_run(place: Place) -> None:
    [order] = await place.found("mall", "order")
    place.active["sql"] = frozenset({"running"})
    with pytest.raises(AgentBusy):
        await place.service.set_mcp_tools("sql", [order])


async def test_whether_users_own_tools_may_be_used_is_kept(place: Place) -> None:
    assert (await place.registry.get("sql")).allow_user_tools
    await place.service.update("sql", {"allow_user_tools": False})
    assert not (await place.registry.get("sql")).allow_user_tools
    await place.service.update("sql", {"description": "other"})
    assert not (await place.registry.get("sql")).allow_user_tools
