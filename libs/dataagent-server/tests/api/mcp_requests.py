"""What tests of MCP ask the server for, with a real MCP server behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

from tests.standins.mcp_server import HttpServer

if TYPE_CHECKING:
    from conftest import LiveServer

Json = dict[str, Any]
TOKEN = "c4n4ry-token-91b2"
OPEN = {"allow_private_hosts": ["127.0.0.1"]}
MINE = "/api/v1/users/alice/mcp-servers"


def calc(standin: HttpServer, **more: Any) -> Json:
    """A server that answers."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return {"name": "calc", "url": standin.url, "headers": headers, **more}


async def ok(answer: httpx.Response, status: int = 200) -> Json:
    assert answer.status_code == status, answer.text
    return answer.json()


async def names(client: httpx.AsyncClient, url: str = MINE) -> list[str]:
    return [each["name"] for each in (await ok(await client.get(url)))["items"]]


async def said(
    live: LiveServer, message: str, user: str = "alice", *, session_id: str | None = None
) -> list[Json]:
    """The events of a chat turn, in a session of its own unless one is named."""
    body = {"message": message, "session_id": session_id}
    async with live.http(user) as client:
        return (await ok(await client.post("/api/v1/chat", json=body)))["events"]


def results(events: list[Json]) -> list[tuple[str, str]]:
    found = [each["data"] for each in events if each["event_type"] == "tool_result"]
    return [(each["status"], str(each["result"])) for each in found]
