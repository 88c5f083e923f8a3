"""`/agents`: who can answer, and choosing another.

`/model`: which model answers, and choosing another for this sitting.

`/mode`: who says yes to calls that may do harm.

`/skills`: what can be put before a task, and what was left out.

`/tools`: what the agent can call, and which calls ask first.

`/memory`: what the assistants remember of the person at this terminal; to be seen and erased.

Without words it lists; `show ASSISTANT/FILE` shows a text, `forget` erases everything and `forget
ASSISTANT` what one of them knows. Below: core's `Memories`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome
from dataagent_cli.ui.clean import one_line
from dataagent_cli.ui.describe import shorten
from dataagent_cli.ui.tables import Heading, draw
from dataagent_core.config.state import Mode
from dataagent_core.errors import AgentNotFound

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dataagent_cli.conversation import Conversation
    from dataagent_cli.hosts import SkillSummary
    from dataagent_core.identity import Principal
    from dataagent_core.workspace import Memories


_ALIASES = {"agent": "general"}
_SUPERVISOR = "supervisor"


async def _run_agents(context: CommandContext, name: str) -> CommandOutcome:
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


async def _agent_names(conversation: Conversation) -> Iterable[tuple[str, str]]:
    return [(each.name, each.description) for each in await conversation.host.agents()]


AGENTS = Command(
    "agents",
    "list the agents, or choose one",
    _run_agents,
    group="agent",
    takes="[NAME]",
    words=_agent_names,
)


_EXAMPLES = ("offline", "openai:gpt-5", "openai:gpt-5-mini", "anthropic:claude-sonnet-4-5")


async def _run_model(context: CommandContext, name: str) -> CommandOutcome:
    talk = context.conversation
    if not name:
        hint = "hint: /model NAME chooses another, such as openai:gpt-5."
        context.view.note(f"{await talk.model()} answers\n{hint}")
        return CommandOutcome()
    await talk.choose_model(name)
    context.view.note(f"{name} answers from now on, in this terminal")
    return CommandOutcome()


async def _model_names(conversation: Conversation) -> Iterable[tuple[str, str]]:
    known = [await conversation.model(), await conversation.host.model(), *_EXAMPLES]
    return [(name, "") for name in dict.fromkeys(known)]


MODEL = Command(
    "model",
    "show or choose the model",
    _run_model,
    group="agent",
    takes="[NAME]",
    words=_model_names,
)


_MEANINGS: dict[Mode, str] = {
    "manual": "calls that may do harm ask first",
    "auto": "calls run unasked",
    "plan": "nothing is changed: the agent says what it would do",
}
_TAKES = f"[{'|'.join(_MEANINGS)}]"


async def _run_mode(context: CommandContext, word: str) -> CommandOutcome:
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


async def _mode_names(_: object) -> list[tuple[str, str]]:
    return list(_MEANINGS.items())


MODE = Command(
    "mode",
    "manual asks you first, auto runs calls unasked, plan changes nothing",
    _run_mode,
    group="agent",
    takes=_TAKES,
    words=_mode_names,
)


_UNBROKEN = 10_000


async def _run_skills(context: CommandContext, _: str) -> CommandOutcome:
    skills = await context.conversation.skills()
    if not skills.known:
        context.view.note("there are no skills\nhint: DATAAGENT_SKILLS_DIRS names folders of them.")
        return CommandOutcome()
    width = max(len(entry.name) for entry in skills.known) + 3
    room = (context.streams.width or _UNBROKEN) - width - 3
    lines = [f"  {'/' + each.name:<{width}}{_skill_summary(each, room)}" for each in skills.known]
    lines += [f"left out: {each}" for each in skills.left_out]
    context.view.note("\n".join([*lines, "hint: /NAME TASK uses one for that task."]))
    return CommandOutcome()


def _skill_summary(entry: SkillSummary, room: int) -> str:
    """What it is for, and where it comes from if it is not ours, on one line."""
    source = "" if entry.source == "shipped" else f" ({entry.source})"
    return shorten(entry.description, room - len(source)) + source


SKILLS = Command("skills", "list the skills; /NAME TASK uses one", _run_skills, group="agent")


_HEADINGS = (
    Heading("Tool", is_whole=True),
    Heading("Approval", is_whole=True),
    Heading("From"),
    Heading("What it does"),
)
_ASKS = {True: "asks first", False: "runs", None: "-"}
_SHOWN = 100


async def _run_tools(context: CommandContext, _: str) -> CommandOutcome:
    talk = context.conversation
    rows = [
        (
            each.name,
            _ASKS[each.asks],
            each.server or "built in",
            _short_description(each.description),
        )
        for each in await talk.host.tools(talk.agent)
    ]
    context.streams.print(draw(_HEADINGS, rows, width=context.streams.width))
    context.view.note(f"{len(rows)} tools of {talk.agent}\nhint: /mcp adds servers with more.")
    return CommandOutcome()


def _short_description(text: str) -> str:
    return one_line(text.strip().split("\n", 1)[0])[:_SHOWN]


TOOLS = Command("tools", "list what the agent can call", _run_tools, group="agent")


_USAGE = "usage: /memory [show ASSISTANT/FILE | forget [ASSISTANT]]"


def memory_command(memories: Memories, person: Principal) -> Command:
    """The command, for this person."""

    async def run(context: CommandContext, rest: str) -> CommandOutcome:
        context.view.note(await _dispatch_memory(memories, person, rest))
        return CommandOutcome()

    return Command(
        "memory",
        "show or erase what is remembered of you",
        run,
        group="agent",
        takes="[show|forget]",
        words=_memory_arguments,
    )


async def _dispatch_memory(memories: Memories, person: Principal, rest: str) -> str:
    verb, _, what = rest.partition(" ")
    what = what.strip()
    match verb:
        case "" if not what:
            return await _list_memories(memories, person)
        case "show" if "/" in what:
            assistant_id, _, path = what.partition("/")
            return await memories.read(person.user_id, assistant_id, path, asked_by=person)
        case "forget":
            await memories.erase(person.user_id, asked_by=person, assistant_id=what or None)
            return f"forgotten: {what or 'everything'}"
        case _:
            return _USAGE


async def _list_memories(memories: Memories, person: Principal) -> str:
    found = await memories.list(person.user_id, asked_by=person)
    if not found:
        return "nothing is remembered of you"
    lines = [
        f"  {each.assistant_id}/{each.path}  {each.bytes} bytes, {each.updated_at:%Y-%m-%d}"
        for each in found
    ]
    return "\n".join([*lines, "hint: /memory show ASSISTANT/FILE, /memory forget."])


async def _memory_arguments(_: Conversation) -> Iterable[tuple[str, str]]:
    return [("show", "show a text"), ("forget", "erase it")]
