"""Slash commands of the interactive terminal, one file each."""

from dataagent_cli.commands.builtin import builtin_commands
from dataagent_cli.commands.data import data_commands
from dataagent_cli.commands.memory import memory_command
from dataagent_cli.commands.registry import Command, CommandContext, Commands, Outcome

__all__ = [
    "Command",
    "CommandContext",
    "Commands",
    "Outcome",
    "builtin_commands",
    "data_commands",
    "memory_command",
]
