"""The one way to call an MCP tool: authority, limits, attempts, log."""
