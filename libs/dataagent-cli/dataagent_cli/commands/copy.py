"""`/copy`: the last answer, to the clipboard."""

from __future__ import annotations

from dataagent_cli.clipboard import copy
from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome


async def _run(context: CommandContext, _: str) -> CommandOutcome:
    talk = context.conversation
    items = (await talk.history(limit=10)).items
    answers = [each.message.content for each in items if each.message.role == "assistant"]
    answer = next((text for text in reversed(answers) if text), None)
    if answer is None:
        context.view.note("there is no answer to copy yet")
        return CommandOutcome()
    way = await copy(answer, context.streams)
    context.view.note(f"copied {len(answer):,} characters {way}")
    return CommandOutcome()


COPY = Command("copy", "copy the last answer to the clipboard", _run, group="terminal")
