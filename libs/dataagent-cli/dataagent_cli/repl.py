"""Puts a sitting at the terminal together: the line, its completion, its commands, and the loop.

Above: `main.py`, which knows who answers. Below: `repl_loop.py`, `input/`, `commands/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from dataagent_cli.commands import Command, CommandContext, builtin_commands
from dataagent_cli.commands.sessions import SESSIONS
from dataagent_cli.input.completion import LineCompleter
from dataagent_cli.input.dialogs import Dialogs
from dataagent_cli.input.history import open_history
from dataagent_cli.input.keyboard import Keyboard
from dataagent_cli.input.toolbar import toolbar_of
from dataagent_cli.repl_loop import ReplLoop
from dataagent_cli.resume import show_resumed

if TYPE_CHECKING:
    from dataagent_cli.conversation import Conversation
    from dataagent_cli.input.mentions import Mentions
    from dataagent_cli.streams import Streams
    from dataagent_cli.ui import View
    from dataagent_core.config import Prices


async def run_repl(
    conversation: Conversation,
    streams: Streams,
    view: View,
    commands: Iterable[Command],
    mentions: Mentions,
    *,
    home: Path,
    prices: Prices | None = None,
    picks_session: bool = False,
    on_keyboard: Callable[[Keyboard], None] | None = None,
) -> int:
    """Talk until the person leaves; the exit status.

    `picks_session` asks first which conversation to go on with. `on_keyboard` is told of the line,
    so that others can say something above it.
    """
    known = builtin_commands(*commands)
    completer = LineCompleter(known, conversation, mentions)
    toolbar = toolbar_of(conversation, model=await conversation.model(), prices=prices)
    keyboard = Keyboard(
        open_history(home / "history"),
        completer,
        state=conversation.state,
        toolbar=toolbar,
        early=streams.early,
    )
    if on_keyboard is not None:
        on_keyboard(keyboard)
    dialogs = Dialogs(is_interactive=streams.is_interactive)
    view.note(await _greeting(conversation))
    if picks_session:
        await SESSIONS.run(CommandContext(conversation, view, known, streams, dialogs), "")
    else:
        await show_resumed(conversation, view)
    return await ReplLoop(
        conversation, keyboard, view, known, streams, dialogs=dialogs, mentions=mentions
    ).run()


async def _greeting(conversation: Conversation) -> str:
    where = conversation.host.address
    who = await conversation.model()
    return f"DataAgent · {f'{where} · ' if where else ''}{who} · /help shows the commands"
