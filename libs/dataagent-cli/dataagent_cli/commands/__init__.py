"""Slash commands of the interactive terminal."""

from dataagent_cli.commands.builtin import builtin_commands
from dataagent_cli.commands.registry import (
    Command,
    CommandContext,
    CommandOutcome,
    Commands,
    LocalContext,
)

__all__ = [
    "Command",
    "CommandContext",
    "CommandOutcome",
    "Commands",
    "LocalContext",
    "builtin_commands",
]
