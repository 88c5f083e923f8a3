"""The conversation in this terminal: which session it is, and what was asked last.

Sits between the two ways of talking (`headless.py`, `interactive.py`) and core: it opens or finds
the session and hands each message to `turn.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_cli.arguments import DEFAULT_AGENT

if TYPE_CHECKING:
    from dataagent_cli.turn import TurnEnd, Turns
    from dataagent_core.config.state import SessionState
    from dataagent_core.runs.skills import Skills
    from dataagent_core.session.manager import SessionManager
    from dataagent_core.session.types import Session
    from dataagent_core.skills import Shelf

_RECENT = 50


class Conversation:
    """One person's conversation. Without an `assistant_id`, a session keeps the agent it has."""

    def __init__(
        self,
        sessions: SessionManager,
        turns: Turns,
        *,
        user_id: str,
        assistant_id: str | None,
        state: SessionState,
        skills: Skills | None = None,
    ) -> None:
        self._sessions = sessions
        self._turns = turns
        self._user_id = user_id
        self._assistant_id = assistant_id
        self._session: Session | None = None
        self._skills = skills
        self.state = state
        self.last_message: str | None = None

    @property
    def session_id(self) -> str | None:
        """The session's id, once there is one."""
        return self._session.session_id if self._session else None

    async def resume(self, session_id: str) -> None:
        """Go on with a session; a fresh UUID begins one of that id.

        Raises:
            SessionNotFound: there is none of that id, or it is another user's.
        """
        self._session = await self._sessions.get_or_create_session(
            self._user_id, self._assistant_id or DEFAULT_AGENT, session_id
        )

    async def resume_latest(self) -> bool:
        """Go on with the latest session, of this agent if one is named; False if there is none."""
        recent, _ = await self._sessions.list(owner=self._user_id, limit=_RECENT, offset=0)
        for session in recent:
            if self._assistant_id in (None, session.assistant_id):
                self._session = session
                return True
        return False

    def start_anew(self) -> None:
        """Leave the session; the next message opens a new one."""
        self._session = None
        self.last_message = None
        self.state.current_todos = []

    async def skills(self) -> Shelf | None:
        """What this person can put before a task, with the agent that would answer."""
        if self._skills is None:
            return None
        return await self._skills.list(owner=self._user_id, agent=self._agent)

    @property
    def _agent(self) -> str:
        """Who answers the next message."""
        mine = self._session.assistant_id if self._session else DEFAULT_AGENT
        return self._assistant_id or mine

    async def ask(self, message: str) -> TurnEnd:
        """Send a message and show the answer.

        Raises:
            DataAgentError: the message was not accepted.
        """
        if self._session is None:
            if self._skills is not None:  # a message that is refused leaves no session behind
                await self._skills.choose(message, owner=self._user_id, agent=self._agent)
            self._session = await self._sessions.get_or_create_session(
                self._user_id, self._assistant_id or DEFAULT_AGENT
            )
        self.last_message = message
        return await self._turns.take(
            self._session.session_id,
            message,
            assistant_id=self._agent,
        )
