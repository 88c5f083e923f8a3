"""`/editor`: write the message in your own editor."""

from __future__ import annotations

from dataagent_cli.commands.registry import Command, CommandContext, Outcome
from dataagent_cli.input.editor import edited


async def _run(context: CommandContext, text: str) -> Outcome:
    return Outcome(text=(await edited(text)).rstrip("\n"))


EDITOR = Command(
    "editor", "write the message in $VISUAL or $EDITOR", _run, group="terminal", takes="[TEXT]"
)
