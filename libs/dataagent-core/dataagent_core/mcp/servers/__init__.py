"""Registered MCP servers: their rows, owners, policies and templates."""
