"""A server as people see it: how it is reached, how it is, and which tools it has.

Above: `service.py`, `administration.py`, `trial.py`. Below: `hub.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dataagent_core.mcp.types import CatalogueTool, ConnectionStatus, ServerSpec

if TYPE_CHECKING:
    from dataagent_core.mcp.hub import McpHub


@dataclass(frozen=True, slots=True)
class ServerView:
    """A server as someone sees it: how it is, and which tools it has."""

    spec: ServerSpec
    status: ConnectionStatus
    tools: tuple[CatalogueTool, ...] = ()
    has_credentials: bool = False
    """Whether the user brings credentials of their own to a shared server."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of trying a server out."""

    view: ServerView
    is_ready: bool
    duration_ms: float


async def view_of(
    hub: McpHub, spec: ServerSpec, *, user_id: str, has_credentials: bool = False
) -> ServerView:
    """A server with its status and its tools."""
    status = await hub.status_of(spec, user_id=user_id)
    return ServerView(spec, status, await tools_of(hub, spec), has_credentials)


async def tools_of(hub: McpHub, spec: ServerSpec) -> tuple[CatalogueTool, ...]:
    """A server's tools; of one that nobody has connected to here, as they were last seen."""
    found = hub.catalogue.tools_of(spec.server_id)
    if not found and spec.scope == "user":
        found = await hub.catalogue.list(server_id=spec.server_id)
    return tuple(tool for tool in found if tool.status != "removed")
