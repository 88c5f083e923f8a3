"""Servers other people wrote, unmodified, through our hub: list, two calls, kill, recover."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dataagent_core.mcp.types import ConnectionStatus
from scripts.mcp_servers import install
from tests.mcp.kit.hub import Owner, open_hub, owner_of
from tests.mcp.kit.real import SERVERS, Listening, RealServer, filled, kill_children, prepare
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    install()


@asynccontextmanager
async def owned(server: RealServer, folder: Path) -> AsyncGenerator[tuple[Owner, Listening | None]]:
    """A user who has the server; and the server itself, if it is one that listens."""
    async with open_hub() as hub:
        if server.transport == "stdio":
            command, *args = server.filled(folder)
            env = server.environment(folder)
            yield await owner_of(hub, server.name, command=command, args=tuple(args), env=env), None
            return
        listening = Listening(server, folder)
        await listening.start()
        try:
            owner = await owner_of(hub, server.name, transport=server.transport, url=listening.url)
            yield owner, listening
        finally:
            listening.kill()


async def check_calls(owner: Owner, server: RealServer, folder: Path) -> None:
    """Both calls say what they should."""
    tools = await owner.visible(WAIT_SECONDS)
    for expected in server.calls:
        outcome = await owner.call(tools[expected.tool], filled(expected.arguments, folder))
        assert outcome.failure is None, outcome.failure
        assert outcome.result is not None
        assert expected.says in str(outcome.result.content)


@requirement("R31.4")
@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
async def test_a_real_server_is_listed_called_killed_and_comes_back(
    server: RealServer, tmp_path: Path
) -> None:
    prepare(tmp_path)
    async with owned(server, tmp_path) as (owner, listening):
        await check_calls(owner, server, tmp_path)
        first = await owner.status()
        assert (first.state, first.generation) == ("ready", 1)
        assert first.protocol_version == server.protocol_version
        if listening is None:
            assert kill_children(" ".join(server.filled(tmp_path))) >= 1
        else:
            listening.kill()
        await until(owner, lambda status: status.state != "ready" or status.generation > 1)
        if listening is not None:
            assert await owner.visible(0) == {}
            await listening.start()
        await until(owner, lambda status: status.state == "ready" and status.generation > 1)
        await check_calls(owner, server, tmp_path)


async def until(owner: Owner, is_true: Callable[[ConnectionStatus], bool]) -> None:
    """Wait until something is true of the connection."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not is_true(await owner.status()):
            await asyncio.sleep(0.02)
