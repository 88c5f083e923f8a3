"""Opens the servers of a conversation in the terminal, and closes them with it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from dataagent_cli.mcp.asking import asker
from dataagent_cli.mcp.places import places
from dataagent_cli.mcp.servers import Servers
from dataagent_cli.mcp.trust import Trust
from dataagent_cli.project import standing_in

if TYPE_CHECKING:
    from dataagent_cli.streams import Streams
    from dataagent_cli.ui import View
    from dataagent_core.app.assembly import Core

TRUST_FILE = "mcp-trust.json"


@asynccontextmanager
async def open_servers(
    core: Core,
    *,
    user_id: str,
    assistant_id: str,
    asked_for: str | None,
    streams: Streams,
    view: View,
) -> AsyncGenerator[Servers]:
    """Read the files; their servers connect while the conversation begins.

    Raises:
        BadInput: the file that was asked for is not there.
    """
    settings = core.settings
    files = places(
        agents_home=settings.agents_home.expanduser(),
        assistant_id=assistant_id,
        folder=standing_in(),
        asked_for=asked_for,
    )

    async def say(text: str) -> None:
        view.note(text)

    servers = Servers(
        core.mcp,
        files,
        Trust(settings.home_dir / TRUST_FILE),
        user_id=user_id,
        say=say,
        confirm=asker(streams) if streams.is_interactive else None,
        timeout_seconds=settings.mcp_timeout,
    )
    try:
        await servers.load()
        yield servers
    finally:
        await servers.aclose()
