"""The conversation in this terminal: its session, its last message, and showing a resumed one.

Events of earlier runs go through the same view as live ones, so that they look the same. A run that
is still active, here or in another process, is followed to its end.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dataagent_cli.arguments import DEFAULT_AGENT
from dataagent_cli.ui.clean import printable
from dataagent_core.errors import BadInput, DataAgentError, SessionNotFound
from dataagent_core.events import DoneEvent, HITLRequestEvent, ThinkingEvent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataagent_cli.hosts import AvailableSkills, Host
    from dataagent_cli.turn import TurnEnd, TurnRunner
    from dataagent_cli.ui import View
    from dataagent_core.config.state import SessionState
    from dataagent_core.runs.history import History, HistoryItem
    from dataagent_core.session.types import Session


RECENT = 50
_ALL = 1000
_SHORTEST_PREFIX = 4


class Conversation:
    """The user's conversation. Without an `agent`, a session has its own."""

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
        """Output of shell commands, attached to the next message."""

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
            BadInput: there is none yet.
        """
        if self._session is None:
            raise BadInput(
                "There is no conversation yet.", details={"hint": "send a message first."}
            )
        return self._session.session_id

    async def recent(self) -> list[Session]:
        """The latest sessions, newest first; of the agent, if one was chosen."""
        found = await self.host.recent(limit=RECENT)
        return [each for each in found if self._agent in (None, each.assistant_id)]

    async def resume(self, which: str) -> None:
        """Continue a session by its number among the latest, its id or the start of its id.

        A new UUID starts a session of that id.

        Raises:
            SessionNotFound: there is no such session, or it is another user's.
        """
        found = _find_session(await self.host.recent(limit=RECENT), which)
        self._switch_to(found or await self.host.open(self._agent or DEFAULT_AGENT, which))

    async def resume_latest(self) -> bool:
        """Continue the latest session of `recent`; False if there is none."""
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
        """Leave the session; the next message opens another."""
        self._session = None
        self.last_message = None
        self.pending_attachments = []
        self.state.current_todos = []

    async def rename(self, title: str) -> str:
        """Set the session's title and return it as stored.

        Raises:
            BadInput: there is no session yet.
        """
        self._session = await self.host.rename(self.require_session_id(), title)
        return self._session.title

    # -- who answers ----------------------------------------------------------------------------

    @property
    def agent(self) -> str:
        """The agent that answers the next message."""
        own = self._session.assistant_id if self._session else DEFAULT_AGENT
        return self._agent or own

    def choose_agent(self, name: str) -> None:
        """Let another agent answer from now on."""
        self._agent = name

    async def model(self) -> str:
        """The name of the model that answers, unless the agent has one of its own."""
        return self.chosen_model or await self.host.model()

    async def choose_model(self, name: str) -> None:
        """Let another model answer from now on.

        Raises:
            Misconfigured: the model cannot be used.
            UnsupportedOnServer: a server answers.
        """
        await self.host.check_model(name)
        self.chosen_model = name

    async def skills(self) -> AvailableSkills:
        """The skills of the user with the current agent."""
        return await self.host.skills(self.agent)

    # -- what is said ---------------------------------------------------------------------------

    async def ask(self, message: str, attachments: Sequence[str] = ()) -> TurnEnd:
        """Send a message with its attachments, and show the answer.

        Raises:
            DataAgentError: the message was not accepted; pending attachments stay pending.
        """
        self.last_message = message
        pending = self.pending_attachments
        text = "\n\n".join([message, *pending, *attachments])
        if self._session is None:  # a message that is rejected opens no session
            await self.host.check(text, agent=self.agent)
            session = await self.host.open(self.agent)
            self._set_session(session)
        else:
            session = self._session
        self.pending_attachments = []
        try:
            return await self._turns.take(
                session.session_id, text, agent=self.agent, model=self.chosen_model
            )
        except DataAgentError:
            self.pending_attachments = pending
            raise

    async def compact(self, keep: str) -> TurnEnd:
        """Summarise the older part for the model, and show the summary.

        Raises:
            BadInput: there is no session yet.
            SessionBusy: a run is active.
        """
        return await self._turns.compact(self.require_session_id(), keep, model=self.chosen_model)

    async def resume_run(self) -> TurnEnd | None:
        """Show the session's active run to its end; None if there is none."""
        run = None if self._session is None else await self.host.active(self._session.session_id)
        return None if run is None else await self._turns.follow(run)

    async def history(self, *, limit: int = _ALL) -> History:
        """The session's messages with their events.

        Raises:
            BadInput: there is no session yet.
        """
        return await self.host.history(self.require_session_id(), limit=limit)

    async def usage(self) -> dict[str, int]:
        """The tokens of the whole conversation."""
        if self._session is None:
            return {}
        return token_usage((await self.history()).items)


def token_usage(items: Sequence[HistoryItem]) -> dict[str, int]:
    """The tokens used by the runs of these messages."""
    total: dict[str, int] = {}
    ends = [each.entries[-1].event for each in items if each.entries]
    for end in ends:
        usage = end.token_usage if isinstance(end, DoneEvent) else None
        for name, count in (usage or {}).items():
            total[name] = total.get(name, 0) + count
    return total


def _find_session(recent: Sequence[Session], which: str) -> Session | None:
    """The session with a number, an id or the start of an id.

    Raises:
        SessionNotFound: there are fewer sessions, or several ids start so.
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


_SHOWN = 6  # messages
_MOST_LINES = 12  # of the user's message
_PATIENCE_SECONDS = 10.0
_CUT_OFF = {
    "failed": "the last answer failed or was interrupted; its text is stored",
    "cancelled": "the last answer was stopped",
}


async def show_resumed(conversation: Conversation, view: View) -> None:
    """Show the end of the conversation, and follow its active run.

    Raises:
        DataAgentError: the host does not answer.
    """
    session = conversation.session
    if session is None:
        return
    history = await conversation.history(limit=_SHOWN)
    items = history.items
    is_running = bool(items) and items[-1].message.status == "running"
    shown = items[:-1] if is_running else items
    view.note(_title(session.title, history))
    for each in shown:
        _show(each, view)
    asked = [each.message.content for each in items if each.message.role == "user"]
    conversation.last_message = asked[-1] if asked else None
    if is_running:
        view.note("an answer is still running: it is shown here")
        taken = await conversation.resume_run()
        history = await conversation.history(limit=1)
        if taken is None:  # it has ended in between: what it said has not been shown yet
            _show(history.items[-1], view)
    _note_last_status(history, view)


async def wait_for_recovery(conversation: Conversation) -> None:
    """Wait until a run that died with its process has its end, so that a message is taken.

    One that is still alive, elsewhere, is not waited for: the message is refused because of it.
    """
    session_id = conversation.session_id
    run = None if session_id is None else await conversation.host.active(session_id)
    if run is None or run.status == "waiting":
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE_SECONDS):
            async for _ in conversation.host.read(run.run_id, after=0):
                continue


def short_time(moment: datetime) -> str:
    """The time of a moment of today, else its day."""
    local, now = moment.astimezone(), datetime.now(UTC).astimezone()
    return f"{local:%H:%M}" if local.date() == now.date() else f"{local:%Y-%m-%d}"


def _title(title: str, history: History) -> str:
    earlier = history.total - len(history.items)
    more = f" · {earlier} earlier messages are not shown" if earlier > 0 else ""
    return f"{printable(title)} · {history.total} messages{more}"


def _show(item: HistoryItem, view: View) -> None:
    if item.message.role == "user":
        view.note(f"❯ {_shortened(printable(item.message.content))}")
        return
    view.begin()
    for entry in item.entries:
        if not isinstance(entry.event, DoneEvent | HITLRequestEvent | ThinkingEvent):
            view.show(entry)
    view.pause()


def _shortened(text: str) -> str:
    lines = text.split("\n")
    if len(lines) <= _MOST_LINES:
        return text
    return "\n".join([*lines[:_MOST_LINES], f"… {len(lines) - _MOST_LINES} more lines"])


def _note_last_status(history: History, view: View) -> None:
    last = history.items[-1].message if history.items else None
    if last is not None and (note := _CUT_OFF.get(last.status)):
        view.note(f"{note}\nhint: /retry sends the message again.")
