"""`/cost`: tokens and money, of this conversation and of today."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_cli.commands.registry import Command, CommandContext, Outcome

if TYPE_CHECKING:
    from dataagent_cli.hosts import Spent


async def _run(context: CommandContext, _: str) -> Outcome:
    talk = context.conversation
    here = await talk.host.spent(await talk.usage())
    today = await talk.host.spent_today()
    lines = [_line("this conversation", here), _line("today (UTC)", today)]
    if here.cost is None and today.cost is None and talk.host.address is None:
        lines.append("hint: DATAAGENT_PRICE_INPUT and _OUTPUT say what a million tokens cost.")
    context.view.note("\n".join(lines))
    return Outcome()


def _line(name: str, spent: Spent) -> str:
    total = spent.input_tokens + spent.output_tokens
    tokens = f"{total:,} tokens ({spent.input_tokens:,} in, {spent.output_tokens:,} out)"
    return f"  {name:<20}{tokens}" + (f" · {spent.cost}" if spent.cost else "")


COST = Command("cost", "show tokens and money of this conversation and of today", _run)
