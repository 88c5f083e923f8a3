"""`/skills`: what can be put before a task, and what was left out."""

from __future__ import annotations

from dataagent_cli.commands.registry import Command, CommandContext, Outcome

_SHOWN = 100


async def _run(context: CommandContext, _: str) -> Outcome:
    shelf = await context.conversation.skills()
    if shelf is None or not shelf.skills:
        context.view.note("there are no skills\nhint: DATAAGENT_SKILLS_DIRS names folders of them.")
        return Outcome()
    entries = list(shelf)
    width = max(len(entry.name) for entry in entries) + 3
    lines = [
        f"  {'/' + entry.name:<{width}}{_shortened(entry.description)}"
        + ("" if entry.source == "shipped" else f" ({entry.source})")
        for entry in entries
    ]
    lines += [f"left out: {each.path}: {each.reason}" for each in shelf.problems]
    context.view.note("\n".join([*lines, "hint: /NAME TASK uses one for that task."]))
    return Outcome()


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


SKILLS = Command("skills", "list the skills; /NAME TASK uses one", _run)
