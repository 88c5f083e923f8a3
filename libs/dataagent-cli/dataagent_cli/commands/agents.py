"""Commands about who answers and how: agents, models, modes, skills, tools and memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_cli.commands.registry import CommandContext, CommandOutcome, command
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
_UNBROKEN = 10_000


async def _agent_names(conversation: Conversation) -> Iterable[tuple[str, str]]:
    return [(each.name, each.description) for each in await conversation.host.agents()]


@command(
    "agents", "list the agents, or choose one", group="agent", takes="[NAME]", words=_agent_names
)
async def choose_agent(context: CommandContext, name: str) -> CommandOutcome:
    """List the agents; with a name, let that one answer."""
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
    columns = (context.streams.width or 100) - width - 4
    lines = [
        f"{'*' if each.name == now else ' '} {each.name:<{width}}"
        f"{shorten(each.description, columns)}"
        for each in known
    ]
    context.view.note("\n".join([*lines, "hint: /agents NAME chooses another."]))
    return CommandOutcome()


_EXAMPLES = ("offline", "openai:gpt-5", "openai:gpt-5-mini", "anthropic:claude-sonnet-4-5")


async def _model_names(conversation: Conversation) -> Iterable[tuple[str, str]]:
    known = [await conversation.model(), await conversation.host.model(), *_EXAMPLES]
    return [(name, "") for name in dict.fromkeys(known)]


@command("model", "show or choose the model", group="agent", takes="[NAME]", words=_model_names)
async def choose_model(context: CommandContext, name: str) -> CommandOutcome:
    """Name the model; with a name, let that one answer in this terminal."""
    talk = context.conversation
    if not name:
        hint = "hint: /model NAME chooses another, such as openai:gpt-5."
        context.view.note(f"{await talk.model()} answers\n{hint}")
        return CommandOutcome()
    await talk.choose_model(name)
    context.view.note(f"{name} answers from now on, in this terminal")
    return CommandOutcome()


_MODES: dict[Mode, str] = {
    "manual": "risky calls ask you first",
    "auto": "calls run without asking",
    "plan": "nothing is changed: the agent says what it would do",
}
_MODE_NAMES = f"[{'|'.join(_MODES)}]"


async def _mode_names(_: object) -> list[tuple[str, str]]:
    return list(_MODES.items())


@command(
    "mode",
    "manual asks you first, auto runs calls without asking, plan changes nothing",
    group="agent",
    takes=_MODE_NAMES,
    words=_mode_names,
)
async def choose_mode(context: CommandContext, word: str) -> CommandOutcome:
    """Name the mode and the approvals of this conversation; with a word, switch the mode."""
    state = context.conversation.state
    chosen: Mode | None = next((mode for mode in _MODES if mode == word.lower()), None)
    if word and chosen is None:
        context.view.note(f"usage: /mode {_MODE_NAMES}")
        return CommandOutcome()
    if chosen is not None:
        state.switch(chosen)
    lines = [f"mode {state.mode}: {_MODES[state.mode]}"]
    if approved := sorted(state.approved_kinds):
        lines.append(f"approved for this conversation: {', '.join(approved)}")
    context.view.note("\n".join(lines))
    return CommandOutcome()


@command("skills", "list the skills; /NAME TASK uses one", group="agent")
async def list_skills(context: CommandContext, _: str) -> CommandOutcome:
    """The skills with their summaries, and those that could not be read."""
    skills = await context.conversation.skills()
    if not skills.known:
        context.view.note("no skills\nhint: DATAAGENT_SKILLS_DIRS names folders of skills.")
        return CommandOutcome()
    width = max(len(entry.name) for entry in skills.known) + 3
    columns = (context.streams.width or _UNBROKEN) - width - 3
    lines = [
        f"  {'/' + each.name:<{width}}{_skill_summary(each, columns)}" for each in skills.known
    ]
    lines += [f"left out: {each}" for each in skills.left_out]
    context.view.note("\n".join([*lines, "hint: /NAME TASK uses a skill for a task."]))
    return CommandOutcome()


def _skill_summary(entry: SkillSummary, columns: int) -> str:
    """Its description on one line, with the source of one that is not shipped."""
    source = "" if entry.source == "shipped" else f" ({entry.source})"
    return shorten(entry.description, columns - len(source)) + source


_HEADINGS = (
    Heading("Tool", is_whole=True),
    Heading("Approval", is_whole=True),
    Heading("From"),
    Heading("What it does"),
)
_ASKS = {True: "asks first", False: "runs", None: "-"}
_SHOWN = 100


@command("tools", "list the tools of the agent, and which ask first", group="agent")
async def list_tools(context: CommandContext, _: str) -> CommandOutcome:
    """The tools as a table."""
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


_USAGE = "usage: /memory [show ASSISTANT/FILE | forget [ASSISTANT]]"


async def _memory_words(_: Conversation) -> Iterable[tuple[str, str]]:
    return [("show", "show a text"), ("forget", "erase memories")]


@command(
    "memory",
    "show or erase what the assistants remember about you",
    group="agent",
    takes="[show|forget]",
    words=_memory_words,
    is_local=True,
)
async def manage_memory(context: CommandContext, rest: str) -> CommandOutcome:
    """List the memories; `show` one, or `forget` all or those of one assistant."""
    local = context.require_local("memory")
    context.view.note(await _dispatch_memory(local.memories, local.person, rest))
    return CommandOutcome()


async def _dispatch_memory(memories: Memories, person: Principal, rest: str) -> str:
    verb, _, name = rest.partition(" ")
    name = name.strip()
    match verb:
        case "" if not name:
            return await _list_memories(memories, person)
        case "show" if "/" in name:
            assistant_id, _, path = name.partition("/")
            return await memories.read(person.user_id, assistant_id, path, asked_by=person)
        case "forget":
            await memories.erase(person.user_id, asked_by=person, assistant_id=name or None)
            return f"forgotten: {name or 'everything'}"
        case _:
            return _USAGE


async def _list_memories(memories: Memories, person: Principal) -> str:
    found = await memories.list(person.user_id, asked_by=person)
    if not found:
        return "nothing is remembered about you"
    lines = [
        f"  {each.assistant_id}/{each.path}  {each.bytes} bytes, {each.updated_at:%Y-%m-%d}"
        for each in found
    ]
    return "\n".join([*lines, "hint: /memory show ASSISTANT/FILE, /memory forget."])
