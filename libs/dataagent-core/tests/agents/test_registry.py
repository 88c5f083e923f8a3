"""Which agents there are, on every database, for processes that change them at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dataagent_core.agents import AgentRegistry, AgentService, AgentSpec
from dataagent_core.agents.service import NewAgent
from dataagent_core.agents.store import AgentStore, ToolDefinition
from dataagent_core.errors import AgentBusy, AgentNotFound, Conflict
from dataagent_core.identity import Principal
from dataagent_core.identity.tenancy import Tenancy
from dataagent_core.storage import open_database
from tests.requirements import requirement
from tests.services import migrated_database
from tests.tiers import SQL_STORES
from tests.waiting import WAIT_SECONDS

ROOT = Principal("root", "admin", "api_key")
TOOLS = ("ls", "read_file", "sql_db_query", "think_tool")
WRITER = AgentSpec(
    "writer", "writer", "Writes.", "package", system_prompt="Write.", tools=frozenset({"ls"})
)


class Process:
    """The agents as one process has them; `active` are the runs of all."""

    def __init__(self, registry: AgentRegistry, service: AgentService) -> None:
        self.registry = registry
        self.service = service

    def number(self, name: str) -> int:
        return self.registry.now.tool_ids[name]


@pytest.fixture(scope="module", params=SQL_STORES)
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[str]:
    with migrated_database(request.param, tmp_path_factory.mktemp("agents")) as url:
        yield url


@asynccontextmanager
async def process(
    url: str,
    *,
    tools: tuple[str, ...] = TOOLS,
    packages: tuple[AgentSpec, ...] = (WRITER,),
    active: dict[str, frozenset[str]] | None = None,
) -> AsyncGenerator[Process]:
    database = open_database(url)
    store = AgentStore(database)
    known = [ToolDefinition(name, f"{name}.", {"type": "object"}) for name in tools]
    registry = AgentRegistry(store, packages=packages, tools=known)

    async def runs() -> dict[str, frozenset[str]]:
        return active or {}

    try:
        await registry.open()
        yield Process(registry, AgentService(registry, store, Tenancy(database, is_on=False), runs))
    finally:
        await registry.aclose()
        await database.close()


async def test_a_tool_keeps_its_number_whatever_comes_and_goes(place: str) -> None:
    async with process(place) as first:
        numbers = {name: first.number(name) for name in TOOLS}
        assert len(set(numbers.values())) == len(TOOLS)
    async with process(place, tools=("a_new_one", "sql_db_query")) as second:
        assert second.number("sql_db_query") == numbers["sql_db_query"]
        new = second.number("a_new_one")
        assert new > max(numbers.values())
        assert [tool.name for tool in await second.service.tools()] == ["sql_db_query", "a_new_one"]
    async with process(place, tools=("a_new_one", *TOOLS)) as third:
        assert {name: third.number(name) for name in TOOLS} == numbers
        assert third.number("a_new_one") == new


async def test_processes_that_start_together_agree_on_numbers_and_agents(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'fresh.db'}"
    from dataagent_core.storage.migrate import migrate

    database = open_database(url)
    await migrate(database)
    await database.close()

    async def start() -> dict[str, int]:
        async with process(url) as one:
            return one.registry.now.tool_ids

    found = await asyncio.gather(*(start() for _ in range(5)))
    assert all(each == found[0] for each in found)
    assert sorted(found[0].values()) == [1, 2, 3, 4]


@requirement("S2.2.2b")
async def test_agents_of_all_kinds_are_one_list_with_general_last(place: str) -> None:
    async with process(place) as one:
        made = await one.service.create(NewAgent(name="zeta", description="Last."))
        names = [spec.name for spec in await one.registry.list()]
        assert names == ["research", "sql", "writer", "zeta", "general"]
        assert await one.registry.get("agent") == await one.registry.get("general")
        assert (await one.registry.get(made.spec.agent_id)).name == "zeta"
        sql, writer = await one.registry.get("sql"), await one.registry.get("writer")
        assert sql.tools == {"ls", "read_file", "sql_db_query", "think_tool"}
        assert (writer.tools, writer.system_prompt) == ({"ls"}, "Write.")
        with pytest.raises(AgentNotFound):
            await one.registry.get("nobody")
        assert one.registry.resolve("nobody").name == "general"
        await one.service.delete("zeta")
        with pytest.raises(AgentNotFound):
            one.registry.resolve(made.spec.agent_id)


@requirement("B1", "B2")
async def test_a_change_in_one_process_holds_in_the_other(place: str) -> None:
    async with process(place) as one, process(place) as other:
        one.registry.tell(other.registry.check_for_changes)  # as the bus does
        before = other.registry.version()
        wanted = [one.number("ls")]
        await one.service.update("sql", {"tool_ids": wanted, "system_prompt": "Mine."})
        assert (await other.service.get_for("sql", ROOT)).tool_ids == tuple(wanted)
        assert other.registry.version() > before
        await one.service.update("sql", {"tool_ids": None, "system_prompt": None})
        async with asyncio.timeout(WAIT_SECONDS):
            while other.registry.version() != one.registry.version():  # without asking for it
                await asyncio.sleep(0.01)
        found = other.registry.find("sql")
        assert found is not None
        assert found.tools is not None
        assert "sql_db_query" in found.tools
        assert found == one.registry.find("sql")


@requirement("B2")
async def test_two_processes_that_bind_at_once_never_mix_their_tools(place: str) -> None:
    async with process(place) as one, process(place) as other:
        made = (await one.service.create(NewAgent(name="shared"))).spec.agent_id
        halves = [
            (one, [one.number("ls"), one.number("read_file")]),
            (other, [one.number("sql_db_query"), one.number("think_tool")]),
        ]
        for _ in range(10):
            await asyncio.gather(
                *(each.service.update(made, {"tool_ids": ids}) for each, ids in halves)
            )
            kept = (await one.service.get_for(made, ROOT)).tool_ids
            assert list(kept) in [ids for _, ids in halves]
            assert (await other.service.get_for(made, ROOT)).tool_ids == kept
        await one.service.delete(made)


async def test_two_processes_give_a_name_once(place: str) -> None:
    async with process(place) as one, process(place) as other:
        outcomes = await asyncio.gather(
            *(each.service.create(NewAgent(name="wanted")) for each in (one, other)),
            return_exceptions=True,
        )
        assert sorted(type(each).__name__ for each in outcomes) == ["AgentView", "Conflict"]
        await one.service.delete("wanted")


@requirement("B8")
async def test_an_agent_that_works_in_any_process_is_left_alone(place: str) -> None:
    active: dict[str, frozenset[str]] = {}
    async with process(place, active=active) as one:
        made = (await one.service.create(NewAgent(name="busy"))).spec
        for assistant_id, statuses, status in (
            (made.agent_id, {"running", "waiting"}, "WORKING"),
            (made.name, {"queued"}, "THINKING"),
            (made.name, {"waiting"}, "THINKING"),
        ):
            active[assistant_id] = frozenset(statuses)
            assert (await one.service.get_for("busy", ROOT)).status == status
            with pytest.raises(AgentBusy):
                await one.service.update("busy", {"tool_ids": []})
            with pytest.raises(AgentBusy):
                await one.service.delete("busy")
            active.clear()
        active["supervisor"] = frozenset({"running"})
        views = await one.service.list_for(ROOT)
        assert {view.status for view in views} == {"IDLE"}
        await one.service.delete("busy")


async def test_a_package_is_gone_while_its_folder_is_and_comes_back_with_its_tools(
    place: str,
) -> None:
    async with process(place) as one:
        await one.service.update("writer", {"tool_ids": [one.number("read_file")]})
        with pytest.raises(Conflict, match="comes from a package"):
            await one.service.delete("writer")
    async with process(place, packages=()) as one:
        with pytest.raises(AgentNotFound):
            await one.registry.get("writer")
        with pytest.raises(Conflict):  # its name stays its own
            await one.service.create(NewAgent(name="writer"))
    async with process(place) as one:
        assert (await one.registry.get("writer")).tools == {"read_file"}
        await one.service.update("writer", {"tool_ids": None})


async def test_a_package_with_the_name_of_a_created_agent_is_named_and_left_out(
    place: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with process(place) as one:
        await one.service.create(NewAgent(name="poet", description="Created."))
    poet = AgentSpec("poet", "poet", "From a folder.", "package")
    async with process(place, packages=(poet,)) as one:
        assert (await one.registry.get("poet")).description == "Created."
        assert "package 'poet' is left out" in caplog.text
        await one.service.delete("poet")
