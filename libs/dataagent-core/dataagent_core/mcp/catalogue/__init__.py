"""The tools of MCP servers: listed, checked, numbered and described."""
