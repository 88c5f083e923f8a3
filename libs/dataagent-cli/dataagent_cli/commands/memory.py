"""`/memory`: what the assistants remember of the person at this terminal; to be seen and erased.

Without words it lists; `show ASSISTANT/FILE` shows a text, `forget` erases everything and `forget
ASSISTANT` what one of them knows. Below: core's `Memories`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dataagent_cli.conversation import Conversation
    from dataagent_core.identity import Principal
    from dataagent_core.workspace import Memories

_USAGE = "usage: /memory [show ASSISTANT/FILE | forget [ASSISTANT]]"


def memory_command(memories: Memories, person: Principal) -> Command:
    """The command, for this person."""

    async def run(context: CommandContext, rest: str) -> CommandOutcome:
        context.view.note(await _dispatch(memories, person, rest))
        return CommandOutcome()

    return Command(
        "memory",
        "show or erase what is remembered of you",
        run,
        group="agent",
        takes="[show|forget]",
        words=_words,
    )


async def _dispatch(memories: Memories, person: Principal, rest: str) -> str:
    verb, _, what = rest.partition(" ")
    what = what.strip()
    match verb:
        case "" if not what:
            return await _list(memories, person)
        case "show" if "/" in what:
            assistant_id, _, path = what.partition("/")
            return await memories.read(person.user_id, assistant_id, path, asked_by=person)
        case "forget":
            await memories.erase(person.user_id, asked_by=person, assistant_id=what or None)
            return f"forgotten: {what or 'everything'}"
        case _:
            return _USAGE


async def _list(memories: Memories, person: Principal) -> str:
    found = await memories.list(person.user_id, asked_by=person)
    if not found:
        return "nothing is remembered of you"
    lines = [
        f"  {each.assistant_id}/{each.path}  {each.bytes} bytes, {each.updated_at:%Y-%m-%d}"
        for each in found
    ]
    return "\n".join([*lines, "hint: /memory show ASSISTANT/FILE, /memory forget."])


async def _words(_: Conversation) -> Iterable[tuple[str, str]]:
    return [("show", "show a text"), ("forget", "erase it")]
