"""`client.mcp` against a real server, with a real MCP server behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import aiohttp
import pytest

from dataagent_client import (
    AllowedTool,
    ApiError,
    ConflictError,
    DataAgentClient,
    McpCall,
    NotFoundError,
    SharedMcpServer,
    ToolResultEvent,
)
from tests.end_to_end.server import KEY, USER, Server
from tests.requirements import requirement
from tests.standins.mcp_server import HttpServer, http_server, stdio_command
from tests.waiting import WAIT_SECONDS

ROOT_KEY = "root-key-of-mcp"
BOSS, PASSWORD = "boss", "a-long-word-7"
SECRET = "canary-8d1f"
DOTS = "••••"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Server]:
    made = Server(
        tmp_path,
        DATAAGENT_ADMIN_API_KEYS=f"root:{ROOT_KEY}",
        DATAAGENT_ALLOW_PRIVATE_HOSTS="127.0.0.1",
        ADMIN_USERNAME=BOSS,
        ADMIN_PASSWORD=PASSWORD,
    )
    await made.start()
    yield made
    await made.signal()


@pytest.fixture
async def alice(server: Server) -> AsyncGenerator[DataAgentClient]:
    async with asyncio.timeout(WAIT_SECONDS), DataAgentClient(server.url, KEY) as client:
        yield client


@pytest.fixture
async def root(server: Server) -> AsyncGenerator[DataAgentClient]:
    async with asyncio.timeout(WAIT_SECONDS), DataAgentClient(server.url, ROOT_KEY) as client:
        yield client


@pytest.fixture
def site() -> Generator[HttpServer]:
    with http_server() as running:
        yield running


async def said(client: DataAgentClient, message: str) -> str:
    """What a tool answered."""
    found = [item.event async for item in client.chat(message)]
    [result] = [event for event in found if isinstance(event, ToolResultEvent)]
    return str(result.result)


@pytest.mark.slow
@requirement("R30.1", "R30.2", "R30.3")
async def test_a_user_keeps_servers_of_their_own(alice: DataAgentClient, site: HttpServer) -> None:
    mcp = alice.mcp
    made = await mcp.add(
        USER, "my-site", transport="streamable_http", url=site.url, headers={"X-Key": SECRET}
    )
    assert (made.name, made.scope, made.headers) == ("my-site", "user", {"X-Key": DOTS})
    with pytest.raises(ConflictError):
        await mcp.add(USER, "my-site", url=site.url)
    trial = await mcp.test(USER, "my-site")
    assert (trial.ok, trial.status) == (True, "connected")
    assert "add" in [tool.name for tool in trial.tools]
    changed = await mcp.update(USER, "my-site", call_timeout=7, disabled=True)
    assert (changed.call_timeout, changed.disabled, changed.url) == (7, True, site.url)
    found = await mcp.servers(USER)
    assert (found.total, found.items[0]) == (1, await mcp.server(USER, "my-site"))
    assert SECRET not in repr(found)
    await mcp.delete(USER, "my-site")
    with pytest.raises(NotFoundError):
        await mcp.server(USER, "my-site")


@pytest.mark.slow
@requirement("R30.4")
async def test_others_are_not_found_and_the_registry_is_for_administrators(
    alice: DataAgentClient,
) -> None:
    with pytest.raises(ApiError) as refused:
        await alice.mcp.servers("bob")
    assert refused.value.status in (403, 404)
    with pytest.raises(ApiError) as refused:
        await alice.mcp.admin.servers()
    assert refused.value.status == 403


async def connected(root: DataAgentClient, server_id: str) -> SharedMcpServer:
    """The server once it is there."""
    async with asyncio.timeout(WAIT_SECONDS):
        while (found := await root.mcp.admin.server(server_id)).status != "connected":
            await asyncio.sleep(0.05)
    return found


async def logged(root: DataAgentClient, server_id: str) -> McpCall:
    """The newest call, once it is in the log."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not (found := await root.mcp.admin.calls(server_id=server_id, status="ok")).items:
            await asyncio.sleep(0.05)
    return found.items[0]


@pytest.mark.slow
async def test_an_administrator_registers_allows_and_reads_what_was_called(
    root: DataAgentClient, alice: DataAgentClient
) -> None:
    admin = root.mcp.admin
    command = stdio_command()
    made = await admin.add("calc", command=command["command"], args=command["args"], alias="c")
    shared = await connected(root, made.server_id)
    assert (shared.scope, shared.alias, shared.fail_count) == ("global", "c", 0)
    assert shared.last_ok_at is not None
    listed = {tool.name: tool for tool in (await admin.tools(server_id=made.server_id)).items}
    assert listed["add"].exposed_name == "c__add"
    assert listed["add"].input_schema["required"] == ["a", "b"]

    assert "c__add" in await said(alice, '!tool c__add {"a": 1, "b": 2}')  # bound to nobody yet
    allowed = (AllowedTool(made.server_id, "add"),)
    assert (await admin.replace_allowlist(allowed, agent_id="general")).tools == allowed
    assert (await admin.allowlist(agent_id="general")).tools == allowed
    hashed = listed["add"].definition_hash
    assert listed["add"].asks_first
    assert not (await admin.approve(listed["add"].id, hashed)).asks_first
    assert await said(alice, '!tool c__add {"a": 1, "b": 2}') == "3"
    call = await logged(root, made.server_id)
    assert (call.user_id, call.tool_name, call.status) == (USER, "add", "ok")
    assert call.args_redacted == {"a": "number", "b": "number"}
    assert call.ended_at is not None

    assert not (await admin.set_tool(listed["add"].id, enabled=False)).enabled
    assert (await admin.diff(listed["add"].id)).changed == ()
    assert (await admin.approve(listed["add"].id, hashed)).status == "active"
    assert (await admin.update(made.server_id, disabled=True)).disabled
    assert [each.name for each in (await admin.servers(scope="global")).items] == ["calc"]
    await admin.delete(made.server_id)
    assert (await admin.servers()).total == 0


@pytest.mark.slow
async def test_a_keys_limit_is_set_and_lifted(root: DataAgentClient, server: Server) -> None:
    key_id = await key_of_an_account(server)
    limited = await root.mcp.admin.replace_allowlist([], api_key_id=key_id)
    assert (limited.api_key_id, limited.tools) == (key_id, ())
    lifted = await root.mcp.admin.replace_allowlist(None, api_key_id=key_id)
    assert lifted.tools is None


async def key_of_an_account(server: Server) -> str:
    """The id of a key somebody made for themselves, after they logged in as in a browser."""
    origin = {"Origin": server.url}
    jar = aiohttp.CookieJar(unsafe=True)  # the address has no name
    async with aiohttp.ClientSession(server.url, headers=origin, cookie_jar=jar) as http:
        login = {"username": BOSS, "password": PASSWORD}
        async with http.post("/api/auth/login", json=login) as answer:
            assert answer.status == 200, await answer.text()
        async with http.post("/api/v1/api-keys", json={"name": "narrow"}) as answer:
            assert answer.status == 201, await answer.text()
            return (await answer.json())["id"]
