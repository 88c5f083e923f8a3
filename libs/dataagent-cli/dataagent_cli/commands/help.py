"""`/help`: every command with its summary, by what it is about, and the keys."""

from __future__ import annotations

import textwrap

from dataagent_cli.commands.registry import GROUPS, Command, CommandContext, CommandOutcome

_UNBROKEN = 10_000
KEYS = (
    ("Enter", "sends"),
    ("Alt-Enter, Ctrl-J", "begins a line"),
    ("Tab", "completes /commands, @files and @tables"),
    ("Shift-Tab", "switches the mode: manual, auto, plan"),
    ("Ctrl-C", "stops the answer; twice leaves"),
    ("Esc", "stops the answer and puts the message back"),
    ("Ctrl-R", "searches what was typed before"),
    ("Ctrl-D", "leaves"),
    ("!COMMAND", "runs a command in your shell"),
    ("@NAME", "sends a file or a table along"),
)


async def _run(context: CommandContext, _: str) -> CommandOutcome:
    commands = context.commands.all()
    names = {each: f"/{each.name} {each.takes}".rstrip() for each in commands}
    width = max(map(len, [*names.values(), *(key for key, _ in KEYS)])) + 2
    room = (context.streams.width or _UNBROKEN) - 1
    lines: list[str] = []
    for group in GROUPS:
        lines.append(f"{group}:")
        for each in commands:
            if each.group == group:
                lines += _entry(names[each], each.summary, width, room)
    lines.append("keys:")
    for key, what in KEYS:
        lines += _entry(key, what, width, room)
    context.view.note("\n".join(lines))
    return CommandOutcome()


def _entry(name: str, what: str, width: int, room: int) -> list[str]:
    """A name with what it does beside it; what does not fit stands below, in the same column."""
    beside = textwrap.wrap(what, max(room - width - 2, 20))
    first, *rest = beside
    return [f"  {name:<{width}}{first}", *(" " * (width + 2) + each for each in rest)]


HELP = Command("help", "show the commands and keys", _run, aliases=("h",), group="terminal")
