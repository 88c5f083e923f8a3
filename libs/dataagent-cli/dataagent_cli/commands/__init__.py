"""Slash commands of the interactive terminal, one file each."""

from dataagent_cli.commands.agents import memory_command
from dataagent_cli.commands.builtin import builtin_commands, unavailable_commands
from dataagent_cli.commands.conversation import with_conversation
from dataagent_cli.commands.data import data_commands
from dataagent_cli.commands.init import init_command
from dataagent_cli.commands.mcp import mcp_command
from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome, Commands

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
