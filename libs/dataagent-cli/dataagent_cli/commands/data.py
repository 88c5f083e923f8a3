"""The shell's commands over data, inside a conversation: `/sql`, `/schema`, `/chart` and the like.

The words after the slash are those of the shell; the statement of `/sql` needs no quotes. Below:
`data/obey.py`.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from dataagent_cli.arguments import Options, WrongUsage, parse_words
from dataagent_cli.commands.registry import Action, Command, CommandContext, Outcome
from dataagent_core.events import DoneEvent

if TYPE_CHECKING:
    from dataagent_cli.data.desk import Desk

_SUMMARIES = {
    "sources": "list data sources; add, test, remove or refresh one",
    "schema": "tables and columns of a data source",
    "sql": "run one statement: /sql SELECT …",
    "chart": "draw the last result: /chart bar country total",
    "explain": "what the last answer rests on: SQL, plan, tables, figures",
    "export": "write a kept result to a file: /export last FILE.xlsx",
}
_LEADING_OPTIONS = re.compile(
    r"""(?:\s*--(?:source|format|output|limit)(?:=|\s+)(?:"[^"]*"|'[^']*'|\S+)(?=\s|$))*"""
)


def data_commands(desk: Desk) -> tuple[Command, ...]:
    """The commands, at this desk."""
    here = replace(desk, spelled="/")
    return tuple(
        Command(name, summary, _action(here, name), group="data")
        for name, summary in _SUMMARIES.items()
    )


def words_of(name: str, rest: str) -> list[str]:
    """The command line that a slash command stands for. A statement stays as it was typed.

    Raises:
        ValueError: a quotation mark is not closed.
    """
    if name != "sql":
        return [name, *shlex.split(rest)]
    options = _LEADING_OPTIONS.match(rest)
    end = options.end() if options else 0
    statement = rest[end:].strip()
    return [name, *shlex.split(rest[:end]), *([statement] if statement else [])]


def _action(desk: Desk, name: str) -> Action:
    async def run(context: CommandContext, rest: str) -> Outcome:
        from dataagent_cli.data.obey import obey

        options = _parsed(context, name, rest)
        if options is not None:
            await obey(desk, options)
        if options is not None and name == "explain":
            await _explain_figures(context)
        return Outcome()

    return run


async def _explain_figures(context: CommandContext) -> None:
    """Where each figure of the last answer stands."""
    from dataagent_cli.data.explain import figure_lines

    session_id = context.conversation.session_id
    if session_id is None:
        return
    history = await context.conversation.host.history(session_id, limit=2)
    for entry in [entry for told in history.told for entry in told.entries]:
        if isinstance(entry.event, DoneEvent):
            figures = (entry.event.metadata or {}).get("figures")
            context.streams.print("\n".join(figure_lines(figures or {})))


def _parsed(context: CommandContext, name: str, rest: str) -> Options | None:
    try:
        return parse_words(words_of(name, rest))
    except ValueError as error:
        context.view.note(f"error: {error}\nhint: close the quotation mark.")
    except WrongUsage as wrong:
        usage = wrong.parser.format_usage().replace("usage: dataagent ", "usage: /")
        context.view.note(f"{usage}error: {wrong}")
    except SystemExit:  # --help was printed
        pass
    return None
