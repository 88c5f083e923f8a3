"""MCP clients, as other people's programs are: the SDK's own, over real HTTP, in both eras."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Literal

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from conftest import LiveServer

Era = Literal["legacy", "auto"]
Connect = Callable[..., AbstractAsyncContextManager[Client]]
VERSIONS: dict[Era, str] = {"legacy": "2025-11-25", "auto": "2026-07-28"}


@asynccontextmanager
async def connected(
    server: LiveServer, headers: dict[str, str], era: Era = "auto"
) -> AsyncGenerator[Client]:
    """A client that speaks to a server's door."""
    async with httpx2.AsyncClient(headers=headers, timeout=WAIT_SECONDS) as http:
        transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
        async with Client(transport, mode=era) as client:
            yield client


@pytest.fixture(params=["legacy", "auto"])
def era(request: pytest.FixtureRequest) -> Era:
    """Each era of the protocol in turn."""
    return request.param


@pytest.fixture
def connect() -> Connect:
    return connected
