"""What tokens cost, as an operator says it: one price for all models. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_MILLION = 1_000_000
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "CNY": "¥", "JPY": "¥"}


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost, in and out."""

    input: float
    output: float
    currency: str

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """What so many tokens cost."""
        return (input_tokens * self.input + output_tokens * self.output) / _MILLION

    def cost_of(self, usage: Mapping[str, int]) -> float:
        """What a run's `token_usage` cost."""
        return self.cost(usage.get("input_tokens", 0), usage.get("output_tokens", 0))

    def shown(self, cost: float) -> str:
        """`$0.0123`; a currency without a sign of its own is named."""
        sign = _SIGNS.get(self.currency)
        return f"{cost:.4f} {self.currency}" if sign is None else f"{sign}{cost:.4f}"
