"""What a conversation needs of the place that answers it. One interface, one file a kind.

`local.py` is the core in this process, `server.py` a DataAgent server. Errors are core's
`DataAgentError`s, whichever it is; what belongs to somebody else is not found.
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
    """A server answers this conversation, and this is not to be had through it."""

    code = "not_on_server"

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is done in this terminal's own process; here a server answers.")


@dataclass(frozen=True, slots=True)
class SkillSummary:
    """What can be put before a task. `source` is whose it is."""

    name: str
    description: str
    source: str


@dataclass(frozen=True, slots=True)
class AvailableSkills:
    """The skills there are, and a line for each that was left out."""

    known: tuple[SkillSummary, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """Who can answer. `model` is its own, if it has one."""

    name: str
    description: str
    model: str | None = None


@dataclass(frozen=True, slots=True)
class ToolSummary:
    """What an agent can call. `server` is the MCP server it comes from; None: not known to ask."""

    name: str
    description: str
    server: str | None = None
    asks: bool | None = None


@dataclass(frozen=True, slots=True)
class TokenCost:
    """Tokens, and what they cost if that is known."""

    input_tokens: int
    output_tokens: int
    cost: str | None = None


class Host(Protocol):
    """One person's conversations, and the runs in them."""

    @property
    def address(self) -> str | None:
        """The server's address; None in this process."""
        ...

    async def open(self, agent: str, session_id: str | None = None) -> Session:
        """A new session, or the one of that id; a fresh UUID begins one of that id.

        Raises:
            SessionNotFound: there is none of that id, or it is another user's.
        """
        ...

    async def recent(self, *, limit: int) -> list[Session]:
        """The latest sessions, newest first."""
        ...

    async def history(self, session_id: str, *, limit: int) -> History:
        """The last messages of a session, with what their runs said.

        Raises:
            SessionNotFound: as `open`.
        """
        ...

    async def check(self, message: str, *, agent: str) -> None:
        """Refuse a message that no session should be opened for.

        Raises:
            SkillNotFound: it names a skill that is not there.
        """
        ...

    async def start(
        self, session_id: str, message: str, *, agent: str, options: RunOptions
    ) -> StartedRun:
        """Send a message; it is kept when this returns.

        Raises:
            DataAgentError: it was not accepted.
        """
        ...

    def read(self, run_id: str, *, after: int) -> AsyncIterator[Entry]:
        """The run's events after a `seq`, live, until its end."""
        ...

    async def cancel(self, run_id: str) -> None:
        """Stop a run and wait for its end; one that has ended stays as it is."""
        ...

    async def decide(self, run_id: str, request_id: str, decision: Decision) -> None:
        """Answer an approval request.

        Raises:
            AlreadyDecided: it has another answer, or the run has ended.
        """
        ...

    async def active(self, session_id: str) -> Run | None:
        """The run that is under way in a session, if there is one."""
        ...

    async def rename(self, session_id: str, title: str) -> Session:
        """Give a session another title.

        Raises:
            SessionNotFound: as `open`.
        """
        ...

    async def compact(self, session_id: str, keep: str, *, options: RunOptions) -> StartedRun:
        """Put the older part of a conversation in short for the model; people still see it all.

        Raises:
            SessionBusy: a run is under way.
        """
        ...

    # -- what there is --------------------------------------------------------------------------

    async def skills(self, agent: str) -> AvailableSkills:
        """The skills that can be put before a task with an agent."""
        ...

    async def agents(self) -> list[AgentSummary]:
        """Who can answer."""
        ...

    async def tools(self, agent: str) -> list[ToolSummary]:
        """What an agent can call."""
        ...

    async def model(self) -> str:
        """The name of the model that answers when nobody chooses another."""
        ...

    async def token_cost(self, usage: dict[str, int]) -> TokenCost:
        """What a run's or a conversation's tokens come to."""
        ...

    async def token_cost_today(self) -> TokenCost:
        """What this person has used today (UTC)."""
        ...

    # -- in this process only -------------------------------------------------------------------

    async def check_model(self, name: str) -> None:
        """Refuse a model that could not answer.

        Raises:
            Misconfigured: there is none of that name, or its key or package is missing.
            NotOnServer: the server's administrators choose.
        """
        ...

    async def context_use(
        self, session_id: str | None, *, agent: str, model: str | None
    ) -> ContextUse:
        """What fills the model's window.

        Raises:
            NotOnServer: it can only be looked at here.
        """
        ...

    async def last_changes(self, session_id: str) -> list[Change]:
        """What the last turn that changed files did to them.

        Raises:
            NotOnServer: those are the server's files.
        """
        ...

    async def take_back(self, session_id: str) -> list[Change]:
        """Undo what `last_changes` tells.

        Raises:
            Conflict: somebody else has changed one of the files since.
            NotOnServer: as `last_changes`.
        """
        ...
