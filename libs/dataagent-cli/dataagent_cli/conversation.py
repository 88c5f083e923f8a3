"""The conversation in this terminal: which session it is, and what was asked last.

Sits between the two ways of talking (`headless.py`, `repl_loop.py`) and a host: it opens or finds
the session and hands each message to `turn.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_cli.arguments import DEFAULT_AGENT
from dataagent_core.errors import BadInput, DataAgentError, SessionNotFound
from dataagent_core.events import DoneEvent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataagent_cli.hosts import AvailableSkills, Host
    from dataagent_cli.turn import TurnEnd, TurnRunner
    from dataagent_core.config.state import SessionState
    from dataagent_core.runs.history import History, HistoryItem
    from dataagent_core.session.types import Session

RECENT = 50
_ALL = 1000
_SHORTEST_PREFIX = 4


class Conversation:
    """One person's conversation. Without an `agent`, a session keeps the one it has."""

    def __init__(
        self, host: Host, turns: TurnRunner, *, agent: str | None, state: SessionState
    ) -> None:
        self._turns = turns
        self._agent = agent
        self._session: Session | None = None
        self.host = host
        self.state = state
        self.last_message: str | None = None
        self.chosen_model: str | None = None
        self.pending_attachments: list[str] = []
        """What goes along with the next message: output of the person's own commands."""

    # -- which one ------------------------------------------------------------------------------

    @property
    def session(self) -> Session | None:
        """The session, once there is one."""
        return self._session

    @property
    def session_id(self) -> str | None:
        """The session's id, once there is one."""
        return self._session.session_id if self._session else None

    def require_session_id(self) -> str:
        """The session's id.

        Raises:
            BadInput: nothing was asked yet.
        """
        if self._session is None:
            raise BadInput("Nothing was asked yet.", details={"hint": "ask something first."})
        return self._session.session_id

    async def recent(self) -> list[Session]:
        """The latest sessions, newest first, of this agent if one is named."""
        found = await self.host.recent(limit=RECENT)
        return [each for each in found if self._agent in (None, each.assistant_id)]

    async def resume(self, which: str) -> None:
        """Go on with a session: by its number among the latest, its id or the start of it.

        A fresh UUID begins one of that id.

        Raises:
            SessionNotFound: there is none of that kind, or it is another user's.
        """
        found = _find_session(await self.host.recent(limit=RECENT), which)
        self._switch_to(found or await self.host.open(self._agent or DEFAULT_AGENT, which))

    async def resume_latest(self) -> bool:
        """Go on with the latest session, of this agent if one is named; False if there is none."""
        latest = next(iter(await self.recent()), None)
        if latest is None:
            return False
        self._switch_to(latest)
        return True

    def _switch_to(self, session: Session) -> None:
        self.start_new()
        self._set_session(session)

    def _set_session(self, session: Session) -> None:
        self._session = session
        self.state.thread_id = session.thread_id

    def start_new(self) -> None:
        """Leave the session; the next message opens a new one."""
        self._session = None
        self.last_message = None
        self.pending_attachments = []
        self.state.current_todos = []

    async def rename(self, title: str) -> str:
        """Give the session another title; the title it has now.

        Raises:
            BadInput: nothing was asked yet.
        """
        self._session = await self.host.rename(self.require_session_id(), title)
        return self._session.title

    # -- who answers ----------------------------------------------------------------------------

    @property
    def agent(self) -> str:
        """Who answers the next message."""
        mine = self._session.assistant_id if self._session else DEFAULT_AGENT
        return self._agent or mine

    def choose_agent(self, name: str) -> None:
        """Let another agent answer from now on."""
        self._agent = name

    async def model(self) -> str:
        """The name of the model that answers, unless the agent has one of its own."""
        return self.chosen_model or await self.host.model()

    async def choose_model(self, name: str) -> None:
        """Let another model answer from now on.

        Raises:
            Misconfigured: it could not.
            NotOnServer: a server answers.
        """
        await self.host.check_model(name)
        self.chosen_model = name

    async def skills(self) -> AvailableSkills:
        """What this person can put before a task, with the agent that would answer."""
        return await self.host.skills(self.agent)

    # -- what is said ---------------------------------------------------------------------------

    async def ask(self, message: str, attachments: Sequence[str] = ()) -> TurnEnd:
        """Send a message, with what goes along with it, and show the answer.

        Raises:
            DataAgentError: the message was not accepted; what waits to go along still waits.
        """
        self.last_message = message
        waiting = self.pending_attachments
        said = "\n\n".join([message, *waiting, *attachments])
        if self._session is None:  # a message that is refused leaves no session behind
            await self.host.check(said, agent=self.agent)
            session = await self.host.open(self.agent)
            self._set_session(session)
        else:
            session = self._session
        self.pending_attachments = []
        try:
            return await self._turns.take(
                session.session_id, said, agent=self.agent, model=self.chosen_model
            )
        except DataAgentError:
            self.pending_attachments = waiting
            raise

    async def compact(self, keep: str) -> TurnEnd:
        """Put the older part in short for the model, and show what it is.

        Raises:
            BadInput: nothing was asked yet.
            SessionBusy: a run is under way.
        """
        return await self._turns.compact(self.require_session_id(), keep, model=self.chosen_model)

    async def resume_run(self) -> TurnEnd | None:
        """Show the run that is still under way in the session, if there is one, to its end."""
        run = None if self._session is None else await self.host.active(self._session.session_id)
        return None if run is None else await self._turns.follow(run)

    async def history(self, *, limit: int = _ALL) -> History:
        """What was said.

        Raises:
            BadInput: nothing was asked yet.
        """
        return await self.host.history(self.require_session_id(), limit=limit)

    async def usage(self) -> dict[str, int]:
        """The tokens of the whole conversation."""
        if self._session is None:
            return {}
        return token_usage((await self.history()).items)


def token_usage(items: Sequence[HistoryItem]) -> dict[str, int]:
    """The tokens that some messages' runs have used."""
    total: dict[str, int] = {}
    ends = [each.entries[-1].event for each in items if each.entries]
    for end in ends:
        usage = end.token_usage if isinstance(end, DoneEvent) else None
        for name, count in (usage or {}).items():
            total[name] = total.get(name, 0) + count
    return total


def _find_session(recent: Sequence[Session], which: str) -> Session | None:
    """The session that a person means by a number, an id or the start of one.

    Raises:
        SessionNotFound: there are fewer, or the start fits several.
    """
    if which.isdigit() and len(which) < _SHORTEST_PREFIX:
        if not 0 < int(which) <= len(recent):
            raise SessionNotFound(f"There is no conversation number {which}.")
        return recent[int(which) - 1]
    if len(which) < _SHORTEST_PREFIX:
        return None
    found = [each for each in recent if which == each.thread_id] or [
        each for each in recent if each.session_id.startswith(which.lower())
    ]
    if len(found) > 1:
        raise SessionNotFound(f"{len(found)} conversations begin with {which!r}. Type more of it.")
    return next(iter(found), None)
