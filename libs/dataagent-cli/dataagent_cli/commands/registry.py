"""What a slash command is, and finding the one that was typed.

A command is data and one coroutine. The loop in `repl_loop.py` runs it and obeys its outcome.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from dataagent_cli.conversation import Conversation
    from dataagent_cli.input.dialogs import Dialogs
    from dataagent_cli.streams import Streams
    from dataagent_cli.ui import View

Group = Literal["conversation", "agent", "data", "terminal"]
GROUPS: tuple[Group, ...] = ("conversation", "agent", "data", "terminal")
"""In the order of `/help`."""


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """What happens after a command: nothing, a message to send, a text to edit, or the end."""

    message: str | None = None
    text: str = ""
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class CommandContext:
    """What a command can work with."""

    conversation: Conversation
    view: View
    commands: Commands
    streams: Streams
    dialogs: Dialogs


Action = Callable[[CommandContext, str], Awaitable[CommandOutcome]]
ArgumentWords = Callable[["Conversation"], Awaitable[Iterable[tuple[str, str]]]]
"""What may follow a command's name: words, each with what it stands for."""


@dataclass(frozen=True, slots=True)
class Command:
    """One slash command. `run` gets the context and what follows the name.

    `takes` names what may follow, for `/help`; `words` are offered while it is typed.
    """

    name: str
    summary: str
    run: Action
    aliases: tuple[str, ...] = field(default=())
    group: Group = "conversation"
    takes: str = ""
    words: ArgumentWords | None = None


class Commands:
    """The commands by name."""

    def __init__(self, commands: Iterable[Command]) -> None:
        self._commands = tuple(commands)
        self._by_name = {
            name: command for command in self._commands for name in (command.name, *command.aliases)
        }

    def all(self) -> tuple[Command, ...]:
        """Every command, in the order of `/help`."""
        return self._commands

    def find(self, name: str) -> Command | None:
        """The command of that name or alias."""
        return self._by_name.get(name.strip().lower())

    def parse(self, line: str) -> tuple[Command, str] | None:
        """The command a line names and what follows; None for an unknown name."""
        name, _, rest = line.removeprefix("/").partition(" ")
        command = self.find(name)
        return None if command is None else (command, rest.strip())

    def nearest(self, line: str, more: Iterable[str] = ()) -> str | None:
        """The name most like the one that was typed, among commands and what else there is."""
        names = [*self._by_name, *more]
        return next(iter(difflib.get_close_matches(command_name(line), names, n=1)), None)


def is_command(line: str) -> bool:
    """Whether a line is a command and not a message (a path such as `/tmp/x` is a message)."""
    name = command_name(line).replace("-", "")
    return line.startswith("/") and name.isalnum() and not name.isdigit()


def command_name(line: str) -> str:
    """The name after the slash."""
    return (line.removeprefix("/").split(maxsplit=1) or [""])[0].lower()
