"""The WebSocket route `/ws/chat/{session_id}`."""

from dataagent_server.ws.handlers import WebSocketChatHandler
from dataagent_server.ws.manager import Connection, ConnectionManager

__all__ = ["Connection", "ConnectionManager", "WebSocketChatHandler"]
