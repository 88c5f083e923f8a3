"""MCP servers: registration, catalogue, connections, and the one way to call their tools.

`types.py` says what is spoken of; `hub.py` is all of it for one process, `manager.py` what a
program without a database has, `gateway.py` the way to call. Below them `pool.py` and
`connection.py` keep connections, and `wire/` speaks with servers.
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
"""By module: they need LangChain or the settings, and whoever speaks of servers does not."""

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
