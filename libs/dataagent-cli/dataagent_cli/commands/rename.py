"""`/rename`: another title for this conversation."""

from __future__ import annotations

from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome


async def _run(context: CommandContext, title: str) -> CommandOutcome:
    if not title:
        context.view.note("usage: /rename TITLE")
        return CommandOutcome()
    context.view.note(f"renamed: {await context.conversation.rename(title)}")
    return CommandOutcome()


RENAME = Command("rename", "give this conversation another title", _run, takes="TITLE")
