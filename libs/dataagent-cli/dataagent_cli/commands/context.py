"""`/context`: what fills the model's window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome

if TYPE_CHECKING:
    from dataagent_core.app.context_usage import ContextUse

_CELLS = 40


async def _run(context: CommandContext, _: str) -> CommandOutcome:
    talk = context.conversation
    use = await talk.host.context_use(talk.session_id, agent=talk.agent, model=talk.chosen_model)
    context.view.note("\n".join(lines_of(use)))
    return CommandOutcome()


def lines_of(use: ContextUse) -> list[str]:
    """The window as bars, a line for each part."""
    parts = [
        ("system prompt", use.system_prompt),
        ("tools", use.tools),
        ("MCP tools", use.mcp_tools),
        ("skills", use.skills),
        ("memory", use.memory),
        ("messages", use.messages),
    ]
    most = max(use.total, 1)
    share = f" of {use.window:,} ({use.total / use.window:.1%})" if use.window else ""
    head = f"{use.model}: about {use.total:,} tokens{share}"
    whole = [f"  {_bar(use.total, use.window)}"] if use.window else []
    drawn = [
        f"  {name:<14}{count:>9,}  {_bar(count, most, cells=24)}".rstrip() for name, count in parts
    ]
    return [head, *whole, *drawn, "hint: /compact makes room."]


def _bar(part: int, whole: int, *, cells: int = _CELLS) -> str:
    filled = min(cells, round(cells * part / whole)) if whole else 0
    filled = max(filled, 1) if part else filled
    return "█" * filled + "░" * (cells - filled)


CONTEXT = Command("context", "show what fills the model's window", _run)
