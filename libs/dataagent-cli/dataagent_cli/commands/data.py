"""The shell's commands over data inside a conversation: `/sql`, `/schema`, `/chart` and the like.

The words after the slash are those of the shell, except that the statement of `/sql` needs no
quotes, and that `/export` and `/explain` know the conversation.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dataagent_cli.arguments import DATA_COMMANDS, CliOptions, UsageError, parse_words
from dataagent_cli.commands.conversation import EXPORT_WORD, export_conversation
from dataagent_cli.commands.registry import Action, Command, CommandContext, CommandOutcome
from dataagent_cli.data.stored_results import NEWEST
from dataagent_core.events import ArtifactEvent, DoneEvent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dataagent_cli.data.context import DataCommandContext

_TAKES = {
    "schema": "[SOURCE]",
    "sql": "SELECT …",
    "export": f"last|{EXPORT_WORD} FILE",
    "chart": "[KIND] [COLUMN…]",
}
_EXPORT = "write a stored result or the conversation to a file"
_LEADING_OPTIONS = re.compile(
    r"""(?:\s*--(?:source|format|output|limit)(?:=|\s+)(?:"[^"]*"|'[^']*'|\S+)(?=\s|$))*"""
)


def words_of(name: str, rest: str) -> list[str]:
    """The shell's words for a slash command; a statement stays as it was typed.

    Raises:
        ValueError: a quotation mark is not closed.
    """
    if name != "sql":
        return [name, *shlex.split(rest)]
    options = _LEADING_OPTIONS.match(rest)
    end = options.end() if options else 0
    statement = rest[end:].strip()
    return [name, *shlex.split(rest[:end]), *([statement] if statement else [])]


def _action(name: str) -> Action:
    async def run(context: CommandContext, rest: str) -> CommandOutcome:
        from dataagent_cli.data.dispatch import dispatch_data

        data_context = replace(context.require_local(name).data, command_prefix="/")
        word, _, file = rest.partition(" ")
        if name == "export" and word == EXPORT_WORD:
            await export_conversation(context, file.strip())
            return CommandOutcome()
        options = _parse(context, name, rest)
        answer = await _last_answer(context) if name == "explain" else None
        if options is not None and answer is not None and options.artifact_id == NEWEST:
            await _explain_newest(data_context, options, answer)
        elif options is not None:
            await dispatch_data(data_context, options)
        return CommandOutcome()

    return run


COMMANDS = tuple(
    Command(
        name,
        _EXPORT if name == "export" else summary,
        _action(name),
        group="data",
        takes=_TAKES.get(name, ""),
        is_local=True,
    )
    for name, summary in DATA_COMMANDS.items()
)


@dataclass(frozen=True, slots=True)
class _LastAnswer:
    """The tables and checked figures behind the last answer of a conversation."""

    ended_at: float
    tables: Sequence[str]  # ids of artefacts
    figures: Mapping[str, Any]  # Any: JSON of the end of its run


async def _last_answer(context: CommandContext) -> _LastAnswer | None:
    session_id = context.conversation.session_id
    if session_id is None:
        return None
    history = await context.conversation.host.history(session_id, limit=2)
    events = [entry.event for item in history.items for entry in item.entries]
    tables = [e.artifact_id for e in events if isinstance(e, ArtifactEvent) and e.kind == "table"]
    for event in events:
        if isinstance(event, DoneEvent):
            figures = (event.metadata or {}).get("figures")
            return _LastAnswer(event.timestamp, tables, figures or {})
    return None


async def _explain_newest(
    data_context: DataCommandContext, options: CliOptions, answer: _LastAnswer
) -> None:
    """Explain the statement that was run after the last answer, else that answer."""
    from dataagent_cli.data.dispatch import dispatch_data
    from dataagent_cli.data.result_commands import figure_lines
    from dataagent_cli.data.stored_results import newest_table

    newest = await newest_table(data_context)
    if newest is not None and newest.created_at.timestamp() > answer.ended_at:
        await dispatch_data(data_context, options)
        return
    if answer.tables:
        options.artifact_id = answer.tables[-1]
        await dispatch_data(data_context, options)
    else:
        data_context.streams.say("the last answer used no statement")
    if lines := figure_lines(answer.figures):
        data_context.streams.print("\n".join(lines))


def _parse(context: CommandContext, name: str, rest: str) -> CliOptions | None:
    try:
        return parse_words(words_of(name, rest))
    except ValueError as error:
        context.view.note(f"error: {error}\nhint: close the quotation mark.")
    except UsageError as wrong:
        usage = wrong.parser.format_usage().replace("usage: dataagent ", "usage: /")
        context.view.note(f"{usage}error: {wrong}")
    except SystemExit:  # --help was printed
        pass
    return None
