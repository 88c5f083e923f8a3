"""The table of commands, in the order of `/help`.

`/help`: every command with its summary, by what it is about, and the keys.

`/quit`: leave.

Commands over what is in this process, when a server answers: they say so.
"""

from __future__ import annotations

import textwrap

from dataagent_cli.commands.agents import AGENTS, MODE, MODEL, SKILLS, TOOLS
from dataagent_cli.commands.conversation import (
    COMPACT,
    CONTEXT,
    COPY,
    COST,
    EDITOR,
    NEW,
    RENAME,
    RESUME,
    RETRY,
    SESSIONS,
    UNDO,
)
from dataagent_cli.commands.registry import (
    GROUPS,
    Command,
    CommandContext,
    CommandOutcome,
    Commands,
    Group,
)
from dataagent_cli.hosts import UnsupportedOnServer

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


async def _run_help(context: CommandContext, _: str) -> CommandOutcome:
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


HELP = Command("help", "show the commands and keys", _run_help, aliases=("h",), group="terminal")


async def _run_quit(context: CommandContext, _: str) -> CommandOutcome:
    del context
    return CommandOutcome(is_end=True)


QUIT = Command("quit", "leave", _run_quit, aliases=("exit", "q"), group="terminal")


_TALK = (NEW, SESSIONS, RESUME, RENAME, RETRY, UNDO, COMPACT, CONTEXT, COST)
_AGENT = (MODE, MODEL, AGENTS, SKILLS, TOOLS)
_TERMINAL = (HELP, EDITOR, COPY, QUIT)


def builtin_commands(*more: Command) -> Commands:
    """The commands of a conversation, and more that need something at hand, such as data."""
    return Commands((*_TALK, *_AGENT, *more, *_TERMINAL))


_GROUPS: dict[str, Group] = {
    "memory": "agent",
    "mcp": "agent",
    "init": "agent",
    "sources": "data",
    "schema": "data",
    "sql": "data",
    "chart": "data",
    "explain": "data",
    "export": "data",
}


def unavailable_commands() -> tuple[Command, ...]:
    """The commands that are not to be had with a server."""
    return tuple(_unavailable(name, group) for name, group in _GROUPS.items())


def _unavailable(name: str, group: Group) -> Command:
    async def run(context: CommandContext, rest: str) -> CommandOutcome:
        del context, rest
        raise UnsupportedOnServer(f"/{name}")

    return Command(name, "not with a server: it needs this machine's own data", run, group=group)
