"""`/editor`: write the message in your own editor."""

from __future__ import annotations

from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome
from dataagent_cli.input.editor import edit_text


async def _run(context: CommandContext, text: str) -> CommandOutcome:
    return CommandOutcome(text=(await edit_text(text)).rstrip("\n"))


EDITOR = Command(
    "editor", "write the message in $VISUAL or $EDITOR", _run, group="terminal", takes="[TEXT]"
)
