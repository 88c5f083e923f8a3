"""`/retry`: send the last message again, after an error that may pass."""

from __future__ import annotations

from dataagent_cli.commands.registry import Command, CommandContext, Outcome


async def _run(context: CommandContext, _: str) -> Outcome:
    message = context.conversation.last_message
    if message is None:
        context.view.note("nothing was asked yet\nhint: type a question and press Enter.")
    return Outcome(message=message)


RETRY = Command("retry", "send the last message again", _run)
