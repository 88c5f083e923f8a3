"""A user's MCP servers over HTTP, with real servers behind them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from dataagent_core.identity.sealing import MASK
from tests.requirements import requirement
from tests.standins.mcp_server import HttpServer, http_server, stdio_command

from .mcp_requests import MINE, OPEN, TOKEN, Json, calc, names, ok, results, said

if TYPE_CHECKING:
    from conftest import LiveServer

StartServer = Callable[..., "LiveServer"]
ALL = f"{MINE}?include=shared"
DENIED = {"error_code": "denied", "message": "Permission denied"}


@pytest.fixture(scope="module")
def standin() -> Iterator[HttpServer]:
    with http_server("--token", TOKEN) as server:
        yield server


async def scopes(client: httpx.AsyncClient, url: str) -> dict[str, str]:
    """By name, whose the servers of a list are."""
    return {each["name"]: each["scope"] for each in (await ok(await client.get(url)))["items"]}


async def approve_add(client: httpx.AsyncClient) -> None:
    """Confirm, as the server's owner, that its tool only reads."""
    tried = await ok(await client.post(f"{MINE}/calc/test"))
    tool = next(each for each in tried["tools"] if each["name"] == "add")
    seen = {"definition_hash": tool["definition_hash"]}
    await ok(await client.post(f"/api/v1/mcp/tools/{tool['id']}/approve", json=seen))


def shown(standin: HttpServer) -> Json:
    """As a server that was just added is answered, whole."""
    return {
        "name": "calc",
        "scope": "user",
        "transport": "auto",
        "command": None,
        "args": [],
        "env": {},
        "url": standin.url,
        "headers": {"Authorization": MASK},
        "template": None,
        "timeout": 30.0,
        "call_timeout": 30.0,
        "disabled": False,
        "has_credentials": False,
        "status": "disconnected",
        "status_detail": "idle",
        "tools": [],
    }


@requirement("R30.1", "R30.2")
async def test_a_server_is_added_seen_changed_tried_and_removed(
    start_server: StartServer, standin: HttpServer
) -> None:
    live = start_server(**OPEN)
    async with live.http() as client:
        made = await ok(await client.post(MINE, json=calc(standin)))
        assert made == shown(standin)
        assert (await client.post(MINE, json=calc(standin))).status_code == 409
        tried = await ok(await client.post(f"{MINE}/calc/test"))
        assert (tried["ok"], tried["status"]) == (True, "connected")
        assert tried["status_detail"] == "ready"
        assert {each["name"] for each in tried["tools"]} == {"add", "keep", "whose"}
        seen = await ok(await client.get(f"{MINE}/calc"))
        assert seen["status"] == "connected"
        assert [each["exposed_name"] for each in seen["tools"]][:1] == ["calc__add"]
        changed = await ok(
            await client.put(f"{MINE}/calc", json={"timeout": 5, "headers": seen["headers"]})
        )
        assert (changed["timeout"], changed["headers"]) == (5.0, {"Authorization": MASK})
        assert (await ok(await client.post(f"{MINE}/calc/test")))["ok"]  # the token is still there
        same = await ok(await client.put(f"{MINE}/calc", json={"name": "calc", "timeout": 6}))
        assert (same["name"], same["timeout"]) == ("calc", 6.0)
        renamed = await client.put(f"{MINE}/calc", json={"name": "other", "timeout": 7})
        assert (renamed.status_code, renamed.json()["error_code"]) == (422, "bad_input")
        assert "`name` in the body 'other'" in renamed.json()["message"]
        assert (await ok(await client.get(f"{MINE}/calc")))["timeout"] == 6.0
        gone = await ok(await client.delete(f"{MINE}/calc"))
        assert gone == {"status": "deleted", "server_name": "calc"}
        assert await names(client) == []
        for gone in (client.get, client.delete):
            assert (await gone(f"{MINE}/calc")).status_code == 404
        assert (await client.put(f"{MINE}/calc", json={"timeout": 5})).status_code == 404


async def test_a_server_that_does_not_answer_is_told_and_not_an_error(
    start_server: StartServer, standin: HttpServer
) -> None:
    live = start_server(**OPEN)
    async with live.http() as client:
        wrong = {**calc(standin, timeout=5), "headers": {"Authorization": "Bearer wrong-one"}}
        await ok(await client.post(MINE, json=wrong))
        tried = await ok(await client.post(f"{MINE}/calc/test"))
        assert (tried["ok"], tried["status"], tried["tools"]) == (False, "error", [])
        assert tried["status_detail"].startswith("authentication required")
        assert "wrong-one" not in json.dumps(tried)
        await ok(await client.put(f"{MINE}/calc", json={"url": "http://127.0.0.1:9/mcp"}))
        assert (await ok(await client.post(f"{MINE}/calc/test")))["status"] == "error"
        await ok(await client.put(f"{MINE}/calc", json={"disabled": True}))
        tried = await ok(await client.post(f"{MINE}/calc/test"))
        assert (tried["ok"], tried["status"]) == (False, "disconnected")


@requirement("R30.3")
async def test_servers_and_their_secrets_outlive_the_process(
    start_server: StartServer, standin: HttpServer, tmp_path: Path
) -> None:
    first = start_server(home=tmp_path / "kept", **OPEN)
    async with first.http() as client:
        await ok(await client.post(MINE, json=calc(standin)))
    first.stop()
    second = start_server(home=tmp_path / "kept", **OPEN)
    async with second.http() as client:
        assert await names(client) == ["calc"]
        assert (await ok(await client.post(f"{MINE}/calc/test")))["ok"]
    kept = b"".join(each.read_bytes() for each in (tmp_path / "kept").rglob("*.db*"))
    assert TOKEN.encode() not in kept


@requirement("R30.4", "R30.6", "P49")
async def test_a_users_chat_has_the_users_tools_and_nobody_elses(
    start_server: StartServer, standin: HttpServer
) -> None:
    live = start_server(**OPEN)
    call = '!tool calc__add {"a": 19, "b": 23}'
    assert results(await said(live, call))[0][0] == "error"  # there is no such tool
    async with live.http() as client:
        await ok(await client.post(MINE, json=calc(standin)))
        await approve_add(client)
        [(status, result)] = results(await said(live, call))
        assert status == "success"
        assert "42" in result
        assert results(await said(live, call, user="bob"))[0][0] == "error"
        tools = (await ok(await client.get("/api/v1/tools")))["items"]
        [mine] = [each for each in tools if each["name"] == "calc__add"]
        assert (mine["kind"], mine["description"]) == ("mcp", "Adds two numbers.")
    async with live.http("bob") as client:
        others = (await ok(await client.get("/api/v1/tools")))["items"]
        assert {each["kind"] for each in others} == {"builtin"}


@requirement("R30.6")
async def test_servers_added_changed_and_removed_during_a_session(
    start_server: StartServer, standin: HttpServer
) -> None:
    live = start_server(**OPEN)
    call = "!tool calc__whose {}"
    async with live.http() as client:
        session = (await ok(await client.post("/api/v1/sessions", json={}), 201))["session_id"]

        async def status(session_id: str | None = None) -> str:
            return results(await said(live, call, session_id=session_id))[0][0]

        await said(live, "!echo hello", session_id=session)
        await ok(await client.post(MINE, json=calc(standin)))
        tried = await ok(await client.post(f"{MINE}/calc/test"))
        tool = next(each for each in tried["tools"] if each["name"] == "whose")
        seen = {"definition_hash": tool["definition_hash"]}
        await ok(await client.post(f"/api/v1/mcp/tools/{tool['id']}/approve", json=seen))
        assert [await status(session), await status()] == ["error", "success"]

        session = (await ok(await client.post("/api/v1/sessions", json={}), 201))["session_id"]
        assert await status(session) == "success"
        await ok(await client.put(f"{MINE}/calc", json={"url": "http://127.0.0.1:9/mcp"}))
        assert [await status(session), await status()] == ["success", "error"]
        await ok(await client.delete(f"{MINE}/calc"))
        assert await status(session) == "error"


@requirement("R30.6")
async def test_a_change_leaves_a_conversation_in_progress_alone(
    start_server: StartServer, standin: HttpServer
) -> None:
    live = start_server(**OPEN)
    async with live.http() as client:
        await ok(await client.post(MINE, json=calc(standin)))
        message = {"message": '!tool calc__keep {"note": "tea"}'}
        waiting = await ok(await client.post("/api/v1/chat", json=message))
        assert waiting["status"] == "waiting"
        await ok(await client.put(f"{MINE}/calc", json={"call_timeout": 20}))
        request_id = waiting["events"][-1]["data"]["request_id"]
        url = f"/api/v1/runs/{waiting['run_id']}"
        answer = await client.post(f"{url}/decisions/{request_id}", json={"type": "approve"})
        assert answer.is_success, answer.text
        async with client.stream("GET", f"{url}/events") as stream:
            lines = [line async for line in stream.aiter_lines() if line.startswith("data: ")]
        events = [json.loads(line.removeprefix("data: ")) for line in lines]
        [(status, result)] = results(events)
        assert status == "success", result
        assert "kept 3 characters" in result


@requirement("R30.5")
async def test_global_servers_are_extended_and_overridden(
    start_server: StartServer, standin: HttpServer
) -> None:
    live = start_server(**OPEN)
    async with live.http("root") as root:
        shared = await ok(await root.post("/api/v1/mcp/servers", json=calc(standin)), 201)
    async with live.http() as client:
        assert await ok(await client.get(MINE)) == {"items": [], "total": 0}
        [seen] = (await ok(await client.get(ALL)))["items"]
        assert (seen["name"], seen["scope"]) == ("calc", "global")
        assert (seen["url"], seen["headers"]) == (None, {})
        for answer in (
            await client.put(f"{MINE}/calc", json={"disabled": True}),
            await client.delete(f"{MINE}/calc"),
            await client.delete(f"/api/v1/mcp/servers/{shared['server_id']}"),
        ):
            assert answer.status_code in (403, 404)
        await ok(await client.post(MINE, json=calc(standin, name="more")))
        await ok(await client.post(MINE, json=calc(standin, disabled=True)))
        both = {"calc": "user", "more": "user"}
        assert await scopes(client, MINE) == await scopes(client, ALL) == both
        await ok(await client.delete(f"{MINE}/calc"))
        assert (await ok(await client.get(f"{MINE}/calc")))["scope"] == "global"
        assert await scopes(client, MINE) == {"more": "user"}
        assert await scopes(client, ALL) == {"calc": "global", "more": "user"}
        wrong = await client.get(MINE, params={"include": "all"})
        assert wrong.status_code == 422
    async with live.http("bob") as client:
        assert await names(client, "/api/v1/users/bob/mcp-servers?include=shared") == ["calc"]


@requirement("R30.5")
async def test_the_installations_file_gives_everyone_servers_they_can_override(
    start_server: StartServer, standin: HttpServer, tmp_path: Path
) -> None:
    file = tmp_path / "defaults.json"
    entry = {"name": "calc", **stdio_command(), "read_only_tools": ["add"]}
    file.write_text(json.dumps({"servers": [entry]}))
    live = start_server(mcp_config=file, **OPEN)
    call = '!tool calc__add {"a": 2, "b": 5}'
    async with live.http() as client:
        assert await names(client) == []
        [seen] = (await ok(await client.get(ALL)))["items"]
        assert (seen["name"], seen["scope"], seen["command"]) == ("calc", "file", None)
        assert (await ok(await client.post(f"{MINE}/calc/test")))["ok"]
        assert "7" in results(await said(live, call))[0][1]
        assert (await client.delete(f"{MINE}/calc")).status_code == 404
        await ok(await client.post(MINE, json=calc(standin)))
        assert (await ok(await client.get(f"{MINE}/calc")))["scope"] == "user"
        await approve_add(client)
        assert results(await said(live, call))[0][0] == "success"


@requirement("P49")
async def test_nobody_sees_or_touches_anothers_servers(
    start_server: StartServer, standin: HttpServer
) -> None:
    live = start_server(**OPEN)
    async with live.http() as client:
        await ok(await client.post(MINE, json=calc(standin)))
        before = await ok(await client.get(f"{MINE}/calc"))
    async with live.http("bob") as client:
        for answer in (
            await client.get(MINE),
            await client.post(MINE, json=calc(standin, name="planted")),
            await client.get(f"{MINE}/calc"),
            await client.put(f"{MINE}/calc", json={"url": "https://evil.example/mcp"}),
            await client.put(f"{MINE}/calc/credentials", json={"headers": {"A": "b"}}),
            await client.post(f"{MINE}/calc/test"),
            await client.delete(f"{MINE}/calc"),
        ):
            assert (answer.status_code, answer.json()) == (403, DENIED)
        nobodys = await client.get("/api/v1/users/nobody/mcp-servers")
        assert (nobodys.status_code, nobodys.json()) == (403, DENIED)
        assert await names(client, "/api/v1/users/bob/mcp-servers") == []
        await ok(
            await client.post("/api/v1/users/bob/mcp-servers", json=calc(standin, disabled=True))
        )
    async with live.http("root") as root:
        assert await ok(await root.get(f"{MINE}/calc")) == before
        answer = await root.put(f"{MINE}/calc/credentials", json={"headers": {"A": "b"}})
        assert (answer.status_code, answer.json()) == (403, DENIED)


@requirement("R31.6")
async def test_a_server_that_does_not_say_has_the_installations_time_to_connect(
    start_server: StartServer, standin: HttpServer
) -> None:
    live = start_server(mcp_timeout=7, **OPEN)
    async with live.http() as client, live.http("root") as root:
        assert (await ok(await client.post(MINE, json=calc(standin))))["timeout"] == 7
        made = await ok(await root.post("/api/v1/mcp/servers", json=calc(standin)), 201)
        assert made["timeout"] == 7


@requirement("R31.2", "R35.4")
async def test_the_server_too_many_is_refused_and_says_why(
    start_server: StartServer, standin: HttpServer
) -> None:
    live = start_server(mcp_max_servers=2, **OPEN)
    async with live.http() as client:
        for name in ("one", "two"):
            await ok(await client.post(MINE, json=calc(standin, name=name)))
        refused = await client.post(MINE, json=calc(standin, name="three"))
        assert refused.status_code == 429
        assert refused.headers["Retry-After"]
        error = refused.json()
        assert error["error_code"] == "too_many_mcp_servers"
        assert error["details"] == {"what": "mcp_servers", "limit": 2, "used": 2}
        assert "Remove one first" in error["message"]
        await client.delete(f"{MINE}/one")
        await ok(await client.post(MINE, json=calc(standin, name="three")))


@requirement("R31.2", "R35.2", "R35.4", "R35.5")
async def test_a_tenant_sets_its_own_limit_and_can_switch_mcp_off(
    start_server: StartServer, standin: HttpServer
) -> None:
    live = start_server(multi_tenant=True, **OPEN)
    tenant = {"name": "Acme", "max_mcp_servers": 1}
    async with live.http("root") as root, live.http() as client:
        await ok(await root.post("/api/v1/tenants", json={"tenant_id": "acme", **tenant}), 201)
        await ok(await root.put("/api/v1/tenants/acme/users/alice", json={}))
        await ok(await client.post(MINE, json=calc(standin)))
        refused = await client.post(MINE, json=calc(standin, name="two"))
        assert (refused.status_code, refused.json()["details"]["limit"]) == (429, 1)
        off = {**tenant, "features_enabled": {"mcp": False}}
        await ok(await root.put("/api/v1/tenants/acme", json=off))
        await client.delete(f"{MINE}/calc")
        for answer in (
            await client.post(MINE, json=calc(standin)),
            await client.post(f"{MINE}/calc/test"),
        ):
            assert (answer.status_code, answer.json()["error_code"]) == (
                403,
                "mcp_server_not_allowed",
            )
