"""`/sessions` and `/resume`: the conversations there are, and going on with one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome
from dataagent_cli.resume import short_time, show_resumed
from dataagent_cli.ui.clean import one_line
from dataagent_cli.ui.table import Heading, draw

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dataagent_cli.conversation import Conversation
    from dataagent_core.session.types import Session

_SHOWN = 20
_HEADINGS = (
    Heading("#", is_number=True),
    Heading("Title"),
    Heading("Last used"),
    Heading("Messages", is_number=True),
    Heading("ID", is_whole=True),
)


async def _sessions(context: CommandContext, _: str) -> CommandOutcome:
    found = await context.conversation.recent()
    if not found:
        context.view.note("there is no earlier conversation")
        return CommandOutcome()
    rows = await rows_of(context.conversation, found[:_SHOWN])
    if context.dialogs.is_interactive:
        return await _pick(context, found, rows)
    context.streams.print(draw(_HEADINGS, rows, width=context.streams.width))
    context.view.note("hint: /resume NUMBER goes on with one.")
    return CommandOutcome()


async def _resume(context: CommandContext, which: str) -> CommandOutcome:
    if not which:
        return await _sessions(context, "")
    await context.conversation.resume(which)
    await show_resumed(context.conversation, context.view)
    return CommandOutcome()


async def _pick(
    context: CommandContext, found: list[Session], rows: list[tuple[str, ...]]
) -> CommandOutcome:
    drawn = [f"{title}  ({when}, {count} messages)" for _, title, when, count, _ in rows]
    chosen = await context.dialogs.pick("Go on with which conversation?", drawn)
    if chosen is None:
        return CommandOutcome()
    return await _resume(context, found[chosen].session_id)


async def rows_of(conversation: Conversation, found: list[Session]) -> list[tuple[str, ...]]:
    """Conversations as lines of a table."""
    pages = await asyncio.gather(
        *(conversation.host.history(each.session_id, limit=1) for each in found)
    )
    return [
        (
            str(number),
            one_line(session.title)
            + (" *" if session.session_id == conversation.session_id else ""),
            short_time(session.last_active),
            str(page.total),
            session.thread_id,
        )
        for number, (session, page) in enumerate(zip(found, pages, strict=True), 1)
    ]


async def _words(conversation: Conversation) -> Iterable[tuple[str, str]]:
    return [
        (each.thread_id, f"{one_line(each.title)} · {short_time(each.last_active)}")
        for each in await conversation.recent()
    ]


SESSIONS = Command("sessions", "list the conversations, and go on with one", _sessions)
RESUME = Command("resume", "go on with a conversation", _resume, takes="[NUMBER|ID]", words=_words)
