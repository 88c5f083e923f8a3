"""`/retry`: send the last message again, after an error that may pass."""

from __future__ import annotations

from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome


async def _run(context: CommandContext, _: str) -> CommandOutcome:
    message = context.conversation.last_message
    if message is None:
        context.view.note("nothing was asked yet\nhint: type a question and press Enter.")
    return CommandOutcome(message=message)


RETRY = Command("retry", "send the last message again", _run)
