"""The interface to what answers a conversation: the core in this process, or a server.

Errors are core's `DataAgentError`s; what belongs to another user is not found.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dataagent_core.errors import DataAgentError

if TYPE_CHECKING:
    from dataagent_core.app.context_usage import ContextUse
    from dataagent_core.hitl import Decision
    from dataagent_core.runs.history import History
    from dataagent_core.runs.types import Entry, Run, RunOptions, StartedRun
    from dataagent_core.session.types import Session
    from dataagent_core.workspace.undo import Change


class UnsupportedOnServer(DataAgentError):
    """A server answers this conversation and does not offer this."""

    code = "not_on_server"

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not available with a server.")


@dataclass(frozen=True, slots=True)
class SkillSummary:
    """A skill in a list; `source` says who provides it."""

    name: str
    description: str
    source: str


@dataclass(frozen=True, slots=True)
class AvailableSkills:
    """The usable skills, and a line for each that was left out."""

    known: tuple[SkillSummary, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """An agent in a list; `model` is its own, if it has one."""

    name: str
    description: str
    model: str | None = None


@dataclass(frozen=True, slots=True)
class ToolSummary:
    """A tool in a list. `server` is its MCP server; `asks` is None if that is unknown."""

    name: str
    description: str
    server: str | None = None
    asks: bool | None = None


@dataclass(frozen=True, slots=True)
class TokenCost:
    """Tokens, and their cost if it is known."""

    input_tokens: int
    output_tokens: int
    cost: str | None = None


class Host(Protocol):
    """The user's conversations, and the runs in them."""

    @property
    def address(self) -> str | None:
        """The server's address; None in this process."""
        ...

    async def open(self, agent: str, session_id: str | None = None) -> Session:
        """A new session, or the one of that id; a new UUID opens a session of that id.

        Raises:
            SessionNotFound: there is none of that id, or it is another user's.
        """
        ...

    async def recent(self, *, limit: int) -> list[Session]:
        """The latest sessions, newest first."""
        ...

    async def history(self, session_id: str, *, limit: int) -> History:
        """The last messages of a session, with the events of their runs.

        Raises:
            SessionNotFound: as `open`.
        """
        ...

    async def check(self, message: str, *, agent: str) -> None:
        """Check a message before a session is opened for it.

        Raises:
            SkillNotFound: it names a skill that does not exist.
        """
        ...

    async def start(
        self, session_id: str, message: str, *, agent: str, options: RunOptions
    ) -> StartedRun:
        """Send a message; it is stored when this returns.

        Raises:
            DataAgentError: it was not accepted.
        """
        ...

    def read(self, run_id: str, *, after: int) -> AsyncIterator[Entry]:
        """The run's events after a `seq`, live, until its end."""
        ...

    async def cancel(self, run_id: str) -> None:
        """Cancel a run and wait for its end; a run that has ended is unchanged."""
        ...

    async def decide(self, run_id: str, request_id: str, decision: Decision) -> None:
        """Answer an approval request.

        Raises:
            AlreadyDecided: it has another decision, or the run has ended.
        """
        ...

    async def active(self, session_id: str) -> Run | None:
        """The active run of a session, if there is one."""
        ...

    async def rename(self, session_id: str, title: str) -> Session:
        """Set a session's title.

        Raises:
            SessionNotFound: as `open`.
        """
        ...

    async def compact(self, session_id: str, keep: str, *, options: RunOptions) -> StartedRun:
        """Summarise the older part of a conversation for the model; users still see all of it.

        Raises:
            SessionBusy: a run is active.
        """
        ...

    # -- lists ----------------------------------------------------------------------------------

    async def skills(self, agent: str) -> AvailableSkills:
        """The skills that can be used with an agent."""
        ...

    async def agents(self) -> list[AgentSummary]:
        """The agents that the user can choose."""
        ...

    async def tools(self, agent: str) -> list[ToolSummary]:
        """The tools of an agent."""
        ...

    async def model(self) -> str:
        """The name of the default model."""
        ...

    async def token_cost(self, usage: dict[str, int]) -> TokenCost:
        """The cost of some tokens."""
        ...

    async def token_cost_today(self) -> TokenCost:
        """The user's tokens of today (UTC), and their cost."""
        ...

    # -- in this process only -------------------------------------------------------------------

    async def check_model(self, name: str) -> None:
        """Check that a model can be used.

        Raises:
            Misconfigured: there is none of that name, or its key or package is missing.
            UnsupportedOnServer: the server's administrators choose it.
        """
        ...

    async def context_use(
        self, session_id: str | None, *, agent: str, model: str | None
    ) -> ContextUse:
        """What fills the model's context window.

        Raises:
            UnsupportedOnServer: a server does not report it.
        """
        ...

    async def last_changes(self, session_id: str) -> list[Change]:
        """The file changes of the last turn that made any.

        Raises:
            UnsupportedOnServer: those are the server's files.
        """
        ...

    async def take_back(self, session_id: str) -> list[Change]:
        """Undo the changes of `last_changes`.

        Raises:
            Conflict: one of the files has been changed since.
            UnsupportedOnServer: as `last_changes`.
        """
        ...
