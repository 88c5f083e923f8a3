"""Sockets hear of MCP servers that change: those of the user concerned, or all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.requirements import requirement
from tests.standins.mcp_server import stdio_command

if TYPE_CHECKING:
    from conftest import LiveServer, Socket

StartServer = Callable[..., "LiveServer"]
SERVERS = "/api/v1/mcp/servers"
WEB = {"name": "web", "url": "https://mcp.example.com/mcp"}


async def notice(socket: Socket, what: str) -> dict[str, Any]:
    """The next notice of the kind; others, such as of a connection's state, may come before."""
    while True:
        message = await socket.receive()
        assert message["event_type"] == "mcp_changed", message
        assert set(message["data"]) == {"server_id", "name", "what"}
        assert "seq" not in message
        if message["data"]["what"] == what:
            return message["data"]


async def silent(socket: Socket) -> None:
    """Nothing came: the next answer is to our own ping."""
    await socket.say("ping")
    await socket.next("pong")


@requirement("R30.7")
async def test_a_users_change_reaches_their_own_sockets_and_no_others(live: LiveServer) -> None:
    url = "/api/v1/users/alice/mcp-servers"
    async with (
        live.socket() as one,
        live.socket() as two,
        live.socket(user="bob") as other,
        live.http() as client,
    ):
        assert (await client.post(url, json=WEB)).status_code == 200
        for socket in (one, two):
            assert (await notice(socket, "added"))["name"] == "web"
        assert (await client.put(f"{url}/web", json={"timeout": 5})).status_code == 200
        for socket in (one, two):
            await notice(socket, "updated")
        assert (await client.delete(f"{url}/web")).status_code == 200
        for socket in (one, two):
            await notice(socket, "removed")
        await silent(other)


@requirement("R30.7")
async def test_a_global_servers_change_reaches_everyone_with_what_it_found(
    live: LiveServer,
) -> None:
    async with live.socket() as one, live.socket(user="bob") as two, live.http("root") as root:
        made = await root.post(SERVERS, json={"name": "calc", **stdio_command()})
        assert made.status_code == 201, made.text
        server_id = made.json()["server_id"]
        for socket in (one, two):
            assert (await notice(socket, "tools"))["server_id"] == server_id
        found = (await root.get("/api/v1/mcp/tools", params={"server_id": server_id})).json()
        tool = f"/api/v1/mcp/tools/{found['items'][0]['id']}"
        assert (await root.patch(tool, json={"enabled": False})).status_code == 200
        for socket in (one, two):
            assert (await notice(socket, "tools"))["server_id"] == server_id
        assert (await root.delete(f"{SERVERS}/{server_id}")).status_code == 204
        for socket in (one, two):
            await notice(socket, "removed")


@requirement("R30.7")
async def test_a_tenants_change_stays_in_the_tenant(start_server: StartServer) -> None:
    live = start_server(multi_tenant=True)
    async with live.http("root") as root:
        tenant = {"tenant_id": "acme", "name": "Acme"}
        assert (await root.post("/api/v1/tenants", json=tenant)).status_code == 201
        url = "/api/v1/tenants/acme/users/alice"
        assert (await root.put(url, json={})).status_code == 200
        body = {**WEB, "scope": "tenant", "tenant_id": "acme", "disabled": True}
        async with live.socket() as inside, live.socket(user="bob") as outside:
            assert (await root.post(SERVERS, json=body)).status_code == 201
            await notice(inside, "added")
            await silent(outside)
