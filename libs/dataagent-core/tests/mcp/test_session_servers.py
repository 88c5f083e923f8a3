"""A change of MCP servers holds from the next session on, and what is taken away at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import select, update

from dataagent_core.app.assembly import open_core
from dataagent_core.config import Settings
from dataagent_core.events import ToolResultEvent
from dataagent_core.mcp.catalogue.catalogue import ToolCatalogue
from dataagent_core.mcp.servers.registration import ServerChanges
from dataagent_core.mcp.servers.server_store import ServerStore
from dataagent_core.mcp.servers.session_servers import SessionServers
from dataagent_core.mcp.types import ServerSpec
from dataagent_core.runs.cluster.bus import LocalBus
from dataagent_core.storage import Database
from dataagent_core.storage.agent_tables import mcp_session_servers, mcp_sessions
from dataagent_core.storage.tables import messages
from tests.requirements import requirement
from tests.waiting import until

from .hub.shop import Program, Shop, Talk, failure_of
from .stored import own, remote, shared

DETAIL = "mall4j.order.get_detail"
MINE, ORDER = "mine__mall4j_order_get_detail", {"orderId": "o1"}
REST = timedelta(hours=1)
LATER = REST + timedelta(minutes=1)


async def change(shop: Shop, spec: ServerSpec, **changes: Any) -> None:
    """As its user changes a server."""
    given = ServerChanges(**changes)
    new = await shop.core.mcp.servers.update(spec.server_id, given, by="anna")
    await shop.core.mcp.changed(new, "updated")


async def rest(database: Database, session_id: str) -> None:
    """As if the session had been idle."""
    long_ago = datetime.now(UTC) - LATER

    def unit(connection: Any) -> None:
        used = update(mcp_sessions).where(mcp_sessions.c.session_id == session_id)
        connection.execute(used.values(used_at=long_ago))
        said = update(messages).where(messages.c.session_id == session_id)
        connection.execute(said.values(created_at=long_ago))

    await database.write(unit)


def is_unknown(result: ToolResultEvent) -> bool:
    """Whether the agent has no such tool at all."""
    return result.status == "error" and "not a valid tool" in result.result


async def answer(talk: Talk) -> str:
    result = await talk.call(MINE, ORDER)
    assert result.status == "success", result.result
    return result.result


# -- what comes -----------------------------------------------------------------------------------


@requirement("R30.6")
async def test_a_server_that_is_added_is_in_the_next_session_and_not_in_the_one_that_began(
    shop: Shop, mall: Program, rival: Program
) -> None:
    began = await shop.talk("anna")
    assert is_unknown(await began.call(MINE, ORDER))  # she has no server at all
    await shop.add("mine", mall, scope="user", user_id="anna")
    for _ in range(2):
        assert is_unknown(await began.call(MINE, ORDER))
    following = await shop.talk("anna")
    assert await answer(following) == f"mall: {DETAIL} ['orderId']"
    await shop.add("more", rival, scope="user", user_id="anna")
    assert is_unknown(await following.call("more__mall4j_order_get_detail", ORDER))
    assert await answer(following) == f"mall: {DETAIL} ['orderId']"


@requirement("R30.5", "R30.6")
async def test_a_shared_server_is_in_the_next_session_too_and_an_own_one_in_its_place(
    shop: Shop, mall: Program, rival: Program
) -> None:
    talk, later = await shop.talk("anna"), "mall__mall4j_order_get_detail"
    assert is_unknown(await talk.call(later, ORDER))
    spec = await shop.add("mall", mall)
    await shop.bind(spec, DETAIL)
    assert is_unknown(await talk.call(later, ORDER))
    second = await shop.talk("anna")
    assert (await second.call(later, ORDER)).result == f"mall: {DETAIL} ['orderId']"
    await shop.add("mall", rival, scope="user", user_id="anna")
    assert (await second.call(later, ORDER)).result == f"mall: {DETAIL} ['orderId']"
    third = await shop.talk("anna")
    assert (await third.call(later, ORDER)).result == f"rival: {DETAIL} ['orderId']"


@requirement("R30.6")
async def test_a_session_that_rested_begins_anew(shop: Shop, mall: Program, rival: Program) -> None:
    talk = await shop.talk("anna")
    assert is_unknown(await talk.call(MINE, ORDER))
    spec = await shop.add("mine", mall, scope="user", user_id="anna")
    assert is_unknown(await talk.call(MINE, ORDER))
    for program, answers in ((None, "mall"), (rival, "rival")):
        if program is not None:
            await change(shop, spec, url=program.url)
            assert await answer(talk) == f"mall: {DETAIL} ['orderId']"
        await rest(shop.core.database, talk.session_id)
        shop.core.sessions.release(talk.session_id)
        assert await answer(talk) == f"{answers}: {DETAIL} ['orderId']"


# -- what changes ---------------------------------------------------------------------------------


@requirement("R30.6", "P49")
async def test_a_session_goes_on_with_an_own_server_as_it_was(
    shop: Shop, mall: Program, rival: Program
) -> None:
    spec = await shop.add("mine", mall, scope="user", user_id="anna")
    talk = await shop.talk("anna")
    assert await answer(talk) == f"mall: {DETAIL} ['orderId']"
    [before] = shop.core.mcp.pool.statuses().values()
    await change(shop, spec, url=rival.url)
    assert await answer(talk) == f"mall: {DETAIL} ['orderId']"
    assert [*shop.core.mcp.pool.statuses().values()] == [before]  # not even connected anew
    following = await shop.talk("anna")
    assert await answer(following) == f"rival: {DETAIL} ['orderId']"
    assert await answer(talk) == f"mall: {DETAIL} ['orderId']"
    shop.core.mcp.release(talk.session_id)
    assert await answer(talk) == f"mall: {DETAIL} ['orderId']"  # connected anew, as it was


@requirement("R30.6")
async def test_a_session_goes_on_with_it_as_it_was_in_another_process_too(
    shop: Shop, make_settings: Callable[..., Settings], mall: Program, rival: Program
) -> None:
    bus = LocalBus()
    async with open_core(make_settings(), grace_seconds=2) as second:
        for core in (shop.core, second):
            core.mcp.set_publisher(lambda payload: bus.publish("mcp", payload))
            bus.subscribe("mcp", core.mcp.on_peer_message)
        spec = await shop.add("mine", mall, scope="user", user_id="anna")
        talk = await shop.talk("anna")
        assert await answer(talk) == f"mall: {DETAIL} ['orderId']"
        await change(shop, spec, url=rival.url)
        await shop.add("more", rival, scope="user", user_id="anna")
        elsewhere = Talk(second, talk.session_id, "anna")
        await second.mcp.refresh()
        assert await answer(elsewhere) == f"mall: {DETAIL} ['orderId']"
        assert is_unknown(await elsewhere.call("more__mall4j_order_get_detail", ORDER))
        assert await answer(await Shop(second).talk("anna")) == f"rival: {DETAIL} ['orderId']"


@requirement("R31.2")
async def test_a_server_as_it_was_takes_no_place_of_another(
    make_settings: Callable[..., Settings], mall: Program, rival: Program
) -> None:
    async with open_core(make_settings(mcp_max_servers=1), grace_seconds=2) as core:
        shop = Shop(core)
        spec = await shop.add("mine", mall, scope="user", user_id="anna")
        talk = await shop.talk("anna")
        assert await answer(talk) == f"mall: {DETAIL} ['orderId']"
        await change(shop, spec, url=rival.url)
        assert await answer(await shop.talk("anna")) == f"rival: {DETAIL} ['orderId']"
        assert await answer(talk) == f"mall: {DETAIL} ['orderId']"


async def test_how_a_server_is_says_nothing_of_how_it_was(shop: Shop, mall: Program) -> None:
    hub = shop.core.mcp
    spec = await shop.add("mine", mall, scope="user", user_id="anna")
    talk = await shop.talk("anna")
    await answer(talk)
    assert (await hub.status_of(spec, user_id="anna")).state == "ready"
    await change(shop, spec, url="http://127.0.0.1:9/mcp")
    new = await hub.servers.get(spec.server_id)
    assert (await hub.status_of(new, user_id="anna")).state == "idle"
    following = await shop.talk("anna")
    assert (await following.call(MINE, ORDER)).status == "error"
    await until(lambda: any(s.fail_count for s in hub.pool.statuses().values()))
    assert (await hub.status_of(new, user_id="anna")).status == "error"
    assert await answer(talk) == f"mall: {DETAIL} ['orderId']"


async def test_a_list_of_a_server_as_it_was_changes_nothing(
    servers: ServerStore, database: Database
) -> None:
    catalogue = ToolCatalogue(database)
    old = await servers.create(own("docs"), by="alice")
    await catalogue.sync(old, [remote("a")])
    new = await servers.update(old.server_id, ServerChanges(call_timeout_seconds=7), by="alice")
    report = await catalogue.sync(new, [remote("a"), remote("b")])
    assert report.added == ("b",)
    again = await catalogue.sync(old, [remote("a")])
    assert not again.is_changed
    assert [tool.name for tool in catalogue.tools_of(old.server_id)] == ["a", "b"]
    assert {tool.status for tool in catalogue.tools_of(old.server_id)} == {"active"}


# -- what goes ------------------------------------------------------------------------------------


@requirement("R30.6")
@pytest.mark.parametrize("how", ["removed", "disabled"])
async def test_a_removed_server_is_gone_at_once(shop: Shop, mall: Program, how: str) -> None:
    hub = shop.core.mcp
    spec = await shop.add("mine", mall, scope="user", user_id="anna")
    talk = await shop.talk("anna")
    await answer(talk)
    if how == "removed":
        await hub.servers.delete(spec.server_id)
        await hub.changed(spec, "removed")
    else:
        await change(shop, spec, disabled=True)
    assert hub.pool.statuses() == {}
    assert (await talk.call(MINE, ORDER)).status == "error"
    if how == "disabled":
        await change(shop, spec, disabled=False)
        assert await answer(talk) == f"mall: {DETAIL} ['orderId']"


@requirement("R30.6")
async def test_administrators_changes_apply_from_the_next_message_on(
    shop: Shop, mall: Program, rival: Program
) -> None:
    spec = await shop.add("mine", mall)
    await shop.bind(spec, DETAIL)
    talk = await shop.talk("anna")
    assert await answer(talk) == f"mall: {DETAIL} ['orderId']"
    await change(shop, spec, url=rival.url)
    assert await answer(talk) == f"rival: {DETAIL} ['orderId']"
    await shop.core.agents.service.set_mcp_tools("general", [])
    refused = await talk.call(MINE, ORDER)
    assert (refused.status, failure_of(refused)["code"]) == ("denied", "MCP_TOOL_FORBIDDEN")


# -- how it is kept -------------------------------------------------------------------------------


@pytest.fixture
def sessions(database: Database, servers: ServerStore) -> SessionServers:
    return SessionServers(database, servers, idle_seconds=REST.total_seconds())


async def test_an_own_server_is_stored_sealed_and_complete(
    database: Database, servers: ServerStore, sessions: SessionServers
) -> None:
    canary = "c4n4ry-2d6a"
    given = own(
        "docs",
        url=None,
        command="run",
        args=("-v", "数据"),
        env={"TOKEN": SecretStr(canary)},
        call_timeout_seconds=7.5,
    )
    made = await servers.create(given, by="alice")
    ours = await servers.create(shared("ours"), by="root")
    there = await servers.all_for("alice", None)
    assert await sessions.begin_run("s1", there, None) == (ours, made)
    await servers.update(made.server_id, ServerChanges(command="walk", env={}), by="alice")
    now = await servers.all_for("alice", None)
    for process in (sessions, SessionServers(database, servers)):
        assert await process.begin_run("s1", now, None) == (ours, made)
        assert await process.during_run("s1", now) == (ours, made)
    rows = await database.read(lambda c: c.execute(select(mcp_session_servers)).all())
    assert {row.server_id: row.config is None for row in rows} == {
        made.server_id: False,
        ours.server_id: True,
    }
    assert canary not in repr(rows)
    moved = update(mcp_session_servers).values(session_id="s2")
    await database.write(lambda c: c.execute(mcp_sessions.insert(), _row("s2")))
    await database.write(lambda c: c.execute(moved))
    other = SessionServers(database, servers)
    [_, opened] = await other.begin_run("s2", now, None)
    assert opened.command == "walk"  # what was sealed for another session cannot be opened


def _row(session_id: str) -> dict[str, object]:
    return {"session_id": session_id, "used_at": datetime.now(UTC)}


async def test_the_servers_of_expired_sessions_are_deleted(
    database: Database, servers: ServerStore, sessions: SessionServers
) -> None:
    made = await servers.create(own("docs"), by="alice")
    await sessions.begin_run("s1", [made], None)
    await sessions.begin_run("s2", [made], None)
    await rest(database, "s1")
    await sessions.begin_run("s3", [made], None)
    kept = select(mcp_session_servers.c.session_id)
    assert set(await database.read(lambda c: c.execute(kept).scalars().all())) == {"s2", "s3"}
    await servers.delete(made.server_id)
    assert await database.read(lambda c: c.execute(kept).all()) == []


async def test_a_session_in_use_is_written_down_from_time_to_time(
    database: Database, servers: ServerStore
) -> None:
    now = [0.0]
    sessions = SessionServers(database, servers, idle_seconds=3600, clock=lambda: now[0])
    made = await servers.create(own("docs"), by="alice")
    await sessions.begin_run("s1", [made], None)
    used = select(mcp_sessions.c.used_at)

    async def used_at() -> datetime:
        return await database.read(lambda c: c.execute(used).scalar_one())

    first = await used_at()
    half = update(mcp_sessions).values(used_at=first - REST / 2)
    await database.write(lambda c: c.execute(half))
    await sessions.begin_run("s1", [], None)
    assert await used_at() == first - REST / 2
    now[0] = 3600 / 8
    await sessions.begin_run("s1", [], None)
    assert await used_at() >= first


async def test_of_two_who_begin_a_session_at_once_one_does(
    database: Database, servers: ServerStore, sessions: SessionServers
) -> None:
    made = await servers.create(own("docs"), by="alice")
    later = await servers.create(own("more"), by="alice")

    async def meanwhile() -> None:
        await SessionServers(database, servers).begin_run("s1", [made], None)

    assert await sessions.begin_run("s1", [made, later], meanwhile) == (made,)
