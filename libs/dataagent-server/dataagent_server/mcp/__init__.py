"""DataAgent as an MCP server: `/mcp`, where MCP clients query governed data with an API key."""

from dataagent_server.mcp.route import LazyMcpEndpoint, open_lazy_endpoint, router

__all__ = ["LazyMcpEndpoint", "open_lazy_endpoint", "router"]
