"""The shell's commands over data, inside a conversation: `/sql`, `/schema`, `/chart` and the like.

The words after the slash are those of the shell; the statement of `/sql` needs no quotes. Below:
`data/dispatch.py`.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dataagent_cli.arguments import CliOptions, UsageError, parse_words
from dataagent_cli.commands.registry import Action, Command, CommandContext, CommandOutcome
from dataagent_cli.data.stored_results import NEWEST
from dataagent_core.events import ArtifactEvent, DoneEvent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dataagent_cli.data.context import DataCommandContext

_SUMMARIES = {
    "sources": "list data sources; add, test, remove or refresh one",
    "schema": "tables and columns of a data source",
    "sql": "run one statement: /sql SELECT …",
    "chart": "draw the last result: /chart bar country total",
    "explain": "what the last statement or answer rests on: SQL, plan, tables, figures",
    "export": "write a kept result to a file: /export last FILE.xlsx",
}
_LEADING_OPTIONS = re.compile(
    r"""(?:\s*--(?:source|format|output|limit)(?:=|\s+)(?:"[^"]*"|'[^']*'|\S+)(?=\s|$))*"""
)


def data_commands(data_context: DataCommandContext) -> tuple[Command, ...]:
    """The commands, at this desk."""
    here = replace(data_context, command_prefix="/")
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


def _action(data_context: DataCommandContext, name: str) -> Action:
    async def run(context: CommandContext, rest: str) -> CommandOutcome:
        from dataagent_cli.data.dispatch import dispatch

        options = _parse(context, name, rest)
        answer = await _last_answer(context) if name == "explain" else None
        if options is not None and answer is not None and options.artifact_id == NEWEST:
            await _explain_newest(data_context, options, answer)
        elif options is not None:
            await dispatch(data_context, options)
        return CommandOutcome()

    return run


@dataclass(frozen=True, slots=True)
class _LastAnswer:
    """What the last answer of a conversation rests on."""

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
    from dataagent_cli.data.dispatch import dispatch
    from dataagent_cli.data.result_commands import figure_lines
    from dataagent_cli.data.stored_results import newest_table

    newest = await newest_table(data_context)
    if newest is not None and newest.created_at.timestamp() > answer.ended_at:
        await dispatch(data_context, options)
        return
    if answer.tables:
        options.artifact_id = answer.tables[-1]
        await dispatch(data_context, options)
    else:
        data_context.streams.say("the last answer rests on no statement")
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
