"""`/sources`, `/schema`, `/sql`, `/export`: the shell's commands over data, inside a conversation.

The words after the slash are those of the shell; the statement of `/sql` needs no quotes. Below:
`data/obey.py`.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from dataagent_cli.arguments import Options, WrongUsage, parse_words
from dataagent_cli.commands.registry import Action, Command, CommandContext, Outcome

if TYPE_CHECKING:
    from dataagent_cli.data.desk import Desk

_SUMMARIES = {
    "sources": "list data sources; add, remove or refresh one",
    "schema": "tables and columns of a data source",
    "sql": "run one statement: /sql SELECT …",
    "export": "write a kept result to a file: /export last --output FILE",
}
_LEADING_OPTIONS = re.compile(
    r"""(?:\s*--(?:source|format|output|limit)(?:=|\s+)(?:"[^"]*"|'[^']*'|\S+)(?=\s|$))*"""
)


def data_commands(desk: Desk) -> tuple[Command, ...]:
    """The commands, at this desk."""
    return tuple(
        Command(name, summary, _action(desk, name)) for name, summary in _SUMMARIES.items()
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
        return Outcome()

    return run


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
