"""The interface of sessions: the session itself, its signals, its limits and its failures."""

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
    """How much a server may send."""

    max_message_bytes: int = 16 * 1024 * 1024
    """Of one message: an answer above it fails its own call and nothing else."""
    max_pages: int = 50
    max_tools: int = 1000
    max_list_bytes: int = 5 * 1024 * 1024
    list_seconds: float = 30.0
    max_questions: int = 10
    """Rounds in which one call may ask the user something."""


class OpenFailed(Exception):
    """A session could not be opened. The reason is for people and contains no secret."""

    def __init__(self, reason: str, *, is_auth: bool = False, status: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_auth = is_auth
        """Whether the server wants other credentials."""
        self.status = status
        """What an HTTP server answered, if it did."""


class SessionLost(CallFailed):
    """A call failed because the server, or its session state, is gone."""


def innermost(error: BaseException) -> BaseException:
    """Return the cause inside exception groups: transports run in task groups, which wrap
    errors.
    """
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast(BaseExceptionGroup[BaseException], error)  # of whatever kinds
    found = [innermost(one) for one in group.exceptions]
    return max(found, key=lambda one: isinstance(one, OpenFailed | CallFailed | DataAgentError))


class SessionSignals:
    """What a session signals to its owner."""

    def __init__(self) -> None:
        self.lost: str | None = None
        """Why the session is over, once it is."""
        self.is_suspect = False
        """Something broke; whether the server still lives should be looked into now."""
        self.has_new_tools = False
        self._wake = asyncio.Event()

    def note_lost(self, reason: str) -> None:
        """Signal that the session has ended."""
        if self.lost is None:
            self.lost = reason
        self._wake.set()

    def note_suspect(self) -> None:
        """Signal that something broke."""
        self.is_suspect = True
        self._wake.set()

    def note_new_tools(self) -> None:
        """Signal that the server's tools have changed."""
        self.has_new_tools = True
        self._wake.set()

    def wake(self) -> None:
        """Wake the owner for another reason."""
        self._wake.set()

    async def wait(self) -> None:
        """Wait for a signal."""
        await self._wake.wait()
        self._wake.clear()


class McpSession(Protocol):
    """A live session. Its owner opens and closes it; any task may call."""

    @property
    def protocol_version(self) -> str:
        """The negotiated version."""
        ...

    @property
    def server_info(self) -> JsonObject | None:
        """The server's name and version, if it sent them. Untrusted."""
        ...

    @property
    def is_modern(self) -> bool:
        """Whether it speaks the 2026 protocol, without sessions and ping."""
        ...

    async def list_tools(self) -> tuple[RemoteTool, ...]:
        """Return all tools, reading page by page.

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
        """Call a tool, without a deadline: cancelling the call tells the server to stop.

        Raises:
            CallFailed: there is no result.
        """
        ...

    async def probe(self) -> None:
        """Check that the server responds.

        Raises:
            CallFailed: there is none.
        """
        ...
