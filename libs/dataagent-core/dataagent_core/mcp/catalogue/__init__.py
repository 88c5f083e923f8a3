"""The tools of MCP servers: found, checked, numbered and described."""
