"""A small Streamlit front for DataAgent servers: a chat and the user's MCP servers (`app.py`)."""

from dataagent_server_demo.settings import BadDemoSettings, DemoSettings, load_settings

__all__ = ["BadDemoSettings", "DemoSettings", "load_settings"]
