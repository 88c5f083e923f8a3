"""`/new`: leave this conversation and begin another."""

from __future__ import annotations

from dataagent_cli.commands.registry import Command, CommandContext, Outcome


async def _run(context: CommandContext, message: str) -> Outcome:
    context.conversation.start_anew()
    context.view.note("new conversation")
    return Outcome(message=message or None)


NEW = Command("new", "begin a new conversation", _run, aliases=("clear",))
