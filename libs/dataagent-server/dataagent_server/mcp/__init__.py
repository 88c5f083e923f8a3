"""DataAgent as an MCP server: `/mcp`, where any MCP client asks governed data with an API key."""

from dataagent_server.mcp.route import LazyMcpEndpoint, open_lazy_endpoint, router

__all__ = ["LazyMcpEndpoint", "open_lazy_endpoint", "router"]
