"""`/rename`: another title for this conversation."""

from __future__ import annotations

from dataagent_cli.commands.registry import Command, CommandContext, Outcome


async def _run(context: CommandContext, title: str) -> Outcome:
    if not title:
        context.view.note("usage: /rename TITLE")
        return Outcome()
    context.view.note(f"renamed: {await context.conversation.rename(title)}")
    return Outcome()


RENAME = Command("rename", "give this conversation another title", _run, takes="TITLE")
