"""Live connections to MCP servers: opened, shared, monitored and closed."""
