"""Settings of the server."""

from dataagent_server.config.settings import OnDisconnect, ServerSettings, load_settings

__all__ = ["OnDisconnect", "ServerSettings", "load_settings"]
