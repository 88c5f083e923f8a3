"""`/tools`: what the agent can call, and which calls ask first."""

from __future__ import annotations

from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome
from dataagent_cli.ui.clean import one_line
from dataagent_cli.ui.table import Heading, draw

_HEADINGS = (
    Heading("Tool", is_whole=True),
    Heading("Approval", is_whole=True),
    Heading("From"),
    Heading("What it does"),
)
_ASKS = {True: "asks first", False: "runs", None: "-"}
_SHOWN = 100


async def _run(context: CommandContext, _: str) -> CommandOutcome:
    talk = context.conversation
    rows = [
        (each.name, _ASKS[each.asks], each.server or "built in", _short(each.description))
        for each in await talk.host.tools(talk.agent)
    ]
    context.streams.print(draw(_HEADINGS, rows, width=context.streams.width))
    context.view.note(f"{len(rows)} tools of {talk.agent}\nhint: /mcp adds servers with more.")
    return CommandOutcome()


def _short(text: str) -> str:
    return one_line(text.strip().split("\n", 1)[0])[:_SHOWN]


TOOLS = Command("tools", "list what the agent can call", _run, group="agent")
