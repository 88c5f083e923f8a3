"""What a slash command is, and finding the one that was typed.

A command is a function with the decorator `command`, which has its help; it returns what the loop
in `repl.py` does next.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dataagent_cli.hosts import UnsupportedOnServer

if TYPE_CHECKING:
    from dataagent_cli.conversation import Conversation
    from dataagent_cli.data.context import DataCommandContext
    from dataagent_cli.input.dialogs import Dialogs
    from dataagent_cli.mcp.servers import TerminalServers
    from dataagent_cli.streams import Streams
    from dataagent_cli.ui import View
    from dataagent_core.identity import Principal
    from dataagent_core.workspace import Memories

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
class LocalContext:
    """What only a conversation in this process has: data, memories and MCP servers."""

    data: DataCommandContext
    memories: Memories
    person: Principal
    servers: TerminalServers


@dataclass(frozen=True, slots=True)
class CommandContext:
    """What a command can use; `local` is None when a server answers."""

    conversation: Conversation
    view: View
    commands: Commands
    streams: Streams
    dialogs: Dialogs
    local: LocalContext | None = None

    def require_local(self, command_name: str) -> LocalContext:
        """What this process has.

        Raises:
            UnsupportedOnServer: a server answers.
        """
        if self.local is None:
            raise UnsupportedOnServer(f"/{command_name}")
        return self.local


Action = Callable[[CommandContext, str], Awaitable[CommandOutcome]]
"""Gets the context and what follows the command's name."""
ArgumentWords = Callable[["Conversation"], Awaitable[Iterable[tuple[str, str]]]]
"""Words that may follow a command's name, each with its meaning."""


@dataclass(frozen=True, slots=True)
class Command:
    """One slash command with its help.

    `takes` names what may follow, for `/help`; `words` are completed while it is typed. A command
    that `is_local` does not work with a server.
    """

    name: str
    summary: str
    run: Action
    aliases: tuple[str, ...] = ()
    group: Group = "conversation"
    takes: str = ""
    words: ArgumentWords | None = None
    is_local: bool = False


def command(
    name: str,
    summary: str,
    *,
    aliases: tuple[str, ...] = (),
    group: Group = "conversation",
    takes: str = "",
    words: ArgumentWords | None = None,
    is_local: bool = False,
) -> Callable[[Action], Command]:
    """Make a function a command; the arguments are `Command`'s fields."""
    return lambda run: Command(name, summary, run, aliases, group, takes, words, is_local)


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
        """The name closest to the one that was typed, among the commands and `more`."""
        names = [*self._by_name, *more]
        return next(iter(difflib.get_close_matches(command_name(line), names, n=1)), None)


def is_command(line: str) -> bool:
    """Whether a line is a command and not a message (a path such as `/tmp/x` is a message)."""
    name = command_name(line).replace("-", "")
    return line.startswith("/") and name.isalnum() and not name.isdigit()


def command_name(line: str) -> str:
    """The name after the slash."""
    return (line.removeprefix("/").split(maxsplit=1) or [""])[0].lower()
