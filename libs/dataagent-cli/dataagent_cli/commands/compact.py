"""`/compact`: the older part of the conversation in short, to make room for more."""

from __future__ import annotations

from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome


async def _run(context: CommandContext, keep: str) -> CommandOutcome:
    await context.conversation.compact(keep)
    return CommandOutcome()


COMPACT = Command(
    "compact", "summarise what was said, to make room for more", _run, takes="[WHAT TO KEEP]"
)
