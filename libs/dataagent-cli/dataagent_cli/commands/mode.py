"""`/mode`: who says yes to calls that may do harm."""

from __future__ import annotations

from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome
from dataagent_core.config.state import Mode

_MEANINGS: dict[Mode, str] = {
    "manual": "calls that may do harm ask first",
    "auto": "calls run unasked",
    "plan": "nothing is changed: the agent says what it would do",
}
_TAKES = f"[{'|'.join(_MEANINGS)}]"


async def _run(context: CommandContext, word: str) -> CommandOutcome:
    state = context.conversation.state
    chosen: Mode | None = next((mode for mode in _MEANINGS if mode == word.lower()), None)
    if word and chosen is None:
        context.view.note(f"usage: /mode {_TAKES}")
        return CommandOutcome()
    if chosen is not None:
        state.switch(chosen)
    context.view.note(f"mode {state.mode}: {_MEANINGS[state.mode]}\n{_also(context)}".rstrip())
    return CommandOutcome()


def _also(context: CommandContext) -> str:
    approved = sorted(context.conversation.state.approved_kinds)
    return f"approved for this conversation: {', '.join(approved)}" if approved else ""


async def _words(_: object) -> list[tuple[str, str]]:
    return list(_MEANINGS.items())


MODE = Command(
    "mode",
    "manual asks you first, auto runs calls unasked, plan changes nothing",
    _run,
    group="agent",
    takes=_TAKES,
    words=_words,
)
