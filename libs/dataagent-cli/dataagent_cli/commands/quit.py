"""`/quit`: leave."""

from __future__ import annotations

from dataagent_cli.commands.registry import Command, CommandContext, Outcome


async def _run(context: CommandContext, _: str) -> Outcome:
    del context
    return Outcome(is_end=True)


QUIT = Command("quit", "leave", _run, aliases=("exit", "q"), group="terminal")
