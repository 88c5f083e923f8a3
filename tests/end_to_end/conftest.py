"""Fixtures: servers on directories of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.end_to_end.server import Server


class StartServer(Protocol):
    """Starts a server with settings."""

    async def __call__(self, **settings: str) -> Server: ...


@pytest.fixture
async def start_server(tmp_path: Path) -> AsyncIterator[StartServer]:
    servers: list[Server] = []

    async def start(**settings: str) -> Server:
        home = tmp_path / f"server{len(servers)}"
        home.mkdir()
        server = Server(home, **settings)
        servers.append(server)
        await server.start()
        return server

    yield start
    for server in servers:
        await server.signal()


@pytest.fixture
async def server(start_server: StartServer) -> Server:
    return await start_server()
