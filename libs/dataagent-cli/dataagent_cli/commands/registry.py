"""What a slash command is, and finding the one that was typed.

A command is data and one coroutine. The loop in `interactive.py` runs it and obeys its outcome.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataagent_cli.conversation import Conversation
    from dataagent_cli.ui import View


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happens after a command: nothing, a message to send, or the end."""

    message: str | None = None
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class CommandContext:
    """What a command can work with."""

    conversation: Conversation
    view: View
    commands: Commands


Action = Callable[[CommandContext, str], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class Command:
    """One slash command. `run` gets the context and what follows the name."""

    name: str
    summary: str
    run: Action
    aliases: tuple[str, ...] = field(default=())


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

    def parse(self, line: str) -> tuple[Command, str] | None:
        """The command a line names and what follows; None for an unknown name."""
        name, _, rest = line.removeprefix("/").partition(" ")
        command = self._by_name.get(name.strip().lower())
        return None if command is None else (command, rest.strip())

    def nearest(self, line: str, more: Iterable[str] = ()) -> str | None:
        """The name most like the one that was typed, among commands and what else there is."""
        names = [*self._by_name, *more]
        return next(iter(difflib.get_close_matches(name_in(line), names, n=1)), None)


def is_command(line: str) -> bool:
    """Whether a line is a command and not a message (a path such as `/tmp/x` is a message)."""
    name = name_in(line).replace("-", "")
    return line.startswith("/") and name.isalnum() and not name.isdigit()


def name_in(line: str) -> str:
    """The name after the slash."""
    return (line.removeprefix("/").split(maxsplit=1) or [""])[0].lower()
