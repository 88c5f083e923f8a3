"""Calls of MCP tools: authorisation, limits, attempts and the call log."""
