"""The table of commands, in the order of `/help`."""

from __future__ import annotations

from dataagent_cli.commands.auto import AUTO
from dataagent_cli.commands.help import HELP
from dataagent_cli.commands.new import NEW
from dataagent_cli.commands.quit import QUIT
from dataagent_cli.commands.registry import Command, Commands
from dataagent_cli.commands.retry import RETRY
from dataagent_cli.commands.skills import SKILLS


def builtin_commands(*more: Command) -> Commands:
    """The commands of a conversation, and more that need something at hand, such as data."""
    return Commands((HELP, NEW, RETRY, AUTO, SKILLS, *more, QUIT))
