"""`/export conversation FILE`: what was said, as Markdown or JSON. Other exports are of data."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dataagent_cli.commands.registry import Action, Command, CommandContext, CommandOutcome
from dataagent_cli.data.files import CannotWrite
from dataagent_core.events import ArtifactEvent, ToolCallEvent

if TYPE_CHECKING:
    from dataagent_core.runs.history import HistoryItem
    from dataagent_core.session.types import Session

_WORD = "conversation"
_SUMMARY = "write a kept result or the conversation to a file"
_HINT = "it has to be a new file, in a folder that you can write to."
_USAGE = f"usage: /export {_WORD} FILE.md|FILE.json"


def with_conversation(commands: Iterable[Command]) -> tuple[Command, ...]:
    """The commands over data, of which `/export` exports the conversation too."""
    return tuple(
        replace(each, summary=_SUMMARY, run=_action(each.run), takes="last|conversation FILE")
        if each.name == "export"
        else each
        for each in commands
    )


def _action(of_data: Action) -> Action:
    async def run(context: CommandContext, rest: str) -> CommandOutcome:
        if rest.split(" ", 1)[0] != _WORD:
            return await of_data(context, rest)
        await _export(context, rest.removeprefix(_WORD).strip())
        return CommandOutcome()

    return run


async def _export(context: CommandContext, rest: str) -> None:
    try:
        words = shlex.split(rest)
    except ValueError as error:
        context.view.note(f"error: {error}\nhint: close the quotation mark.")
        return
    if len(words) != 1 or not words[0].endswith((".md", ".json")):
        context.view.note(_USAGE)
        return
    talk = context.conversation
    history = await talk.history()
    session = talk.session
    assert session is not None  # noqa: S101 it has a history
    made = as_json if words[0].endswith(".json") else as_markdown
    await asyncio.to_thread(write_new, words[0], made(session, history.items))
    context.view.note(f"wrote {len(history.items)} of {history.total} messages to {words[0]}")


def write_new(name: str, text: str) -> None:
    """Write a file that is not there yet.

    Raises:
        CannotWrite: it is there, or cannot be written.
    """
    try:
        with Path(name).expanduser().open("x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise CannotWrite(f"Cannot write {name}: {error.strerror}.", hint=_HINT) from error


def as_markdown(session: Session, items: Sequence[HistoryItem]) -> str:
    """A conversation to be read."""
    parts = [f"# {session.title}", f"{session.created_at:%Y-%m-%d %H:%M} UTC"]
    for each in items:
        who = "You" if each.message.role == "user" else each.message.role.capitalize()
        parts.append(f"## {who}")
        parts += _work(each)
        parts.append(each.message.content or f"({each.message.status})")
    return "\n\n".join(parts) + "\n"


def _work(item: HistoryItem) -> list[str]:
    """What an answer rests on: a line for each call and each thing that was made."""
    lines: list[str] = []
    for entry in item.entries:
        match entry.event:
            case ToolCallEvent(tool_name=name, tool_args=args):
                lines.append(f"- `{name}` `{json.dumps(args, ensure_ascii=False, default=str)}`")
            case ArtifactEvent(kind=kind, title=title):
                lines.append(f"- {kind}: {title}")
            case _:
                continue
    return ["\n".join(lines)] if lines else []


def as_json(session: Session, items: Sequence[HistoryItem]) -> str:
    """A conversation to be worked with: messages with the events of their runs."""
    made = {
        "session_id": session.session_id,
        "title": session.title,
        "agent": session.assistant_id,
        "created_at": session.created_at.isoformat(),
        "messages": [
            {
                "role": each.message.role,
                "content": each.message.content,
                "status": each.message.status,
                "created_at": each.message.created_at.isoformat(),
                "events": [json.loads(entry.wire) for entry in each.entries],
            }
            for each in items
        ],
    }
    return json.dumps(made, ensure_ascii=False, indent=2) + "\n"
