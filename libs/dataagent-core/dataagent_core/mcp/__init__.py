"""MCP servers: registration, catalogue, connections, and the calls of their tools.

`McpHub` is all of it for one process with a database; `MCPConnectionManager` serves programs
without one. Both call tools through `ToolGateway`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from dataagent_core.mcp.types import (
    Caller,
    CallFailure,
    CallOutcome,
    CatalogueTool,
    ConnectionStatus,
    Elicitation,
    ElicitationAnswer,
    Progress,
    RemoteResult,
    RemoteTool,
    ServerSpec,
)

if TYPE_CHECKING:
    from dataagent_core.mcp.manager import MCPConnectionManager
    from dataagent_core.mcp.servers.config_files import MCPConfig, MCPServerConfig

_LOADED_WHEN_ASKED_FOR = {
    "MCPConfig": "servers.config_files",
    "MCPConnectionManager": "manager",
    "MCPServerConfig": "servers.config_files",
}
"""By module: imported on first use, since they need LangChain or the settings."""

__all__ = [
    "CallFailure",
    "CallOutcome",
    "Caller",
    "CatalogueTool",
    "ConnectionStatus",
    "Elicitation",
    "ElicitationAnswer",
    "MCPConfig",
    "MCPConnectionManager",
    "MCPServerConfig",
    "Progress",
    "RemoteResult",
    "RemoteTool",
    "ServerSpec",
]


def __getattr__(name: str) -> object:
    if name not in _LOADED_WHEN_ASKED_FOR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LOADED_WHEN_ASKED_FOR[name]}"), name)
