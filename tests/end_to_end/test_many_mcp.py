"""MCP with two web processes and two workers: it does not matter where a request lands."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from websockets.asyncio.client import ClientConnection

from tests.end_to_end.server import KEY, USER, Server, receive_until, send
from tests.end_to_end.topology import Topology, topology
from tests.requirements import requirement
from tests.standins.mcp_server import HttpServer, http_server
from tests.waiting import WAIT_SECONDS

pytestmark = pytest.mark.slow

SERVERS = f"/users/{USER}/mcp-servers"


@requirement("R30.4", "R30.7", "R31.1")
async def test_a_server_added_through_one_process_is_everywhere(tmp_path: Path) -> None:
    async with topology("postgres", tmp_path) as many:
        here, there = many.web
        with http_server() as site:
            async with there.socket(str(uuid.uuid4())) as listening:
                await receive_until(listening, "connected")
                await added(here, site)
                assert await notice(listening, "added") == "site"
            assert [each["name"] for each in (await there.get(SERVERS))["items"]] == ["site"]
            assert await sum_of(there, 2, 3) == "5"
            assert await sum_of(here, 4, 5) == "9"
            for server in many.web:
                await connected_at(server)
        await removed(there)
        assert (await here.get(SERVERS))["items"] == []
        assert "site__add" in await sum_of(here, 1, 1)  # there is no such tool any more


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_our_own_door_answers_whichever_process_is_asked(era: Any, tmp_path: Path) -> None:
    """A client's requests go to both processes in turn, as a load balancer sends them."""
    async with topology("postgres", tmp_path) as many, in_turn(many, era) as client:
        for _ in range(3):
            tools = [tool.name for tool in (await client.list_tools()).tools]
            assert tools == ["ask", "list_sources", "describe_table", "run_sql"]
        first = await client.call_tool("ask", {"question": "!echo one"})
        session_id = first.structured_content["session_id"]
        arguments = {"question": "!echo two", "session_id": session_id}
        second = await client.call_tool("ask", arguments)
        assert [each.structured_content["answer"] for each in (first, second)] == ["one", "two"]
        assert second.structured_content["session_id"] == session_id


class Balancer(httpx2.AsyncBaseTransport):
    """Sends requests to several servers in turn, and counts them."""

    def __init__(self, servers: list[Server]) -> None:
        self.asked = {server.port: 0 for server in servers}
        self._next = cycle(self.asked)
        self._inner = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        port = next(self._next)
        self.asked[port] += 1
        request.url = request.url.copy_with(port=port)
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


@asynccontextmanager
async def in_turn(many: Topology, era: Any) -> AsyncGenerator[Client]:
    """A client of the SDK whose requests go to all web processes."""
    balancer = Balancer(many.web)
    headers = {"X-API-Key": KEY}
    async with httpx2.AsyncClient(
        transport=balancer, headers=headers, timeout=WAIT_SECONDS
    ) as http:
        transport = streamable_http_client(f"{many.web[0].url}/mcp", http_client=http)
        async with Client(transport, mode=era) as client:
            yield client
    assert min(balancer.asked.values()) >= 3


async def added(server: Server, site: HttpServer) -> None:
    body = {"name": "site", "transport": "streamable_http", "url": site.url}
    status, answer = await server.post(SERVERS, body)
    assert status == 200, answer
    _, tried = await server.post(f"{SERVERS}/site/test")
    tool = next(each for each in tried["tools"] if each["name"] == "add")
    seen = {"definition_hash": tool["definition_hash"]}
    status, answer = await server.post(f"/mcp/tools/{tool['id']}/approve", seen)
    assert status == 200, answer


async def removed(server: Server) -> None:
    async with server.http() as http, http.delete(f"/api/v1{SERVERS}/site") as answer:
        assert answer.status == 200


async def notice(socket: ClientConnection, what: str) -> str:
    """Whose notice of a kind comes next."""
    while True:
        message = (await receive_until(socket, "mcp_changed"))[-1]
        if message["data"]["what"] == what:
            return message["data"]["name"]


async def sum_of(server: Server, a: int, b: int) -> str:
    """What the stand-in's tool says in a new conversation, asked through one process."""
    async with server.socket(str(uuid.uuid4())) as socket:
        await receive_until(socket, "connected")
        await send(socket, "chat", message=f"!tool site__add {json.dumps({'a': a, 'b': b})}")
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                message = json.loads(await socket.recv())
                if message["event_type"] == "tool_result":
                    return message["data"]["result"]


async def connected_at(server: Server) -> None:
    """Wait until a process shows that the server is connected, wherever it is."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            [shown] = (await server.get(SERVERS))["items"]
            if shown["status"] == "connected":
                assert {tool["name"] for tool in shown["tools"]} >= {"add", "keep"}
                return
            await asyncio.sleep(0.05)
