"""MCP servers of the person at this terminal: files that name them, whether those are trusted.

Above: `main.py` and `/mcp`. Below: core's `mcp/`, which reads the files' entries and connects.
"""

from dataagent_cli.mcp.servers import TerminalServers, open_servers

__all__ = ["TerminalServers", "open_servers"]
