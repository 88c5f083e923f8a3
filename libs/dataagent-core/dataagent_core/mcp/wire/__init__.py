"""Sessions with MCP servers, over any transport and either protocol era.

Only this package imports the `mcp` SDK and its HTTP client; it knows nothing of owners, states or
retries. The SDK is imported when the first session is opened, not when DataAgent starts.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from dataagent_core.mcp.types import ServerSpec
from dataagent_core.mcp.wire.confinement import ConfinedCommand, Confinement, ProcessLimiter
from dataagent_core.mcp.wire.interface import (
    McpSession,
    OpenFailed,
    SessionLost,
    SessionSignals,
    WireLimits,
    innermost,
)
from dataagent_core.mcp.wire.process import Stderr
from dataagent_core.network import HostPolicy

__all__ = [
    "ConfinedCommand",
    "Confinement",
    "McpSession",
    "OpenFailed",
    "ProcessLimiter",
    "SessionLost",
    "SessionSignals",
    "Stderr",
    "WireLimits",
    "innermost",
    "open_session",
]

_CONNECT_MODULE = "dataagent_core.mcp.wire.connect"


@asynccontextmanager
async def open_session(
    spec: ServerSpec,
    *,
    hosts: HostPolicy,
    signals: SessionSignals,
    stderr: Stderr,
    limits: WireLimits,
    confined: ConfinedCommand | None = None,
) -> AsyncGenerator[McpSession]:
    """Open a session for as long as the block lasts. Enter and leave it in one task.

    Raises:
        OpenFailed: there is no session to be had now.
    """
    module: Any = await asyncio.to_thread(
        importlib.import_module, _CONNECT_MODULE
    )  # Any: loaded late
    async with module.connect(
        spec, hosts=hosts, signals=signals, stderr=stderr, limits=limits, confined=confined
    ) as session:
        yield session
