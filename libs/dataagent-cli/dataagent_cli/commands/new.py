"""`/new`: leave this conversation and begin another."""

from __future__ import annotations

from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome


async def _run(context: CommandContext, message: str) -> CommandOutcome:
    context.conversation.start_new()
    context.view.note("new conversation")
    return CommandOutcome(message=message or None)


NEW = Command("new", "begin a new conversation", _run, aliases=("clear",))
