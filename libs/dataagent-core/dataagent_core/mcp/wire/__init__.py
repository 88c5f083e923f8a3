"""One live session with a server, over any transport and either protocol era.

Only the files of this folder know the `mcp` package and its HTTP client; nothing here knows owners,
states or retries. Above: `connection.py` opens a `Port`, uses it and lets it go in one task. The
library is loaded when the first session is opened, not when DataAgent starts.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from dataagent_core.mcp.types import ServerSpec
from dataagent_core.mcp.wire.allowance import Allowances
from dataagent_core.mcp.wire.confinement import Confined, Confinement
from dataagent_core.mcp.wire.port import (
    OpenFailed,
    Port,
    SessionLost,
    Signals,
    WireLimits,
    innermost,
)
from dataagent_core.mcp.wire.stderr import Stderr
from dataagent_core.network import OpenHosts

__all__ = [
    "Allowances",
    "Confined",
    "Confinement",
    "OpenFailed",
    "Port",
    "SessionLost",
    "Signals",
    "Stderr",
    "WireLimits",
    "innermost",
    "open_port",
]

_OPENING = "dataagent_core.mcp.wire.opening"


@asynccontextmanager
async def open_port(
    spec: ServerSpec,
    *,
    hosts: OpenHosts,
    signals: Signals,
    stderr: Stderr,
    limits: WireLimits,
    confined: Confined | None = None,
) -> AsyncGenerator[Port]:
    """A session with the server, as long as the block lasts. Enter and leave it in one task.

    Raises:
        OpenFailed: there is no session to be had now.
    """
    opening: Any = await asyncio.to_thread(importlib.import_module, _OPENING)  # Any: loaded late
    async with opening.opened(
        spec, hosts=hosts, signals=signals, stderr=stderr, limits=limits, confined=confined
    ) as port:
        yield port
