"""`/model`: which model answers, and choosing another for this sitting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dataagent_cli.conversation import Conversation

_EXAMPLES = ("offline", "openai:gpt-5", "openai:gpt-5-mini", "anthropic:claude-sonnet-4-5")


async def _run(context: CommandContext, name: str) -> CommandOutcome:
    talk = context.conversation
    if not name:
        hint = "hint: /model NAME chooses another, such as openai:gpt-5."
        context.view.note(f"{await talk.model()} answers\n{hint}")
        return CommandOutcome()
    await talk.choose_model(name)
    context.view.note(f"{name} answers from now on, in this terminal")
    return CommandOutcome()


async def _words(conversation: Conversation) -> Iterable[tuple[str, str]]:
    known = [await conversation.model(), await conversation.host.model(), *_EXAMPLES]
    return [(name, "") for name in dict.fromkeys(known)]


MODEL = Command(
    "model", "show or choose the model", _run, group="agent", takes="[NAME]", words=_words
)
