"""A conversation that is gone on with: what was said in it, and what became of its last run.

The events of earlier runs go through the same view as live ones, so they look the same. A run that
is still under way, here or in another process, is taken up; one that died with its process is said
to have. Above: `main.py`, `commands/sessions.py`. Below: `conversation.py`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dataagent_cli.ui.clean import printable
from dataagent_core.events import DoneEvent, HITLRequestEvent, ThinkingEvent

if TYPE_CHECKING:
    from dataagent_cli.conversation import Conversation
    from dataagent_cli.ui import View
    from dataagent_core.runs.history import History, HistoryItem

_SHOWN = 6  # messages
_MOST_LINES = 12  # of a message of the person's own
_PATIENCE_SECONDS = 10.0
_CUT_OFF = {
    "failed": "the last answer was cut off or failed; what it said is kept",
    "cancelled": "the last answer was stopped",
}


async def show_resumed(conversation: Conversation, view: View) -> None:
    """Show the end of the conversation and take up what is under way in it.

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
        view.note("an answer is still under way: it is taken up here")
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
    """When it was, as short as it can be said: the time of today, else the day."""
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
    if last is not None and (said := _CUT_OFF.get(last.status)):
        view.note(f"{said}\nhint: /retry sends the message again.")
