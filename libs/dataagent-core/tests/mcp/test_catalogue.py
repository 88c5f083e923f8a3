"""What servers list becomes rows with numbers that stay, on every database."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import text

from dataagent_core.agents.store import AgentStore
from dataagent_core.errors import StorageUnavailable, ToolNotFound
from dataagent_core.mcp.catalogue.catalogue import ToolCatalogue
from dataagent_core.mcp.catalogue.listing import build_listing
from dataagent_core.mcp.servers.server_store import ServerStore
from dataagent_core.mcp.types import ServerSpec
from dataagent_core.storage import Database
from tests.requirements import requirement

from .stored import ORDER, Cuttable, own, remote, shared


@requirement("M1.2")
async def test_tools_of_a_server_are_cached_in_memory_and_in_the_table(
    servers: ServerStore, catalogue: ToolCatalogue, database: Database
) -> None:
    """SSE 握手并缓存工具目录: names, descriptions, both schemas and versions."""
    spec = await servers.create(shared("mall", server_id="mall4j", transport="sse"), by="root")

    report = await catalogue.sync(spec, [ORDER, remote("mall4j.product.search")])

    assert report.added == ("mall4j.order.get_detail", "mall4j.product.search")
    order, search = catalogue.tools_of("mall4j")
    assert order.definition == ORDER
    assert (order.name, order.exposed_name) == (
        "mall4j.order.get_detail",
        "mall__mall4j_order_get_detail",
    )
    assert (order.schema_version, order.status, order.enabled) == (1, "active", True)
    assert catalogue.get(search.tool_id) == search
    rows = await database.read(
        lambda c: c.execute(text("SELECT name, schema_version, status FROM mcp_tools")).all()
    )
    assert sorted(tuple(row) for row in rows) == [
        ("mall4j.order.get_detail", 1, "active"),
        ("mall4j.product.search", 1, "active"),
    ]
    elsewhere = ToolCatalogue(database)
    await elsewhere.open()
    assert elsewhere.tools_of("mall4j") == (order, search)


async def test_schemas_as_deep_and_as_large_as_may_be_fit_into_every_database(
    servers: ServerStore, catalogue: ToolCatalogue
) -> None:
    spec = await servers.create(own("s"), by="alice")
    deep: dict[str, object] = {"type": "string"}
    while True:
        wider: dict[str, object] = {"type": "array", "items": deep}
        if not build_listing([remote("x", input_schema=wider)]).tools:
            break
        deep = wider
    large = {"type": "object", "$comment": "c", "default": "数" * 40_000}
    tools = [
        remote("deep", input_schema=deep, output_schema=deep),
        remote("large", "宽" * 9_000, input_schema=large, output_schema=large),
        remote("n" * 200),
        remote("宽" * 200),
    ]

    report = await catalogue.sync(spec, tools)

    assert report.warnings == ()
    stored = {tool.name: tool.definition for tool in await catalogue.list(server_id=spec.server_id)}
    assert stored["deep"].output_schema == deep
    assert stored["large"].input_schema == large


async def test_a_tool_keeps_its_number_whatever_happens_to_its_server(
    servers: ServerStore, catalogue: ToolCatalogue
) -> None:
    spec = await servers.create(shared("s"), by="root")
    await catalogue.sync(spec, [remote("a"), remote("b")])
    numbers = {tool.name: tool.tool_id for tool in catalogue.tools_of(spec.server_id)}

    gone = await catalogue.sync(spec, [remote("b")])
    assert gone.removed == ("a",)
    assert {t.name: t.status for t in gone.tools} == {"a": "removed", "b": "active"}
    back = await catalogue.sync(spec, [remote("c"), remote("b"), remote("a")])
    assert (back.added, back.restored) == (("c",), ("a",))
    found = {tool.name: tool.tool_id for tool in catalogue.tools_of(spec.server_id)}
    assert found.items() > numbers.items()
    await servers.delete(spec.server_id)
    again = await servers.create(shared("s"), by="root")
    await catalogue.sync(again, [remote("a")])
    (new,) = catalogue.tools_of(again.server_id)
    assert new.tool_id > max(found.values())


async def test_the_same_list_again_changes_nothing(
    servers: ServerStore, catalogue: ToolCatalogue, database: Database
) -> None:
    spec = await servers.create(shared("s"), by="root")
    await catalogue.sync(spec, [ORDER])
    before = await servers.version(), catalogue.tools_of(spec.server_id)

    report = await catalogue.sync(spec, [ORDER])
    fresh = ToolCatalogue(database)
    again = await fresh.sync(spec, [ORDER])

    assert (report.is_changed, again.is_changed) == (False, False)
    assert await servers.version() == before[0]
    (now,) = fresh.tools_of(spec.server_id)
    assert replace(now, last_seen_at=None) == replace(before[1][0], last_seen_at=None)


async def test_processes_that_list_one_server_together_agree(
    servers: ServerStore, database: Database
) -> None:
    spec = await servers.create(shared("s"), by="root")
    processes = [ToolCatalogue(database) for _ in range(4)]
    tools = [remote(f"t{i}") for i in range(20)]

    await asyncio.gather(*(each.sync(spec, tools) for each in processes))

    found = {
        tuple((t.tool_id, t.name, t.exposed_name) for t in each.tools_of(spec.server_id))
        for each in processes
    }
    assert len(found) == 1
    assert len(found.pop()) == 20


# -- F9: names ------------------------------------------------------------------------------------


async def test_f9_of_two_tools_with_one_name_the_first_is_used_and_it_is_said(
    servers: ServerStore, catalogue: ToolCatalogue, caplog: pytest.LogCaptureFixture
) -> None:
    spec = await servers.create(shared("s"), by="root")

    report = await catalogue.sync(spec, [remote("x", "first"), remote("x", "second")])

    (tool,) = catalogue.tools_of(spec.server_id)
    assert tool.definition.description == "first"
    assert report.warnings == ("Tool 'x' is listed twice; the first is used.",)
    assert report.warnings[0] in caplog.text


@requirement("M6.1")
async def test_f9_same_named_tools_of_two_servers_live_side_by_side(
    servers: ServerStore, catalogue: ToolCatalogue
) -> None:
    a = await servers.create(shared("serverA"), by="root")
    b = await servers.create(shared("serverB"), by="root")
    for spec in (a, b):
        await catalogue.sync(spec, [remote("mall4j.product.search", spec.name)])

    (of_a,), (of_b,) = catalogue.tools_of(a.server_id), catalogue.tools_of(b.server_id)
    assert of_a.exposed_name == "serverA__mall4j_product_search"
    assert of_b.exposed_name == "serverB__mall4j_product_search"
    assert of_a.tool_id != of_b.tool_id
    await catalogue.sync(a, [])
    assert catalogue.tools_of(b.server_id) == (of_b,)


async def test_equal_exposed_names_become_unique_and_stay(
    servers: ServerStore, catalogue: ToolCatalogue
) -> None:
    spec = await servers.create(shared("s"), by="root")
    await catalogue.sync(spec, [remote("get.it")])
    names = ["get_it", "get it", "get.it", "g" * 200, "g" * 199]
    await catalogue.sync(spec, [remote(name) for name in names])

    exposed = {t.name: t.exposed_name for t in catalogue.tools_of(spec.server_id)}
    assert exposed["get.it"] == "s__get_it"
    assert len({*exposed.values()}) == 5
    assert all(len(name) <= 64 and name.isascii() for name in exposed.values())
    renamed = await servers.update(spec.server_id, {"alias": "shop"}, by="root")
    await catalogue.refresh()
    after = {t.name: t.exposed_name for t in catalogue.tools_of(renamed.server_id)}
    assert all(name.startswith("shop__") for name in after.values())
    assert len({*after.values()}) == 5


# -- who sees what --------------------------------------------------------------------------------


async def test_one_users_view_of_a_shared_server_removes_no_tool_for_others(
    servers: ServerStore, catalogue: ToolCatalogue
) -> None:
    spec = await servers.create(shared("s"), by="root")
    await catalogue.sync(spec, [remote("a"), remote("b")])

    await catalogue.sync(replace(spec, session_scope="user"), [remote("a")])

    assert [t.status for t in catalogue.tools_of(spec.server_id)] == ["active", "active"]


async def test_another_process_learns_of_changes_with_its_next_look(
    servers: ServerStore, catalogue: ToolCatalogue, database: Database
) -> None:
    spec = await servers.create(shared("s"), by="root")
    other = ToolCatalogue(database)
    await other.open()
    await catalogue.sync(spec, [remote("a")])
    assert other.tools_of(spec.server_id) == ()

    await other.refresh()
    (tool,) = other.tools_of(spec.server_id)
    await other.set(tool.tool_id, enabled=False, retry_safe=True, timeout_seconds=5.0)
    await catalogue.refresh()
    found = catalogue.get(tool.tool_id)
    assert found is not None
    assert (found.enabled, found.retry_safe, found.timeout_seconds) == (False, True, 5.0)
    await servers.delete(spec.server_id)
    await catalogue.refresh()
    assert catalogue.tools_of(spec.server_id) == ()
    assert catalogue.get(tool.tool_id) is None
    with pytest.raises(ToolNotFound):
        await catalogue.find(tool.tool_id)


async def test_a_users_tools_stay_cached_while_they_are_used(
    servers: ServerStore, database: Database
) -> None:
    now = [0.0]
    catalogue = ToolCatalogue(database, clock=lambda: now[0])
    spec = await servers.create(own("s"), by="alice")
    await catalogue.sync(spec, [remote("a")])
    fresh = ToolCatalogue(database)
    await fresh.open()
    assert fresh.tools_of(spec.server_id) == ()
    assert [tool.name for tool in await fresh.list(server_id=spec.server_id)] == ["a"]
    for later in (4, 8, 12):
        now[0] = later * 3600.0
        assert len(catalogue.tools_of(spec.server_id)) == 1
        await servers.create(own(f"x{later}"), by="alice")
        await catalogue.refresh()
    now[0] += 7 * 3600.0
    await servers.create(own("more"), by="alice")
    await catalogue.refresh()
    assert catalogue.tools_of(spec.server_id) == ()
    await catalogue.sync(spec, [remote("a")])
    assert len(catalogue.tools_of(spec.server_id)) == 1


async def test_only_shared_servers_tools_can_be_bound_to_agents(
    servers: ServerStore, catalogue: ToolCatalogue, database: Database
) -> None:
    agents = AgentStore(database)
    before = await agents.version()
    mine = await servers.create(own("mine"), by="alice")
    await catalogue.sync(mine, [remote("a")])
    assert await agents.version() == before
    ours = await servers.create(shared("ours"), by="root")
    await catalogue.sync(ours, [remote("a")])

    kept = await agents.load()

    assert kept.version == before + 1
    assert [tool.name for tool in kept.tools if tool.kind == "mcp"] == ["ours__a"]
    await servers.delete(ours.server_id)
    assert [tool for tool in (await agents.load()).tools if tool.kind == "mcp"] == []


@requirement("R29.3")
async def test_servers_of_a_file_leave_no_row(
    servers: ServerStore, catalogue: ToolCatalogue, database: Database
) -> None:
    spec = ServerSpec(server_id="file:f", scope="file", name="f", alias="f", command="x")
    before = await servers.version()

    report = await catalogue.sync(spec, [remote("a"), remote("b")])
    changed = await catalogue.sync(spec, [remote("b", "Now so.")])

    assert report.added == ("a", "b")
    assert (changed.changed, changed.removed) == (("b",), ("a",))
    numbers = {t.name: t.tool_id for t in report.tools}
    assert all(number < 0 for number in numbers.values())
    assert {t.name: t.tool_id for t in catalogue.tools_of("file:f")} == numbers
    tool = catalogue.get(numbers["b"])
    assert tool is not None
    assert (tool.schema_version, tool.definition.description) == (2, "Now so.")
    assert await servers.version() == before
    counted = text("SELECT COUNT(*) FROM tools")
    assert await database.read(lambda c: c.execute(counted).scalar()) == 0
    catalogue.forget("file:f")
    assert catalogue.tools_of("file:f") == ()


async def test_a_list_for_a_server_that_was_just_removed_is_none(
    servers: ServerStore, catalogue: ToolCatalogue
) -> None:
    spec = await servers.create(shared("s"), by="root")
    await servers.delete(spec.server_id)

    report = await catalogue.sync(spec, [remote("a")])

    assert report.tools == ()
    assert report.warnings


@pytest.mark.slow
async def test_a_known_list_needs_no_database_and_a_new_one_does(cuttable: Cuttable) -> None:
    now = [0.0]
    catalogue = ToolCatalogue(cuttable.database, clock=lambda: now[0])
    spec = await ServerStore(cuttable.database).create(shared("s"), by="root")
    await catalogue.sync(spec, [remote("a")])
    await cuttable.proxy.cut()
    now[0] = 3600.0

    again = await catalogue.sync(spec, [remote("a")])

    assert [tool.name for tool in again.tools] == ["a"]
    with pytest.raises(StorageUnavailable):
        await catalogue.sync(spec, [remote("a"), remote("b")])
