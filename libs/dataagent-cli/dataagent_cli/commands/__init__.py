"""Slash commands of the interactive terminal, one file each."""

from dataagent_cli.commands.builtin import builtin_commands
from dataagent_cli.commands.data import data_commands
from dataagent_cli.commands.export import with_conversation
from dataagent_cli.commands.init import init_command
from dataagent_cli.commands.mcp import mcp_command
from dataagent_cli.commands.memory import memory_command
from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome, Commands
from dataagent_cli.commands.unavailable import unavailable_commands

__all__ = [
    "Command",
    "CommandContext",
    "CommandOutcome",
    "Commands",
    "builtin_commands",
    "data_commands",
    "init_command",
    "mcp_command",
    "memory_command",
    "unavailable_commands",
    "with_conversation",
]
