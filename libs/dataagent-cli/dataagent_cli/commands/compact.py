"""`/compact`: the older part of the conversation in short, to make room for more."""

from __future__ import annotations

from dataagent_cli.commands.registry import Command, CommandContext, Outcome


async def _run(context: CommandContext, keep: str) -> Outcome:
    await context.conversation.compact(keep)
    return Outcome()


COMPACT = Command(
    "compact", "summarise what was said, to make room for more", _run, takes="[WHAT TO KEEP]"
)
