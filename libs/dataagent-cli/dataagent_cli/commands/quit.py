"""`/quit`: leave."""

from __future__ import annotations

from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome


async def _run(context: CommandContext, _: str) -> CommandOutcome:
    del context
    return CommandOutcome(is_end=True)


QUIT = Command("quit", "leave", _run, aliases=("exit", "q"), group="terminal")
