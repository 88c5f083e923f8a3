"""Alive and ready are two questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_core.errors import StorageUnavailable
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import LiveServer


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
        assert ready.json() == {"status": "ready", "checks": {"database": "ok", "migrations": "ok"}}
        database = server.container.core.database

        async def away() -> None:
            raise StorageUnavailable("gone")

        database.ping = away  # the database goes away; nothing else of it is replaced
        unready = await client.get("/api/v1/health/ready")
        assert unready.status_code == 503
        assert unready.json()["error_code"] == "not_ready"
        assert unready.json()["details"] == {"database": "does not answer"}
        assert (await client.get("/api/v1/health/live")).status_code == 200
