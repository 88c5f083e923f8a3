"""A user's MCP servers as three functions: list, add, delete.

A failed request gives an empty list or False. The page shows why a request failed, so it uses its
own client.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from dataagent_client import ClientError, DataAgentClient
from dataagent_server_demo.settings import BACKOFF, TIMEOUT_SECONDS


async def get_mcp_servers(
    http_url: str, user_id: str, api_key: str | None = None
) -> list[dict[str, Any]]:
    """List the user's MCP servers, each with its configuration, status and tools."""
    try:
        async with _client(http_url, api_key) as client:
            return [asdict(server) for server in (await client.mcp.servers(user_id)).items]
    except ClientError:
        return []


async def add_mcp_server(
    http_url: str, user_id: str, server_config: dict[str, Any], api_key: str | None = None
) -> bool:
    """Add an MCP server; `server_config` has its name and fields of `UserServerSettings`."""
    try:
        async with _client(http_url, api_key) as client:
            await client.mcp.add(user_id, **server_config)
    except (ClientError, TypeError):  # TypeError: there is no name, or a value is not JSON
        return False
    return True


async def delete_mcp_server(
    http_url: str, user_id: str, server_name: str, api_key: str | None = None
) -> bool:
    """Delete an MCP server of the user."""
    try:
        async with _client(http_url, api_key) as client:
            await client.mcp.delete(user_id, server_name)
    except ClientError:
        return False
    return True


def _client(http_url: str, api_key: str | None) -> DataAgentClient:
    return DataAgentClient(http_url, api_key, timeout_seconds=TIMEOUT_SECONDS, backoff=BACKOFF)
