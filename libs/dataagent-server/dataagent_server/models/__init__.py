"""Request and response models (Pydantic)."""

from dataagent_server.models.chat import ChatRequest, ChatResponse
from dataagent_server.models.common import ErrorResponse, WebSocketMessage
from dataagent_server.models.fields import Page
from dataagent_server.models.mcp import MCPServerConfigRequest, MCPServerConfigResponse
from dataagent_server.models.sessions import MessageInfo, SessionInfo
from dataagent_server.models.system import Health

__all__ = [
    "ChatRequest",
    "ChatResponse",
    "ErrorResponse",
    "Health",
    "MCPServerConfigRequest",
    "MCPServerConfigResponse",
    "MessageInfo",
    "Page",
    "SessionInfo",
    "WebSocketMessage",
]
