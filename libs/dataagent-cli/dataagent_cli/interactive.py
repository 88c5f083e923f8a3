"""The conversation at a terminal: read a line, run a command or take a turn, again.

Holds the loop and nothing else; the line comes from `input/`, a command from `commands/`, the
answer from `conversation.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_cli import exits
from dataagent_cli.commands import CommandContext, Commands, Outcome
from dataagent_cli.commands.registry import is_command, name_in
from dataagent_cli.data.files import CannotWrite
from dataagent_cli.failures import explain
from dataagent_core.errors import DataAgentError

if TYPE_CHECKING:
    from dataagent_cli.conversation import Conversation
    from dataagent_cli.input import Keyboard
    from dataagent_cli.ui import View


class Interactive:
    """One sitting at the terminal."""

    def __init__(
        self, conversation: Conversation, keyboard: Keyboard, view: View, commands: Commands
    ) -> None:
        self._conversation = conversation
        self._keyboard = keyboard
        self._view = view
        self._commands = commands

    async def run(self) -> int:
        """Until `/quit`, Ctrl-D, or Ctrl-C twice; the exit status."""
        is_leaving = False
        while True:
            try:
                line = await self._keyboard.read()
            except EOFError:
                break
            except KeyboardInterrupt:
                if is_leaving:
                    break
                is_leaving = True
                self._view.note("hint: Ctrl-C again, Ctrl-D or /quit leaves.")
                continue
            is_leaving = False
            if line and not await self._obey(line):
                break
        if self._conversation.session_id:
            self._view.note(
                f"hint: continue with: dataagent --session {self._conversation.session_id}"
            )
        return exits.OK

    async def _obey(self, line: str) -> bool:
        """Run a command or ask; False when it is time to leave."""
        outcome = await self._command(line) if is_command(line) else Outcome(message=line)
        if outcome.message is not None:
            await self._ask(outcome.message)
        return not outcome.is_end

    async def _command(self, line: str) -> Outcome:
        found = self._commands.parse(line)
        if found is None:
            return await self._skill(line)
        command, rest = found
        context = CommandContext(self._conversation, self._view, self._commands)
        try:
            return await command.run(context, rest)
        except (DataAgentError, CannotWrite) as error:
            self._view.note(explain(error).text)
            return Outcome()

    async def _skill(self, line: str) -> Outcome:
        """Send a line that begins with a skill; say what is near to one that does not."""
        shelf = await self._conversation.skills()
        names = () if shelf is None else shelf.skills
        if name_in(line) in names:
            return Outcome(message=line)
        near = self._commands.nearest(line, names)
        hint = f"did you mean /{near}?" if near else "/help shows the commands, /skills the skills."
        self._view.note(f"unknown command {line.split(maxsplit=1)[0]}\nhint: {hint}")
        return Outcome()

    async def _ask(self, message: str) -> None:
        try:
            end = await self._conversation.ask(message)
        except DataAgentError as error:
            self._view.note(explain(error).text)
            return
        if end.done.reason in ("failed", "timeout") and not end.is_interrupted:
            self._view.note("hint: /retry sends the message again.")
