"""What a run cost: tokens at given prices, or what the server says that its user used meanwhile.

Pure, but for `usage_cost`, which asks the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from dataagent_client import DataAgentClient

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """What a million tokens cost, in and out."""

    input: float
    output: float
    currency: str = "USD"

    def cost_of(self, tokens: Mapping[str, int]) -> float:
        """What a run's tokens cost."""
        asked, said = tokens.get("input_tokens", 0), tokens.get("output_tokens", 0)
        return (asked * self.input + said * self.output) / _MILLION


@dataclass(frozen=True, slots=True)
class UsageCost:
    """What the key's user has used from some day on, at the prices that the server has set."""

    amount: float
    currency: str

    def since(self, before: UsageCost) -> UsageCost:
        """What was used since then."""
        return UsageCost(self.amount - before.amount, self.currency)


async def usage_cost(client: DataAgentClient, since: date) -> UsageCost | None:
    """What was used since a day; None as long as the server has no prices and nothing was used.

    The day is one close to now: the server tells a hundred at once.
    """
    days = (await client.usage(since=since)).items
    currencies = [each.currency for each in days if each.currency is not None]
    if not days or not currencies:
        return None
    return UsageCost(sum(each.cost or 0.0 for each in days), currencies[0])
