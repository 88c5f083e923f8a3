"""The table of commands, with `/help` and `/quit`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from dataagent_cli.commands import agents, conversation, data
from dataagent_cli.commands.init import write_agents_file
from dataagent_cli.commands.mcp import manage_servers
from dataagent_cli.commands.registry import (
    GROUPS,
    Command,
    CommandContext,
    CommandOutcome,
    Commands,
    command,
)

_UNBROKEN = 10_000
_NOT_ON_SERVER = "not with a server: it needs this machine's own data"
KEYS = (
    ("Enter", "sends the message"),
    ("Alt-Enter, Ctrl-J", "starts a new line"),
    ("Tab", "completes /commands, @files and @tables"),
    ("Shift-Tab", "switches the mode: manual, auto, plan"),
    ("Ctrl-C", "stops the answer; twice quits"),
    ("Esc", "stops the answer and lets you edit the message"),
    ("Ctrl-R", "searches the history"),
    ("Ctrl-D", "quits"),
    ("!COMMAND", "runs a command in your shell"),
    ("@NAME", "attaches a file or a table"),
)


@command("help", "show the commands and keys", aliases=("h",), group="terminal")
async def show_help(context: CommandContext, _: str) -> CommandOutcome:
    """Every command by group, then the keys."""
    commands = context.commands.all()
    names = {each: f"/{each.name} {each.takes}".rstrip() for each in commands}
    width = max(map(len, [*names.values(), *(key for key, _ in KEYS)])) + 2
    columns = (context.streams.width or _UNBROKEN) - 1
    lines: list[str] = []
    for group in GROUPS:
        lines.append(f"{group}:")
        for each in commands:
            is_missing = each.is_local and context.local is None
            if each.group == group:
                summary = _NOT_ON_SERVER if is_missing else each.summary
                lines += _entry(names[each], summary, width, columns)
    lines.append("keys:")
    for key, effect in KEYS:
        lines += _entry(key, effect, width, columns)
    context.view.note("\n".join(lines))
    return CommandOutcome()


def _entry(name: str, summary: str, width: int, columns: int) -> list[str]:
    """A name with its summary beside it; what does not fit continues in the same column."""
    first, *rest = textwrap.wrap(summary, max(columns - width - 2, 20))
    return [f"  {name:<{width}}{first}", *(" " * (width + 2) + each for each in rest)]


@command("quit", "leave the terminal", aliases=("exit", "q"), group="terminal")
async def quit_terminal(context: CommandContext, _: str) -> CommandOutcome:
    """End the loop."""
    del context
    return CommandOutcome(is_end=True)


def builtin_commands(more: Iterable[Command] = ()) -> Commands:
    """All commands, in the order of `/help`, and `more`."""
    return Commands(
        (
            conversation.start_new,
            conversation.list_sessions,
            conversation.resume,
            conversation.rename,
            conversation.retry,
            conversation.undo,
            conversation.compact,
            conversation.show_context,
            conversation.show_cost,
            agents.choose_mode,
            agents.choose_model,
            agents.choose_agent,
            agents.list_skills,
            agents.list_tools,
            agents.manage_memory,
            manage_servers,
            write_agents_file,
            *data.COMMANDS,
            show_help,
            conversation.edit_message,
            conversation.copy_answer,
            quit_terminal,
            *more,
        )
    )
