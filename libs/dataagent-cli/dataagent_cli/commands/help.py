"""`/help`: every command with its summary, and the keys."""

from __future__ import annotations

from dataagent_cli.commands.registry import Command, CommandContext, Outcome

_KEYS = "Enter sends · Alt-Enter begins a line · Ctrl-C stops the answer · Ctrl-D leaves"


async def _run(context: CommandContext, _: str) -> Outcome:
    commands = context.commands.all()
    width = max(len(command.name) for command in commands) + 3
    lines = [f"  {'/' + command.name:<{width}}{command.summary}" for command in commands]
    context.view.note("\n".join([*lines, _KEYS]))
    return Outcome()


HELP = Command("help", "show the commands and keys", _run, aliases=("h",))
