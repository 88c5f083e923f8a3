"""What an owner sees of a session: the port itself, its signals, its limits, and how it fails."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Protocol, cast

from dataagent_core.errors import DataAgentError
from dataagent_core.mcp.types import (
    CallFailed,
    JsonObject,
    OnElicit,
    OnProgress,
    RemoteResult,
    RemoteTool,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WireLimits:
    """How much a server may say."""

    max_message_bytes: int = 16 * 1024 * 1024
    """Of one message: an answer above it fails its own call and nothing else."""
    max_pages: int = 50
    max_tools: int = 1000
    max_list_bytes: int = 5 * 1024 * 1024
    list_seconds: float = 30.0
    max_questions: int = 10
    """Rounds in which one call may ask the user something."""


class OpenFailed(Exception):
    """There is no session: why, in words for people, without secrets."""

    def __init__(self, reason: str, *, is_auth: bool = False, status: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_auth = is_auth
        """Whether the server wants other credentials."""
        self.status = status
        """What an HTTP server answered, if it did."""


class SessionLost(CallFailed):
    """A call failed because the server, or its memory of us, is gone."""


def innermost(error: BaseException) -> BaseException:
    """What really happened: transports run in groups, which wrap whatever passes through them."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast(BaseExceptionGroup[BaseException], error)  # of whatever kinds
    found = [innermost(one) for one in group.exceptions]
    return max(found, key=lambda one: isinstance(one, OpenFailed | CallFailed | DataAgentError))


class SessionSignals:
    """What a session tells its owner beside the answers to calls."""

    def __init__(self) -> None:
        self.lost: str | None = None
        """Why the session is over, once it is."""
        self.is_suspect = False
        """Something broke; whether the server still lives should be looked into now."""
        self.has_new_tools = False
        self._wake = asyncio.Event()

    def note_lost(self, reason: str) -> None:
        """The session is over."""
        if self.lost is None:
            self.lost = reason
        self._wake.set()

    def note_suspect(self) -> None:
        """Something broke."""
        self.is_suspect = True
        self._wake.set()

    def note_new_tools(self) -> None:
        """The server says that its tools are others now."""
        self.has_new_tools = True
        self._wake.set()

    def wake(self) -> None:
        """Wake the owner for a reason of its own."""
        self._wake.set()

    async def wait(self) -> None:
        """Until something is noted."""
        await self._wake.wait()
        self._wake.clear()


class McpSession(Protocol):
    """One live session. Its owner opens and closes it; calls of any task pass through."""

    @property
    def protocol_version(self) -> str:
        """What was agreed on."""
        ...

    @property
    def server_info(self) -> JsonObject | None:
        """Name and version, if the server told. Untrusted."""
        ...

    @property
    def is_modern(self) -> bool:
        """Whether it speaks the 2026 protocol: no session, no ping."""
        ...

    async def list_tools(self) -> tuple[RemoteTool, ...]:
        """All its tools, page by page.

        Raises:
            CallFailed: it does not answer, or answers too much.
        """
        ...

    async def call(
        self,
        name: str,
        arguments: JsonObject,
        *,
        on_progress: OnProgress | None = None,
        on_elicit: OnElicit | None = None,
        trace_id: str = "",
    ) -> RemoteResult:
        """Call a tool. Without end of its own: whoever cancels it tells the server to stop.

        Raises:
            CallFailed: there is no result.
        """
        ...

    async def probe(self) -> None:
        """Ask for a sign of life.

        Raises:
            CallFailed: there is none.
        """
        ...
