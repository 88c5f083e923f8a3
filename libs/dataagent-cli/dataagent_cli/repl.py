"""The conversation at a terminal: reads a line, runs a command or sends a message, and repeats."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dataagent_cli import exit_codes
from dataagent_cli.commands import (
    CommandContext,
    CommandOutcome,
    Commands,
    LocalContext,
    builtin_commands,
)
from dataagent_cli.commands.conversation import list_sessions
from dataagent_cli.commands.registry import command_name, is_command
from dataagent_cli.conversation import show_resumed
from dataagent_cli.data.files import CannotWrite
from dataagent_cli.external_programs import attachment, run_command
from dataagent_cli.failures import explain_line
from dataagent_cli.input.completion import LineCompleter
from dataagent_cli.input.dialogs import Dialogs
from dataagent_cli.input.keyboard import Keyboard, open_history, toolbar_of
from dataagent_cli.interrupts import run_stoppable
from dataagent_core.errors import DataAgentError
from dataagent_core.models.directives import is_directive

if TYPE_CHECKING:
    from dataagent_cli.conversation import Conversation
    from dataagent_cli.input.mentions import Mentions
    from dataagent_cli.streams import Streams
    from dataagent_cli.turn import TurnEnd
    from dataagent_cli.ui import View
    from dataagent_core.config import Prices


logger = logging.getLogger(__name__)


class ReplLoop:
    """One conversation at the terminal, until the user leaves."""

    def __init__(
        self,
        conversation: Conversation,
        keyboard: Keyboard,
        view: View,
        commands: Commands,
        streams: Streams,
        *,
        dialogs: Dialogs | None = None,
        mentions: Mentions | None = None,
        local: LocalContext | None = None,
    ) -> None:
        """Without `dialogs` nothing is confirmed; without `mentions` an `@` means nothing.

        `local` is None when a server answers.
        """
        self._mentions = mentions
        self._streams = streams
        self._conversation = conversation
        self._keyboard = keyboard
        self._view = view
        self._commands = commands
        self._context = CommandContext(
            conversation,
            view,
            commands,
            streams,
            dialogs or Dialogs(is_interactive=False),
            local,
        )

    async def choose_session(self) -> None:
        """Let the user choose the conversation to continue."""
        await list_sessions.run(self._context, "")

    async def run(self) -> int:
        """Run until `/quit`, Ctrl-D, or Ctrl-C twice; return the exit status."""
        is_leaving, text = False, ""
        while True:
            try:
                line = await self._keyboard.read(text)
            except EOFError:
                break
            except KeyboardInterrupt:
                if is_leaving:
                    break
                is_leaving, text = True, ""
                self._view.note("hint: press Ctrl-C again to quit.")
                continue
            outcome = await self._handle_line(line) if line else CommandOutcome()
            is_leaving, text = False, outcome.text
            if outcome.is_end:
                break
        if self._conversation.session_id:
            where = self._conversation.host.address
            server = f"--server {where} " if where else ""
            self._view.note(
                f"hint: continue with: dataagent {server}--resume {self._conversation.session_id}"
            )
        return exit_codes.OK

    async def _handle_line(self, line: str) -> CommandOutcome:
        """Run a line; an error is shown, and the loop goes on."""
        try:
            return await self._run_line(line)
        except (DataAgentError, CannotWrite, OSError) as error:
            if isinstance(error, OSError):
                logger.warning("a line failed", exc_info=error)
            self._view.note(explain_line(error).text)
            return CommandOutcome()

    async def _run_line(self, line: str) -> CommandOutcome:
        """Run a command, or ask. Ctrl-C stops either."""
        outcome = await run_stoppable(self._interpret(line))
        if outcome.message is None:
            return outcome
        return CommandOutcome(text=await self._ask(outcome.message), is_end=outcome.is_end)

    async def _interpret(self, line: str) -> CommandOutcome:
        """Run a command, ours or the shell's; any other line is a message."""
        if line.startswith("!") and not await self._is_directive(line):
            await self._shell(line.removeprefix("!").strip())
            return CommandOutcome()
        return await self._command(line) if is_command(line) else CommandOutcome(message=line)

    async def _command(self, line: str) -> CommandOutcome:
        found = self._commands.parse(line)
        if found is None:
            return await self._skill(line)
        command, rest = found
        return await command.run(self._context, rest)

    async def _skill(self, line: str) -> CommandOutcome:
        """Send a line that begins with a skill; suggest a name for any other."""
        names = [each.name for each in (await self._conversation.skills()).known]
        if command_name(line) in names:
            return CommandOutcome(message=line)
        near = self._commands.nearest(line, names)
        hint = f"did you mean /{near}?" if near else "/help shows the commands, /skills the skills."
        self._view.note(f"unknown command {line.split(maxsplit=1)[0]}\nhint: {hint}")
        return CommandOutcome()

    async def _is_directive(self, line: str) -> bool:
        """Whether a line is for the scripted model, whose directives look like shell commands."""
        return is_directive(line) and await self._conversation.model() == "scripted"

    async def _shell(self, command: str) -> None:
        """Run a shell command; its output is attached to the next message."""
        if not command:
            self._view.note("usage: !COMMAND runs a command in your shell")
            return
        status, output = await run_command(command, self._streams)
        ended = "" if status == 0 else "stopped · " if status < 0 else f"status {status} · "
        if not output.strip():
            self._view.note(f"{ended}no output")
            return
        self._conversation.pending_attachments.append(attachment(command, status, output))
        self._view.note(f"{ended}the output is attached to your next message (/new drops it)")

    async def _mentioned_texts(self, message: str) -> list[str]:
        """What a message names with `@`, to be attached; a line says what it is."""
        if self._mentions is None or "@" not in message:
            return []
        found = await self._mentions.attach(message)
        for each in found:
            self._view.note(each.note)
        return [each.text for each in found]

    async def _ask(self, message: str) -> str:
        """Send a message and show the answer; return the text of the next prompt."""
        with self._keyboard.listen_during_turn(self._view.note) as listen_during_turn:
            await self._show_answer(message)
        return "" if listen_during_turn is None else listen_during_turn.text_after(message)

    async def _send(self, message: str) -> TurnEnd:
        return await self._conversation.ask(message, await self._mentioned_texts(message))

    async def _show_answer(self, message: str) -> None:
        try:
            end = await run_stoppable(self._send(message))
        except DataAgentError as error:
            self._view.note(explain_line(error).text)
            return
        if end.done.reason in ("failed", "timeout") and not end.is_interrupted:
            self._view.note("hint: /retry sends the message again.")


async def run_repl(
    conversation: Conversation,
    streams: Streams,
    view: View,
    mentions: Mentions,
    *,
    home: Path,
    local: LocalContext | None = None,
    prices: Prices | None = None,
    picks_session: bool = False,
    on_keyboard: Callable[[Keyboard], None] | None = None,
) -> int:
    """Hold a conversation until the user leaves; return the exit status.

    `picks_session` asks first which conversation to continue. `on_keyboard` gets the keyboard, so
    that others can print above the line.
    """
    commands = builtin_commands()
    completer = LineCompleter(commands, conversation, mentions)
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
    loop = ReplLoop(
        conversation,
        keyboard,
        view,
        commands,
        streams,
        dialogs=dialogs,
        mentions=mentions,
        local=local,
    )
    view.note(await _greeting(conversation))
    if picks_session:
        await loop.choose_session()
    else:
        await show_resumed(conversation, view)
    return await loop.run()


async def _greeting(conversation: Conversation) -> str:
    parts = ["DataAgent", conversation.host.address, await conversation.model()]
    return " · ".join([*(part for part in parts if part), "/help shows the commands"])
