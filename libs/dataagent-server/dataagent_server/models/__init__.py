"""What comes in and what goes out, as Pydantic models."""

from dataagent_server.models.chat import ChatRequest, ChatResponse
from dataagent_server.models.common import ErrorResponse, WebSocketMessage
from dataagent_server.models.fields import Page
from dataagent_server.models.health import Health
from dataagent_server.models.mcp import MCPServerConfigRequest, MCPServerConfigResponse
from dataagent_server.models.session import MessageInfo, SessionInfo

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
