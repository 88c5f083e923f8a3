"""Live connections to MCP servers: opened, shared, watched and closed."""
