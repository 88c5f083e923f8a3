"""DataAgent as an MCP server: `/mcp`, where any MCP client asks governed data with an API key."""

from dataagent_server.mcp.keeper import DoorKeeper, open_keeper
from dataagent_server.mcp.route import router

__all__ = ["DoorKeeper", "open_keeper", "router"]
