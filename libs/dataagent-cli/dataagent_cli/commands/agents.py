"""`/agents`: who can answer, and choosing another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome
from dataagent_cli.ui.describe import shorten
from dataagent_core.errors import AgentNotFound

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dataagent_cli.conversation import Conversation

_ALIASES = {"agent": "general"}
_SUPERVISOR = "supervisor"


async def _run(context: CommandContext, name: str) -> CommandOutcome:
    talk = context.conversation
    known = await talk.host.agents()
    if name:
        names = [each.name for each in known]
        if name not in (*names, *_ALIASES, _SUPERVISOR):
            raise AgentNotFound(f"There is no agent {name!r}. There are: {', '.join(names)}.")
        talk.choose_agent(name)
        context.view.note(f"{name} answers from now on")
        return CommandOutcome()
    now = _ALIASES.get(talk.agent, talk.agent)
    width = max(len(each.name) for each in known) + 2
    room = (context.streams.width or 100) - width - 4
    lines = [
        f"{'*' if each.name == now else ' '} {each.name:<{width}}{shorten(each.description, room)}"
        for each in known
    ]
    context.view.note("\n".join([*lines, "hint: /agents NAME lets another one answer."]))
    return CommandOutcome()


async def _words(conversation: Conversation) -> Iterable[tuple[str, str]]:
    return [(each.name, each.description) for each in await conversation.host.agents()]


AGENTS = Command(
    "agents", "list the agents, or choose one", _run, group="agent", takes="[NAME]", words=_words
)
