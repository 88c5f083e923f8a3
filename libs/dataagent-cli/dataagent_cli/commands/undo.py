"""`/undo`: take back what the last turn did to files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome
from dataagent_cli.ui.clean import one_line

if TYPE_CHECKING:
    from dataagent_core.workspace.undo import Change


async def _run(context: CommandContext, _: str) -> CommandOutcome:
    talk = context.conversation
    session_id = talk.require_session_id()
    changes = await talk.host.last_changes(session_id)
    if not changes:
        context.view.note("no files were changed that could be taken back")
        return CommandOutcome()
    context.view.note("\n".join(["the last turn that changed files:", *map(_line, changes)]))
    if not await context.dialogs.confirm("Take this back?"):
        context.view.note("nothing was taken back")
        return CommandOutcome()
    undone = await talk.host.take_back(session_id)
    back = sum(each.problem is None for each in undone)
    kept = [_line(each) for each in undone if each.problem]
    context.view.note("\n".join([f"taken back: {back} {'file' if back == 1 else 'files'}", *kept]))
    return CommandOutcome(text=talk.last_message or "")


def _line(change: Change) -> str:
    problem = f" (stays: {one_line(change.problem)})" if change.problem else ""
    return f"  {change.kind} {one_line(change.path)}{problem}"


UNDO = Command("undo", "take back the last turn's file changes", _run)
