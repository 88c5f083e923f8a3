"""The table of commands, in the order of `/help`."""

from __future__ import annotations

from dataagent_cli.commands.auto import AUTO
from dataagent_cli.commands.help import HELP
from dataagent_cli.commands.new import NEW
from dataagent_cli.commands.quit import QUIT
from dataagent_cli.commands.registry import Commands
from dataagent_cli.commands.retry import RETRY


def builtin_commands() -> Commands:
    """Every command the terminal has."""
    return Commands((HELP, NEW, RETRY, AUTO, QUIT))
