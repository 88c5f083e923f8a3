"""The MCP servers of this terminal: read from files, passed to the hub, watched while they connect.

Nothing waits for a server: one that does not connect is a warning, and the conversation goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataagent_cli.mcp.config_files import (
    config_locations,
    edit_config,
    with_server,
    without_server,
)
from dataagent_cli.mcp.trust import Trust, confirm_prompt, question
from dataagent_cli.project import working_folder
from dataagent_cli.ui.clean import one_line
from dataagent_core.errors import BadInput
from dataagent_core.mcp.servers.config_files import TIMEOUT_SECONDS, parse_config_file

if TYPE_CHECKING:
    from dataagent_cli.input.keyboard import Keyboard
    from dataagent_cli.mcp.config_files import ConfigLocation
    from dataagent_cli.streams import Streams
    from dataagent_cli.ui import View
    from dataagent_core.app.assembly import Core
    from dataagent_core.mcp.hub import McpHub, ReloadReport
    from dataagent_core.mcp.types import ConnectionStatus, ServerSpec


Confirm = Callable[[str], Awaitable[bool]]
"""Shows a question and returns whether the answer is yes."""
Say = Callable[[str], Awaitable[None]]
"""Prints a line, even while the user is typing."""
SETTLE_SECONDS = 15.0
_PATIENCE_SECONDS = 5.0  # beyond a server's own time-out


@dataclass(frozen=True, slots=True)
class ServerRow:
    """A server as `/mcp list` shows it."""

    spec: ServerSpec
    status: ConnectionStatus
    tools: int
    source: str


@dataclass(slots=True)
class _Loaded:
    specs: dict[str, ServerSpec] = field(default_factory=dict[str, "ServerSpec"])
    sources: dict[str, str] = field(default_factory=dict[str, str])


class TerminalServers:
    """The servers of the configuration files."""

    def __init__(
        self,
        hub: McpHub,
        locations: Iterable[ConfigLocation],
        trust: Trust,
        *,
        user_id: str,
        say: Say,
        confirm: Confirm | None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._hub = hub
        self._timeout_seconds = timeout_seconds
        self._locations = tuple(locations)
        self._trust = trust
        self._user_id = user_id
        self._confirm = confirm
        self._loaded = _Loaded()
        self._watching: asyncio.Task[None] | None = None
        self._say = say

    @property
    def own_file(self) -> Path:
        """The file to which servers are added."""
        return self._locations[0].path

    def report_above(self, keyboard: Keyboard, view: View) -> None:
        """Print messages above the line that is being typed, from now on."""

        async def say(text: str) -> None:
            await keyboard.print_above(lambda: view.note(text))

        self._say = say

    async def load(self) -> ReloadReport:
        """Read the files and pass their servers to the hub; only changed servers are restarted.

        Raises:
            BadInput: a required file does not exist.
        """
        loaded = _Loaded()
        for location in self._locations:
            await self._read(location, loaded)
        self._loaded = loaded
        report = await self._hub.reload(tuple(loaded.specs.values()))
        await self._stop_watching()
        self._watching = asyncio.create_task(self._watch(list(loaded.specs.values())))
        return report

    async def wait_connected(self, timeout_seconds: float = SETTLE_SECONDS) -> None:
        """Wait until each server is connected or has failed, before a single question."""
        if self._watching is not None:
            await asyncio.wait({self._watching}, timeout=timeout_seconds)

    async def rows(self) -> list[ServerRow]:
        """The servers by name, with their present status."""
        loaded = self._loaded
        return [
            ServerRow(
                spec,
                await self._hub.status_of(spec, user_id=self._user_id),
                len(self._hub.catalogue.tools_of(spec.server_id)),
                loaded.sources[name],
            )
            for name, spec in sorted(loaded.specs.items())
        ]

    def add(self, name: str, entry: dict[str, Any]) -> None:
        """Write a server into the user's own file.

        Raises:
            BadInput: there is one of that name, or the file is invalid.
        """
        edit_config(self.own_file, with_server(name, entry))

    def remove(self, name: str) -> None:
        """Remove a server from the user's own file.

        Raises:
            BadInput: it is not in the file, or the file is invalid.
        """
        edit_config(self.own_file, without_server(name))

    async def aclose(self) -> None:
        """Stop watching; the hub closes what is connected."""
        await self._stop_watching()

    # -- reading --------------------------------------------------------------------------------

    async def _read(self, location: ConfigLocation, into: _Loaded) -> None:
        try:
            content = location.path.read_bytes()
        except FileNotFoundError:
            if location.is_required:
                raise BadInput(f"There is no file {location.path}.") from None
            return
        except OSError as error:
            await self._say(f"warning: {location.path} cannot be read: {error.strerror}")
            return
        if not location.is_trusted and not await self._is_trusted(location.path, content):
            return
        file = parse_config_file(  # the content that was agreed to: the file may have changed
            content, location.path.name, expand=True, timeout_seconds=self._timeout_seconds
        )
        for problem in file.problems:
            await self._say(f"warning: {one_line(problem)}")
        for spec in file.servers:
            into.specs[spec.name] = spec
            into.sources[spec.name] = location.path.name

    async def _is_trusted(self, path: Path, content: bytes) -> bool:
        """Whether the project's file may be used; the user is asked once for each content."""
        if self._trust.is_trusted(path, content):
            return True
        servers = parse_config_file(content, path.name, expand=False).servers
        if not servers:
            return True
        if self._confirm is None:
            await self._say(
                f"warning: {path.name} of this folder is not trusted yet, so its servers are not "
                "used\nhint: start dataagent here once and say yes, or name it: --mcp-config "
                f"{path.name}"
            )
            return False
        if not await self._confirm(question(path, servers)):
            await self._say(f"{path.name} is not used; /mcp reload asks again")
            return False
        self._trust.trust(path, content)
        return True

    # -- watching -------------------------------------------------------------------------------

    async def _watch(self, specs: list[ServerSpec]) -> None:
        """Warn once of each server that does not connect."""
        waiting = {spec.name: spec for spec in specs if not spec.disabled}
        changed = asyncio.Event()
        stop = self._hub.listen(lambda _: changed.set())
        longest = max((spec.connect_timeout_seconds for spec in waiting.values()), default=0.0)
        try:
            async with asyncio.timeout(longest + _PATIENCE_SECONDS):
                while await self._still_waiting(waiting):
                    await changed.wait()
                    changed.clear()
        except TimeoutError:
            for spec in waiting.values():
                await self._warn(spec, "no answer in time")
        finally:
            stop()

    async def _still_waiting(self, waiting: dict[str, ServerSpec]) -> bool:
        for name, spec in list(waiting.items()):
            status = await self._hub.status_of(spec, user_id=self._user_id)
            if status.status == "error":
                await self._warn(spec, status.reason or status.state)
            if status.status in ("connected", "error"):
                del waiting[name]
        return bool(waiting)

    async def _warn(self, spec: ServerSpec, why: str) -> None:
        await self._say(
            f"warning: MCP server {one_line(spec.name)!r} is not connected: {one_line(why)}\n"
            f"hint: correct it in {self._loaded.sources.get(spec.name, 'its file')}; "
            "dataagent doctor tries it."
        )

    async def _stop_watching(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait({self._watching})
            self._watching = None


TRUST_FILE = "mcp-trust.json"


@asynccontextmanager
async def open_servers(
    core: Core,
    *,
    user_id: str,
    assistant_id: str,
    config_file: str | None,
    streams: Streams,
    view: View,
) -> AsyncGenerator[TerminalServers]:
    """Read the files; their servers connect while the conversation begins.

    Raises:
        BadInput: the `config_file` does not exist.
    """
    settings = core.settings
    files = config_locations(
        agents_home=settings.agents_home.expanduser(),
        assistant_id=assistant_id,
        folder=working_folder(),
        named=config_file,
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
