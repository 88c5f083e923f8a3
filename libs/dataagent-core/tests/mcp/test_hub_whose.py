"""Whose tools are whose: users, tenants, keys, sessions, processes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from dataagent_core.agents.service import NewAgent
from dataagent_core.app.assembly import open_core
from dataagent_core.config import Settings
from dataagent_core.identity import Principal
from dataagent_core.identity.tenants import TenantTerms
from dataagent_core.identity.users import UserStore
from dataagent_core.mcp.changes import McpChange
from dataagent_core.mcp.types import ServerSpec
from dataagent_core.runs.cluster.bus import LocalBus
from tests.programs import quick
from tests.requirements import requirement
from tests.waiting import until

from .hub.shop import PROGRAM, Program, Shop, failure_of, told
from .raw import RawServer

DETAIL, SEARCH = "mall4j.order.get_detail", "mall4j.product.search"
ORDER = {"orderId": "o1"}


async def shown(shop: Shop, user: str, agent: str = "agent", session: str = "") -> set[str]:
    """What an agent is shown in a run of a user's that begins now."""
    tools = await shop.core.mcp.tools_for(user_id=user, session_id=session or f"look-{user}")
    return {tool.exposed_name for tool in await tools.visible(agent)}


@requirement("R30.4", "P49", "R31.1")
async def test_a_users_own_tools_are_theirs_alone(shop: Shop, mall: Program) -> None:
    spec = await shop.add("mine", mall, scope="user", user_id="anna")
    anna, bob = await shop.talk("anna"), await shop.talk("bob")
    assert (await anna.call("mine__mall4j_order_get_detail", ORDER)).status == "success"
    refused = await bob.call("mine__mall4j_order_get_detail", ORDER)
    assert refused.status == "error"
    assert "mine__mall4j_order_get_detail" in await shown(shop, "anna")
    assert await shown(shop, "bob") == set()
    assert {row.user_id for row in await shop.calls()} == {"anna"}
    assert {key.principal for key in shop.core.mcp.pool.statuses()} == {"user:anna"}
    tool = shop.tool(spec, DETAIL)
    bound = await shop.core.agents.service.set_mcp_tools("sql", [tool.tool_id])
    assert bound.ignored_tool_ids == (tool.tool_id,)  # a user's tool is bound to no agent


@requirement("P49", "R30.6")
async def test_changing_one_users_servers_leaves_anothers_alone(
    shop: Shop, mall: Program, rival: Program
) -> None:
    annas = await shop.add("shop", mall, scope="user", user_id="anna")
    await shop.add("shop", rival, scope="user", user_id="bob")
    assert await shown(shop, "anna") == await shown(shop, "bob") != set()
    bobs = next(iter(k for k in shop.core.mcp.pool.statuses() if k.principal == "user:bob"))
    generation = shop.core.mcp.pool.statuses()[bobs].generation
    await shop.core.mcp.servers.delete(annas.server_id)
    await shop.core.mcp.changed(annas, "removed")
    assert await shown(shop, "anna") == set()
    assert shop.core.mcp.pool.statuses()[bobs].generation == generation
    result = await (await shop.talk("bob")).call("shop__mall4j_order_get_detail", ORDER)
    assert result.result == f"rival: {DETAIL} ['orderId']"


@requirement("P49", "R31.1")
async def test_users_headers_never_mix_on_a_shared_server_in_runs_side_by_side(shop: Shop) -> None:
    """Two bring credentials of their own, one has the shared ones; all call at the same time."""
    own = {"anna": "Bearer annas", "bob": "Bearer bobs", "carol": "Bearer everyones"}
    async with RawServer() as server:
        spec = await shop.add(
            "crm", url=server.url, transport="streamable_http",
            headers={"Authorization": own["carol"], "X-Team": "all"},
        )  # fmt: skip
        await shop.bind(spec, "echo")
        for user in ("anna", "bob"):
            headers = {"Authorization": SecretStr(own[user]), f"X-Only-{user}": SecretStr("1")}
            await shop.core.mcp.servers.set_credentials(
                spec.server_id, user_id=user, headers=headers, env={}
            )
            await shop.core.mcp.changed(replace(spec, user_id=user), "updated")
        talks = [await shop.talk(user) for user in own for _ in range(3)]
        await asyncio.gather(
            *(talk.ask("\n".join([told("crm__echo", mark=talk.owner)] * 5)) for talk in talks)
        )
        calls = [each for each in server.asked if each.message.get("method") == "tools/call"]
    assert len(calls) == 45
    for asked in calls:
        user = asked.message["params"]["arguments"]["mark"]
        only = {name for name in asked.headers if name.startswith("x-only-")}
        assert (asked.headers["authorization"], asked.headers["x-team"]) == (own[user], "all")
        assert only == (set() if user == "carol" else {f"x-only-{user}"})


@requirement("R30.5")
async def test_a_users_server_stands_in_for_a_shared_one_of_its_name(
    shop: Shop, mall: Program, rival: Program
) -> None:
    shared = await shop.add("mall", mall)
    await shop.bind(shared, DETAIL)
    await shop.add("mall", rival, scope="user", user_id="anna")
    anna = next(n for n in await shown(shop, "anna") if n.endswith("order_get_detail"))
    result = await (await shop.talk("anna")).call(anna, ORDER)
    assert result.result == f"rival: {DETAIL} ['orderId']"
    theirs = await (await shop.talk("bob")).call("mall__mall4j_order_get_detail", ORDER)
    assert theirs.result == f"mall: {DETAIL} ['orderId']"


async def test_an_agent_may_exclude_users_own_tools(shop: Shop, mall: Program) -> None:
    await shop.add("mine", mall, scope="user", user_id="anna")
    new = NewAgent(name="strict", allow_user_tools=False)
    agent = (await shop.core.agents.service.create(new)).spec
    talk = await shop.talk("anna", agent=agent.agent_id)
    refused = await talk.call("mine__mall4j_order_get_detail", ORDER)
    assert (refused.status, failure_of(refused)["code"]) == ("denied", "MCP_TOOL_FORBIDDEN")
    await shop.core.agents.service.update(agent.agent_id, {"allow_user_tools": True})
    assert (await talk.call("mine__mall4j_order_get_detail", ORDER)).status == "success"


async def test_a_binding_removed_during_a_conversation_applies_at_once(
    shop: Shop, mall: Program
) -> None:
    spec = await shop.add("mall", mall)
    await shop.bind(spec, DETAIL)
    talk = await shop.talk()
    assert (await talk.call("mall__mall4j_order_get_detail", ORDER)).status == "success"
    await shop.core.agents.service.set_mcp_tools("general", [])
    assert (await talk.call("mall__mall4j_order_get_detail", ORDER)).status == "denied"


async def test_a_tool_whose_definition_changed_is_not_called_until_someone_looked(
    shop: Shop, mall: Program
) -> None:
    spec = await shop.add("mall", mall)
    await shop.bind(spec, DETAIL)
    catalogue, tool = shop.core.mcp.catalogue, shop.tool(spec, DETAIL)
    listed = [each.definition for each in catalogue.tools_of(spec.server_id)]
    changed = [
        type(each)(each.name, each.title, "now something else", each.input_schema)
        if each.name == DETAIL
        else each
        for each in listed
    ]
    await catalogue.sync(spec, changed)
    talk = await shop.talk()
    refused = await talk.call(tool.exposed_name, ORDER)
    assert (refused.status, failure_of(refused)["code"]) == ("denied", "MCP_DEFINITION_CHANGED")
    assert tool.exposed_name not in await shown(shop, "anna")
    await catalogue.approve(tool.tool_id, by="root")
    assert tool.exposed_name in await shown(shop, "anna")


# -- keys and tenants -----------------------------------------------------------------------------


@requirement("M2.1")
async def test_a_keys_list_holds_for_the_runs_it_starts(shop: Shop, mall: Program) -> None:
    spec = await shop.add("mall", mall)
    await shop.bind(spec, DETAIL, SEARCH)
    users = UserStore(shop.core.database)
    user = (await users.create("una")).user_id
    key = (await users.keys.create(user, "key"))[0].key_id
    await shop.core.mcp.keys.replace(key, [shop.tool(spec, SEARCH).tool_id])
    talk = await shop.talk(user)
    refused = await talk.call("mall__mall4j_order_get_detail", ORDER, api_key_id=key)
    assert refused.status == "denied"
    allowed = await talk.call("mall__mall4j_product_search", {}, api_key_id=key)
    assert allowed.status == "success"
    assert (await talk.call("mall__mall4j_order_get_detail", ORDER)).status == "success"
    assert {row.api_key_id for row in await shop.calls()} == {key, None}


async def test_a_tenant_without_mcp_has_none(
    make_settings: Callable[..., Settings], mall: Program
) -> None:
    async with open_core(make_settings(multi_tenant=True), grace_seconds=2) as core:
        shop, tenancy = Shop(core), core.limits.tenancy
        root = Principal("root", "admin", "terminal")
        spec = await shop.add("mall", mall)
        await shop.bind(spec, DETAIL)
        user = (await UserStore(core.database).create("una")).user_id
        terms = TenantTerms(name="t", features_enabled={"mcp": False})
        tenant = await tenancy.create(terms, root)
        await tenancy.put_member(tenant.tenant_id, user, "member", root)
        assert await shown(shop, user) == set()
        talk = await shop.talk(user)
        refused = await talk.call("mall__mall4j_order_get_detail", ORDER)
        assert refused.status != "success"
        assert "mall__mall4j_order_get_detail" in await shown(shop, "someone-else")


# -- sessions -------------------------------------------------------------------------------------


@requirement("P50", "R31.3")
@pytest.mark.parametrize("how", ["put away", "deleted", "idle"])
async def test_the_end_of_a_session_frees_its_connections(
    shop: Shop, mall: Program, how: str
) -> None:
    core = shop.core
    await shop.add("mine", mall, scope="user", user_id="anna")
    talk = await shop.talk("anna")
    assert (await talk.call("mine__mall4j_order_get_detail", ORDER)).status == "success"
    assert held(shop) == {talk.session_id}
    match how:
        case "put away":
            await core.runs.soft_delete(talk.session_id, owner="anna")
        case "deleted":
            await core.runs.delete_permanently(talk.session_id, owner="anna")
        case _:
            await core.sessions.release_expired(timeout_seconds=-1)
    assert held(shop) == set()


@requirement("P50")
async def test_a_connection_without_a_session_is_closed_after_a_while(shop: Shop) -> None:
    spec = await shop.register("mine", scope="user", user_id="anna")
    shop.core.mcp.pool._limits = type(shop.core.mcp.pool._limits)(linger_seconds=0.1)
    talk = await shop.talk("anna")
    assert (await talk.call("mine__mall4j_order_get_detail", ORDER)).status == "success"
    await shop.core.runs.soft_delete(talk.session_id, owner="anna")
    await until(lambda: not shop.core.mcp.pool.statuses())
    assert spec.server_id


def held(shop: Shop) -> set[str]:
    """The sessions that hold a connection."""
    entries = shop.core.mcp.pool._entries.values()
    return {session for entry in entries for session in entry.holders}


async def test_a_user_without_servers_costs_a_run_no_read(shop: Shop) -> None:
    hub = shop.core.mcp
    assert hub.prepare_run_tools(user_id="bob", tenant_id=None, session_id="s1") is None
    await shop.register("mine", url="http://127.0.0.1:9/mcp", scope="user", user_id="anna")
    assert hub.prepare_run_tools(user_id="anna", tenant_id=None, session_id="s1") is not None
    assert hub.prepare_run_tools(user_id="bob", tenant_id=None, session_id="s1") is None


# -- files and processes --------------------------------------------------------------------------


def file_spec(name: str, **fields: object) -> ServerSpec:
    given: dict[str, object] = {
        "server_id": f"file:{name}",
        "scope": "file",
        "name": name,
        "alias": name,
        "transport": "stdio",
        "command": quick("python"),
        "args": (str(PROGRAM), "stdio"),
        **fields,
    }
    return ServerSpec(**given)  # type: ignore[arg-type] fields of a test


@requirement("R29.3", "R29.7")
async def test_servers_of_a_file_are_everyones_here_and_reloading_restarts_what_changed(
    shop: Shop,
) -> None:
    one, two = file_spec("one"), file_spec("two")
    report = await shop.core.mcp.reload([one, two])
    assert (report.added, report.changed, report.removed) == (("one", "two"), (), ())
    await shop.ready(one)
    await shop.ready(two)
    result = await (await shop.talk()).call("one__mall4j_order_get_detail", ORDER)
    assert result.result == f"shop: {DETAIL} ['orderId']"
    before = shop.core.mcp.pool.find(one, user_id="anna", session_id="x")
    other = file_spec("two", call_timeout_seconds=7.0)
    report = await shop.core.mcp.reload([one, other])
    assert (report.changed, report.unchanged) == (("two",), ("one",))
    assert shop.core.mcp.pool.find(one, user_id="anna", session_id="x") is before
    report = await shop.core.mcp.reload([one])
    assert report.removed == ("two",)
    assert {n.partition("__")[0] for n in await shown(shop, "anna")} == {"one"}


@requirement("R30.5")
async def test_the_installations_file_gives_everyone_its_servers(
    make_settings: Callable[..., Settings], mall: Program, tmp_path: Path
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(f'{{"mcpServers": {{"base": {{"url": "{mall.url}"}}, "bad": {{}}}}}}')
    async with open_core(make_settings(mcp_config=path), grace_seconds=2) as core:
        shop = Shop(core)
        result = await (await shop.talk("bob")).call("base__mall4j_order_get_detail", ORDER)
        assert result.status == "success"


class OneBus(LocalBus):
    """The bus of processes that live on one event loop."""

    is_shared = True


@requirement("R30.7")
async def test_other_processes_learn_of_changes_and_ended_sessions(
    shop: Shop, make_settings: Callable[..., Settings], mall: Program
) -> None:
    bus = OneBus()
    heard: list[McpChange] = []
    async with open_core(make_settings(), grace_seconds=2) as second:
        other = Shop(second)
        for each in (shop, other):
            each.core.mcp.set_publisher(lambda payload: bus.publish("mcp", payload))
            bus.subscribe("mcp", each.core.mcp.on_peer_message)
        second.mcp.listen(heard.append)
        spec = await shop.add("mine", mall, scope="user", user_id="anna")
        await until(lambda: any(change.what == "added" for change in heard))
        assert heard[0] == McpChange("anna", None, spec.server_id, "mine", "added")
        assert "mine__mall4j_order_get_detail" in await shown(other, "anna", session="s1")
        assert held(other) == {"s1"}
        shop.core.mcp.release("s1")
        assert held(other) == set()
        await shop.core.mcp.servers.delete(spec.server_id)
        await shop.core.mcp.changed(spec, "removed")
        await until(lambda: not second.mcp.pool.statuses())
        assert await shown(other, "anna") == set()


async def test_a_process_that_executes_no_runs_connects_to_no_server(
    shop: Shop, mall: Program
) -> None:
    spec = await shop.add("mall", mall)
    shop.core.mcp._rules = type(shop.core.mcp._rules)(is_executing=False)
    await shop.core.mcp.changed(spec, "updated")
    assert not shop.core.mcp.pool.statuses()
    status = await shop.core.mcp.status_of(spec, user_id="anna")
    assert status.state in ("ready", "closed", "connecting")
