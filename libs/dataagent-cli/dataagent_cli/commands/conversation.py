"""Commands about the conversation: opening, resuming, undoing, measuring and exporting it."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dataagent_cli.commands.registry import CommandContext, CommandOutcome, command
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


@command("new", "start a new conversation", aliases=("clear",))
async def start_new(context: CommandContext, message: str) -> CommandOutcome:
    """Leave this conversation; a message opens the next one."""
    context.conversation.start_new()
    context.view.note("new conversation")
    return CommandOutcome(message=message or None)


@command("rename", "change the title of this conversation", takes="TITLE")
async def rename(context: CommandContext, title: str) -> CommandOutcome:
    """Set the title."""
    if not title:
        context.view.note("usage: /rename TITLE")
        return CommandOutcome()
    context.view.note(f"renamed: {await context.conversation.rename(title)}")
    return CommandOutcome()


@command("retry", "send the last message again")
async def retry(context: CommandContext, _: str) -> CommandOutcome:
    """Send the last message again, after an error that may pass."""
    message = context.conversation.last_message
    if message is None:
        context.view.note("no message yet\nhint: type a question and press Enter.")
    return CommandOutcome(message=message)


@command(
    "compact",
    "summarise the conversation, to make room for more",
    takes="[WHAT TO KEEP]",
)
async def compact(context: CommandContext, keep: str) -> CommandOutcome:
    """Summarise the older part of the conversation."""
    await context.conversation.compact(keep)
    return CommandOutcome()


@command("undo", "undo the file changes of the last turn")
async def undo(context: CommandContext, _: str) -> CommandOutcome:
    """Undo the file changes of the last turn that has any, after a confirmation."""
    talk = context.conversation
    session_id = talk.require_session_id()
    changes = await talk.host.last_changes(session_id)
    if not changes:
        context.view.note("no file changes to undo")
        return CommandOutcome()
    context.view.note("\n".join(["the last turn that changed files:", *map(_change_line, changes)]))
    if not await context.dialogs.confirm("Undo these changes?"):
        context.view.note("nothing was undone")
        return CommandOutcome()
    undone = await talk.host.take_back(session_id)
    back = sum(each.problem is None for each in undone)
    kept = [_change_line(each) for each in undone if each.problem]
    context.view.note("\n".join([f"undone: {back} {'file' if back == 1 else 'files'}", *kept]))
    return CommandOutcome(text=talk.last_message or "")


def _change_line(change: Change) -> str:
    problem = f" (not undone: {one_line(change.problem)})" if change.problem else ""
    return f"  {change.kind} {one_line(change.path)}{problem}"


@command("copy", "copy the last answer to the clipboard", group="terminal")
async def copy_answer(context: CommandContext, _: str) -> CommandOutcome:
    """Copy the last answer."""
    talk = context.conversation
    items = (await talk.history(limit=10)).items
    answers = [each.message.content for each in items if each.message.role == "assistant"]
    answer = next((text for text in reversed(answers) if text), None)
    if answer is None:
        context.view.note("no answer to copy yet")
        return CommandOutcome()
    way = await copy(answer, context.streams)
    context.view.note(f"copied {len(answer):,} characters {way}")
    return CommandOutcome()


@command(
    "editor",
    "write the message in $VISUAL or $EDITOR",
    group="terminal",
    takes="[TEXT]",
)
async def edit_message(context: CommandContext, text: str) -> CommandOutcome:
    """Edit a text, which then stands at the prompt."""
    return CommandOutcome(text=(await edit_text(text)).rstrip("\n"))


_SHOWN = 20
_HEADINGS = (
    Heading("#", is_number=True),
    Heading("Title"),
    Heading("Last used"),
    Heading("Messages", is_number=True),
    Heading("ID", is_whole=True),
)


async def _session_words(conversation: Conversation) -> Iterable[tuple[str, str]]:
    return [
        (each.thread_id, f"{one_line(each.title)} · {short_time(each.last_active)}")
        for each in await conversation.recent()
    ]


@command("sessions", "list the conversations, and continue one")
async def list_sessions(context: CommandContext, _: str) -> CommandOutcome:
    """The latest conversations: to choose from, or as a table where no one can be asked."""
    found = await context.conversation.recent()
    if not found:
        context.view.note("no earlier conversations")
        return CommandOutcome()
    rows = await rows_of(context.conversation, found[:_SHOWN])
    if context.dialogs.is_interactive:
        return await _pick(context, found, rows)
    context.streams.print(draw(_HEADINGS, rows, width=context.streams.width))
    context.view.note("hint: /resume NUMBER continues one.")
    return CommandOutcome()


@command("resume", "continue a conversation", takes="[NUMBER|ID]", words=_session_words)
async def resume(context: CommandContext, which: str) -> CommandOutcome:
    """Continue a conversation by its number or id; without either, choose one."""
    if not which:
        return await list_sessions.run(context, "")
    await context.conversation.resume(which)
    await show_resumed(context.conversation, context.view)
    return CommandOutcome()


async def _pick(
    context: CommandContext, found: list[Session], rows: list[tuple[str, ...]]
) -> CommandOutcome:
    labels = [f"{title}  ({when}, {count} messages)" for _, title, when, count, _ in rows]
    chosen = await context.dialogs.pick("Which conversation?", labels)
    if chosen is None:
        return CommandOutcome()
    return await resume.run(context, found[chosen].session_id)


async def rows_of(conversation: Conversation, found: list[Session]) -> list[tuple[str, ...]]:
    """Conversations as rows of a table."""
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


_CELLS = 40


@command("context", "show what fills the model's context window")
async def show_context(context: CommandContext, _: str) -> CommandOutcome:
    """The parts of the model's context window."""
    talk = context.conversation
    use = await talk.host.context_use(talk.session_id, agent=talk.agent, model=talk.chosen_model)
    context.view.note("\n".join(lines_of(use)))
    return CommandOutcome()


def lines_of(use: ContextUse) -> list[str]:
    """The context window as bars, a line for each part."""
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


@command("cost", "show tokens and cost of this conversation and of today")
async def show_cost(context: CommandContext, _: str) -> CommandOutcome:
    """Tokens and cost."""
    talk = context.conversation
    here = await talk.host.token_cost(await talk.usage())
    today = await talk.host.token_cost_today()
    lines = [_cost_line("this conversation", here), _cost_line("today (UTC)", today)]
    if here.cost is None and today.cost is None and talk.host.address is None:
        lines.append("hint: set DATAAGENT_PRICE_INPUT and _OUTPUT, the prices of a million tokens.")
    context.view.note("\n".join(lines))
    return CommandOutcome()


def _cost_line(name: str, token_cost: TokenCost) -> str:
    total = token_cost.input_tokens + token_cost.output_tokens
    tokens = f"{total:,} tokens ({token_cost.input_tokens:,} in, {token_cost.output_tokens:,} out)"
    return f"  {name:<20}{tokens}" + (f" · {token_cost.cost}" if token_cost.cost else "")


EXPORT_WORD = "conversation"
_HINT = "name a new file, in a folder that you can write to."
_USAGE = f"usage: /export {EXPORT_WORD} FILE.md|FILE.json"


async def export_conversation(context: CommandContext, rest: str) -> None:
    """Write the conversation to a file, as Markdown or JSON by its ending."""
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
    render = as_json if words[0].endswith(".json") else as_markdown
    await asyncio.to_thread(write_new, words[0], render(session, history.items))
    context.view.note(f"wrote {len(history.items)} of {history.total} messages to {words[0]}")


def write_new(name: str, text: str) -> None:
    """Write a new file.

    Raises:
        CannotWrite: it exists, or cannot be written.
    """
    try:
        with Path(name).expanduser().open("x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise CannotWrite(f"Cannot write {name}: {error.strerror}.", hint=_HINT) from error


def as_markdown(session: Session, items: Sequence[HistoryItem]) -> str:
    """A conversation as Markdown."""
    parts = [f"# {session.title}", f"{session.created_at:%Y-%m-%d %H:%M} UTC"]
    for each in items:
        who = "You" if each.message.role == "user" else each.message.role.capitalize()
        parts.append(f"## {who}")
        parts += _work_lines(each)
        parts.append(each.message.content or f"({each.message.status})")
    return "\n\n".join(parts) + "\n"


def _work_lines(item: HistoryItem) -> list[str]:
    """A line for each call and artefact of an answer."""
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
    """A conversation as JSON: messages with the events of their runs."""
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
