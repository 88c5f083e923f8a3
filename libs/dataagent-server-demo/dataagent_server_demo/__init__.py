"""A small Streamlit front for DataAgent servers: a chat and the user's MCP servers (`app.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_server_demo.mcp_api import add_mcp_server, delete_mcp_server, get_mcp_servers
from dataagent_server_demo.settings import BadDemoSettings, DemoSettings, load_settings

if TYPE_CHECKING:
    from dataagent_server_demo.mcp_tab import render_mcp_config

__all__ = [
    "BadDemoSettings",
    "DemoSettings",
    "add_mcp_server",
    "delete_mcp_server",
    "get_mcp_servers",
    "load_settings",
    "render_mcp_config",
]


def __getattr__(name: str) -> object:
    """Import the panel when it is used: it needs Streamlit, the functions do not."""
    if name != "render_mcp_config":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dataagent_server_demo.mcp_tab import render_mcp_config

    return render_mcp_config
