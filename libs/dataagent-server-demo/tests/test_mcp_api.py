"""The functions that manage a user's MCP servers, against a real server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from dataagent_server_demo import add_mcp_server, delete_mcp_server, get_mcp_servers
from tests.end_to_end.server import KEY, USER, Server
from tests.requirements import requirement


@pytest.fixture(scope="module")
def server(start: Callable[..., Server]) -> Server:
    return start(DATAAGENT_ALLOW_PRIVATE_HOSTS="127.0.0.1")


@requirement("R36.2", "R36.3", "R36.4", "R36.5")
async def test_a_server_is_added_listed_and_deleted(server: Server) -> None:
    config = {"name": "site", "transport": "sse", "url": "http://127.0.0.1:9/sse"}
    assert await add_mcp_server(server.url, USER, config, KEY)
    [found] = await get_mcp_servers(server.url, USER, KEY)
    assert (found["name"], found["url"]) == ("site", config["url"])
    assert found["status"] == "disconnected"
    assert await delete_mcp_server(server.url, USER, "site", KEY)
    assert await get_mcp_servers(server.url, USER, KEY) == []


@requirement("P56")
async def test_a_refusal_is_false_or_an_empty_list(server: Server) -> None:
    config = {"name": "site", "url": "http://127.0.0.1:9/sse"}
    for url, key in ((server.url, "wrong"), ("no address", KEY), (server.url, "no\nkey")):
        assert await get_mcp_servers(url, USER, key) == []
        assert not await add_mcp_server(url, USER, config, key)
        assert not await delete_mcp_server(url, USER, "site", key)
    assert not await delete_mcp_server(server.url, USER, "missing", KEY)
    assert not await delete_mcp_server(server.url, USER, "", KEY)


@requirement("P56")
@pytest.mark.parametrize(
    "config",
    [
        {},
        {"name": "a"},
        {"url": "http://127.0.0.1:9"},
        {"name": "a", "url": object()},
        {"user_id": "b"},
    ],
)
async def test_a_configuration_that_cannot_be_used_is_not_added(
    server: Server, config: dict[str, object]
) -> None:
    assert not await add_mcp_server(server.url, USER, config, KEY)


def test_the_functions_are_imported_without_streamlit() -> None:
    program = "import sys, dataagent_server_demo; sys.exit('streamlit' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
