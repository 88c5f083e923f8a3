"""`/cost`: tokens and money, of this conversation and of today."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome

if TYPE_CHECKING:
    from dataagent_cli.hosts import TokenCost


async def _run(context: CommandContext, _: str) -> CommandOutcome:
    talk = context.conversation
    here = await talk.host.token_cost(await talk.usage())
    today = await talk.host.token_cost_today()
    lines = [_line("this conversation", here), _line("today (UTC)", today)]
    if here.cost is None and today.cost is None and talk.host.address is None:
        lines.append("hint: DATAAGENT_PRICE_INPUT and _OUTPUT say what a million tokens cost.")
    context.view.note("\n".join(lines))
    return CommandOutcome()


def _line(name: str, token_cost: TokenCost) -> str:
    total = token_cost.input_tokens + token_cost.output_tokens
    tokens = f"{total:,} tokens ({token_cost.input_tokens:,} in, {token_cost.output_tokens:,} out)"
    return f"  {name:<20}{tokens}" + (f" · {token_cost.cost}" if token_cost.cost else "")


COST = Command("cost", "show tokens and money of this conversation and of today", _run)
