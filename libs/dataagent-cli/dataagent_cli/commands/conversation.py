"""`/export conversation FILE`: what was said, as Markdown or JSON. Other exports are of data.

`/new`: leave this conversation and begin another.

`/rename`: another title for this conversation.

`/retry`: send the last message again, after an error that may pass.

`/compact`: the older part of the conversation in short, to make room for more.

`/undo`: take back what the last turn did to files.

`/copy`: the last answer, to the clipboard.

`/editor`: write the message in your own editor.

`/sessions` and `/resume`: the conversations there are, and going on with one.

`/context`: what fills the model's window.

`/cost`: tokens and money, of this conversation and of today.
"""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dataagent_cli.commands.registry import Action, Command, CommandContext, CommandOutcome
from dataagent_cli.conversation import short_time, show_resumed
from dataagent_cli.data.files import CannotWrite
from dataagent_cli.external_programs import copy, edit_text
from dataagent_cli.ui.clean import one_line
from dataagent_cli.ui.tables import Heading, draw
from dataagent_core.events import ArtifactEvent, ToolCallEvent

if TYPE_CHECKING:
    from dataagent_cli.conversation import Conversation
    from dataagent_cli.hosts import TokenCost
    from dataagent_core.app.context_usage import ContextUse
    from dataagent_core.runs.history import HistoryItem
    from dataagent_core.session.types import Session
    from dataagent_core.workspace.undo import Change


async def _run_new(context: CommandContext, message: str) -> CommandOutcome:
    context.conversation.start_new()
    context.view.note("new conversation")
    return CommandOutcome(message=message or None)


NEW = Command("new", "begin a new conversation", _run_new, aliases=("clear",))


async def _run_rename(context: CommandContext, title: str) -> CommandOutcome:
    if not title:
        context.view.note("usage: /rename TITLE")
        return CommandOutcome()
    context.view.note(f"renamed: {await context.conversation.rename(title)}")
    return CommandOutcome()


RENAME = Command("rename", "give this conversation another title", _run_rename, takes="TITLE")


async def _run_retry(context: CommandContext, _: str) -> CommandOutcome:
    message = context.conversation.last_message
    if message is None:
        context.view.note("nothing was asked yet\nhint: type a question and press Enter.")
    return CommandOutcome(message=message)


RETRY = Command("retry", "send the last message again", _run_retry)


async def _run_compact(context: CommandContext, keep: str) -> CommandOutcome:
    await context.conversation.compact(keep)
    return CommandOutcome()


COMPACT = Command(
    "compact",
    "summarise what was said, to make room for more",
    _run_compact,
    takes="[WHAT TO KEEP]",
)


async def _run_undo(context: CommandContext, _: str) -> CommandOutcome:
    talk = context.conversation
    session_id = talk.require_session_id()
    changes = await talk.host.last_changes(session_id)
    if not changes:
        context.view.note("no files were changed that could be taken back")
        return CommandOutcome()
    context.view.note("\n".join(["the last turn that changed files:", *map(_change_line, changes)]))
    if not await context.dialogs.confirm("Take this back?"):
        context.view.note("nothing was taken back")
        return CommandOutcome()
    undone = await talk.host.take_back(session_id)
    back = sum(each.problem is None for each in undone)
    kept = [_change_line(each) for each in undone if each.problem]
    context.view.note("\n".join([f"taken back: {back} {'file' if back == 1 else 'files'}", *kept]))
    return CommandOutcome(text=talk.last_message or "")


def _change_line(change: Change) -> str:
    problem = f" (stays: {one_line(change.problem)})" if change.problem else ""
    return f"  {change.kind} {one_line(change.path)}{problem}"


UNDO = Command("undo", "take back the last turn's file changes", _run_undo)


async def _run_copy(context: CommandContext, _: str) -> CommandOutcome:
    talk = context.conversation
    items = (await talk.history(limit=10)).items
    answers = [each.message.content for each in items if each.message.role == "assistant"]
    answer = next((text for text in reversed(answers) if text), None)
    if answer is None:
        context.view.note("there is no answer to copy yet")
        return CommandOutcome()
    way = await copy(answer, context.streams)
    context.view.note(f"copied {len(answer):,} characters {way}")
    return CommandOutcome()


COPY = Command("copy", "copy the last answer to the clipboard", _run_copy, group="terminal")


async def _run_editor(context: CommandContext, text: str) -> CommandOutcome:
    return CommandOutcome(text=(await edit_text(text)).rstrip("\n"))


EDITOR = Command(
    "editor",
    "write the message in $VISUAL or $EDITOR",
    _run_editor,
    group="terminal",
    takes="[TEXT]",
)


_SHOWN = 20
_HEADINGS = (
    Heading("#", is_number=True),
    Heading("Title"),
    Heading("Last used"),
    Heading("Messages", is_number=True),
    Heading("ID", is_whole=True),
)


async def _sessions(context: CommandContext, _: str) -> CommandOutcome:
    found = await context.conversation.recent()
    if not found:
        context.view.note("there is no earlier conversation")
        return CommandOutcome()
    rows = await rows_of(context.conversation, found[:_SHOWN])
    if context.dialogs.is_interactive:
        return await _pick(context, found, rows)
    context.streams.print(draw(_HEADINGS, rows, width=context.streams.width))
    context.view.note("hint: /resume NUMBER goes on with one.")
    return CommandOutcome()


async def _resume(context: CommandContext, which: str) -> CommandOutcome:
    if not which:
        return await _sessions(context, "")
    await context.conversation.resume(which)
    await show_resumed(context.conversation, context.view)
    return CommandOutcome()


async def _pick(
    context: CommandContext, found: list[Session], rows: list[tuple[str, ...]]
) -> CommandOutcome:
    drawn = [f"{title}  ({when}, {count} messages)" for _, title, when, count, _ in rows]
    chosen = await context.dialogs.pick("Go on with which conversation?", drawn)
    if chosen is None:
        return CommandOutcome()
    return await _resume(context, found[chosen].session_id)


async def rows_of(conversation: Conversation, found: list[Session]) -> list[tuple[str, ...]]:
    """Conversations as lines of a table."""
    pages = await asyncio.gather(
        *(conversation.host.history(each.session_id, limit=1) for each in found)
    )
    return [
        (
            str(number),
            one_line(session.title)
            + (" *" if session.session_id == conversation.session_id else ""),
            short_time(session.last_active),
            str(page.total),
            session.thread_id,
        )
        for number, (session, page) in enumerate(zip(found, pages, strict=True), 1)
    ]


async def _words(conversation: Conversation) -> Iterable[tuple[str, str]]:
    return [
        (each.thread_id, f"{one_line(each.title)} · {short_time(each.last_active)}")
        for each in await conversation.recent()
    ]


SESSIONS = Command("sessions", "list the conversations, and go on with one", _sessions)
RESUME = Command("resume", "go on with a conversation", _resume, takes="[NUMBER|ID]", words=_words)


_CELLS = 40


async def _run_context(context: CommandContext, _: str) -> CommandOutcome:
    talk = context.conversation
    use = await talk.host.context_use(talk.session_id, agent=talk.agent, model=talk.chosen_model)
    context.view.note("\n".join(lines_of(use)))
    return CommandOutcome()


def lines_of(use: ContextUse) -> list[str]:
    """The window as bars, a line for each part."""
    parts = [
        ("system prompt", use.system_prompt),
        ("tools", use.tools),
        ("MCP tools", use.mcp_tools),
        ("skills", use.skills),
        ("memory", use.memory),
        ("messages", use.messages),
    ]
    most = max(use.total, 1)
    share = f" of {use.window:,} ({use.total / use.window:.1%})" if use.window else ""
    head = f"{use.model}: about {use.total:,} tokens{share}"
    whole = [f"  {_bar(use.total, use.window)}"] if use.window else []
    drawn = [
        f"  {name:<14}{count:>9,}  {_bar(count, most, cells=24)}".rstrip() for name, count in parts
    ]
    return [head, *whole, *drawn, "hint: /compact makes room."]


def _bar(part: int, whole: int, *, cells: int = _CELLS) -> str:
    filled = min(cells, round(cells * part / whole)) if whole else 0
    filled = max(filled, 1) if part else filled
    return "█" * filled + "░" * (cells - filled)


CONTEXT = Command("context", "show what fills the model's window", _run_context)


async def _run_cost(context: CommandContext, _: str) -> CommandOutcome:
    talk = context.conversation
    here = await talk.host.token_cost(await talk.usage())
    today = await talk.host.token_cost_today()
    lines = [_cost_line("this conversation", here), _cost_line("today (UTC)", today)]
    if here.cost is None and today.cost is None and talk.host.address is None:
        lines.append("hint: DATAAGENT_PRICE_INPUT and _OUTPUT say what a million tokens cost.")
    context.view.note("\n".join(lines))
    return CommandOutcome()


def _cost_line(name: str, token_cost: TokenCost) -> str:
    total = token_cost.input_tokens + token_cost.output_tokens
    tokens = f"{total:,} tokens ({token_cost.input_tokens:,} in, {token_cost.output_tokens:,} out)"
    return f"  {name:<20}{tokens}" + (f" · {token_cost.cost}" if token_cost.cost else "")


COST = Command("cost", "show tokens and money of this conversation and of today", _run_cost)


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
