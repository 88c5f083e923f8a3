"""Opens the servers of a conversation in the terminal, and closes them with it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from dataagent_cli.mcp.config_locations import config_locations
from dataagent_cli.mcp.confirm import confirm_prompt
from dataagent_cli.mcp.servers import TerminalServers
from dataagent_cli.mcp.trust import Trust
from dataagent_cli.project import working_folder

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
) -> AsyncGenerator[TerminalServers]:
    """Read the files; their servers connect while the conversation begins.

    Raises:
        BadInput: the file that was asked for is not there.
    """
    settings = core.settings
    files = config_locations(
        agents_home=settings.agents_home.expanduser(),
        assistant_id=assistant_id,
        folder=working_folder(),
        asked_for=asked_for,
    )

    async def say(text: str) -> None:
        view.note(text)

    servers = TerminalServers(
        core.mcp,
        files,
        Trust(settings.home_dir / TRUST_FILE),
        user_id=user_id,
        say=say,
        confirm=confirm_prompt(streams) if streams.is_interactive else None,
        timeout_seconds=settings.mcp_timeout,
    )
    try:
        await servers.load()
        yield servers
    finally:
        await servers.aclose()
