"""What a run used, and what the conversation has used so far, in a few words. No drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_core.events import DoneEvent

if TYPE_CHECKING:
    from dataagent_core.config import Prices


class Totals:
    """Adds up the tokens of one run after another, and what they cost if prices are set."""

    def __init__(self, prices: Prices | None = None) -> None:
        self._prices = prices
        self._runs = 0
        self._tokens = 0
        self._cost = 0.0

    def after(self, done: DoneEvent, seconds: float | None = None) -> str:
        """`1,234 tokens · $0.0123 · 3.2 s`; from the second run on with the sum of all."""
        usage = done.token_usage or {}
        tokens = tokens_of(usage)
        cost = 0.0 if self._prices is None else self._prices.cost_of(usage)
        self._runs += bool(tokens)
        self._tokens += tokens
        self._cost += cost
        parts = self._amounts(tokens, cost)
        if seconds is not None:
            parts.append(f"{seconds:.1f} s")
        if tokens and self._runs > 1:
            parts.append(f"session: {self._amounts(self._tokens, self._cost)[-1]}")
        return " · ".join(parts)

    def _amounts(self, tokens: int, cost: float) -> list[str]:
        if not tokens:
            return []
        priced = [] if self._prices is None else [self._prices.shown(cost)]
        return [f"{tokens:,} tokens", *priced]


def tokens_of(usage: dict[str, int]) -> int:
    """All tokens of a run."""
    split = sum(usage.get(name, 0) for name in ("input_tokens", "output_tokens"))
    return usage.get("total_tokens", split)
