"""MCP servers as they are registered: their rows, owners, policies and templates."""
