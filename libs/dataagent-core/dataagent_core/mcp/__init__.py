"""MCP servers: registration, catalogue, connections, and the one way to call their tools.

`types.py` says what is spoken of; `hub.py` is all of it for one process, `gateway.py` the way to
call. Below them `pool.py` and `connection.py` keep connections, and `wire/` speaks with servers.
"""

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

__all__ = [
    "CallFailure",
    "CallOutcome",
    "Caller",
    "CatalogueTool",
    "ConnectionStatus",
    "Elicitation",
    "ElicitationAnswer",
    "Progress",
    "RemoteResult",
    "RemoteTool",
    "ServerSpec",
]
