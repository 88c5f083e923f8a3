"""MCP servers of the person at this terminal: files that name them, whether those are trusted.

Above: `main.py` and `/mcp`. Below: core's `mcp/`, which reads the files' entries and connects.
"""

from dataagent_cli.mcp.lifecycle import open_servers
from dataagent_cli.mcp.servers import TerminalServers

__all__ = ["TerminalServers", "open_servers"]
