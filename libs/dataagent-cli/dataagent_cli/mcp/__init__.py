"""MCP servers of this terminal: the files that name them, and whether those are trusted."""

from dataagent_cli.mcp.servers import TerminalServers, open_servers

__all__ = ["TerminalServers", "open_servers"]
