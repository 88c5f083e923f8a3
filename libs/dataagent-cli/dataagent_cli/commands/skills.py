"""`/skills`: what can be put before a task, and what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome
from dataagent_cli.ui.describe import shorten

if TYPE_CHECKING:
    from dataagent_cli.hosts import SkillSummary

_UNBROKEN = 10_000


async def _run(context: CommandContext, _: str) -> CommandOutcome:
    skills = await context.conversation.skills()
    if not skills.known:
        context.view.note("there are no skills\nhint: DATAAGENT_SKILLS_DIRS names folders of them.")
        return CommandOutcome()
    width = max(len(entry.name) for entry in skills.known) + 3
    room = (context.streams.width or _UNBROKEN) - width - 3
    lines = [f"  {'/' + each.name:<{width}}{_about(each, room)}" for each in skills.known]
    lines += [f"left out: {each}" for each in skills.left_out]
    context.view.note("\n".join([*lines, "hint: /NAME TASK uses one for that task."]))
    return CommandOutcome()


def _about(entry: SkillSummary, room: int) -> str:
    """What it is for, and where it comes from if it is not ours, on one line."""
    source = "" if entry.source == "shipped" else f" ({entry.source})"
    return shorten(entry.description, room - len(source)) + source


SKILLS = Command("skills", "list the skills; /NAME TASK uses one", _run, group="agent")
