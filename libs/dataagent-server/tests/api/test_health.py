"""Alive and ready are two questions."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from dataagent_core.errors import StorageUnavailable
from dataagent_server import __version__
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import LiveServer

ALL_WELL = {"database": "ok", "migrations": "ok", "disk": "ok"}


@requirement("R22.3", "R22.4", "P34", "R16.2")
async def test_health_has_status_version_and_uptime(live: LiveServer) -> None:
    async with live.http(None) as client:
        for path in ("/api/v1/health", "/api/v1/health/live"):
            answer = await client.get(path)
            assert answer.status_code == 200
            body = answer.json()
            assert body.keys() == {"status", "version", "uptime"}
            assert body["status"] == "ok"
            assert body["uptime"] > 0


@requirement("G14")
async def test_ready_covers_the_database_and_its_tables(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server()
    async with server.http(None) as client:
        ready = await client.get("/api/v1/health/ready")
        assert ready.json() == {"status": "ready", "checks": ALL_WELL}
        database = server.container.core.database

        async def away() -> None:
            raise StorageUnavailable("gone")

        database.ping = away  # the database goes away; nothing else of it is replaced
        unready = await client.get("/api/v1/health/ready")
        assert unready.status_code == 503
        assert unready.json()["error_code"] == "not_ready"
        assert unready.json()["details"] == {"database": "does not answer", "disk": "ok"}
        assert (await client.get("/api/v1/health/live")).status_code == 200


@requirement("G14")
async def test_an_administrator_sees_how_the_installation_is(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(sample_data=False, sandbox="off")
    async with server.http("root") as admin, server.socket() as socket:
        await socket.chat("!slow 1000 60")
        body = (await admin.get("/api/v1/system")).json()
        assert body.pop("uptime") > 0
        versions = {"dataagent": __version__, "python": platform.python_version()}
        assert body == {
            "status": "ready",
            "checks": ALL_WELL,
            "versions": versions,
            "model": "scripted",
            "is_offline": False,
            "database": "sqlite",
            "runs_in": "web",
            "runs": {"active": 1, "queued": 0},
            "connections": {"used": 1, "limit": 200},
            "sandbox": None,
            "mcp": {"servers": 0, "connected": 0, "failing": []},
        }
        await socket.say("cancel")
        await socket.until("done")


@requirement("G14")
async def test_what_is_wrong_is_shown_while_the_database_is_away(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(sample_data=False, sandbox="off")
    async with server.http("root") as admin:

        async def away(*_: object, **__: object) -> None:
            raise StorageUnavailable("gone")

        database = server.container.core.database
        database.ping = away  # the database goes away; nothing else of it is replaced
        database.read = away
        answer = await admin.get("/api/v1/system")
    assert answer.status_code == 200
    body = answer.json()
    assert body["status"] == "not_ready"
    assert body["checks"] == {"database": "does not answer", "disk": "ok"}
    assert (body["runs"], body["mcp"]) == ({"active": 0, "queued": None}, None)


async def test_mcp_servers_are_counted_and_the_failing_shared_ones_named(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(
        sample_data=False, sandbox="off", mcp_timeout=2, allow_private_hosts=["127.0.0.1"]
    )
    async with server.http("root") as admin:
        for name, is_disabled in (("closed-port", False), ("put-away", True)):
            body = {"name": name, "scope": "global", "url": "http://127.0.0.1:9/mcp"}
            made = await admin.post("/api/v1/mcp/servers", json=body | {"disabled": is_disabled})
            assert made.status_code == 201, made.text
        server_id = (await admin.get("/api/v1/mcp/servers")).json()["items"][0]["server_id"]
        assert (await admin.post(f"/api/v1/mcp/servers/{server_id}/test")).status_code == 200
        found = (await admin.get("/api/v1/system")).json()["mcp"]
    assert found == {"servers": 1, "connected": 0, "failing": ["closed-port"]}


async def test_how_the_installation_is_is_for_administrators(live: LiveServer) -> None:
    async with live.http("alice") as client:
        assert (await client.get("/api/v1/system")).status_code == 403
