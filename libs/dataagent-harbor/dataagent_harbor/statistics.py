"""Figures over results: how many passed, how long they took, what they cost.

Latency is reported twice. `latency` is what was measured; with a rate it counts from the moment
each question was due. Without a rate, a server that stalls is asked less while it does and looks
better than it is (coordinated omission). `latency_corrected` adds the questions that were not asked
meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from dataagent_client import DataAgentClient
from dataagent_harbor.results import GradedResult
from dataagent_harbor.scoring import STATUSES

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """Prices of a million input and output tokens."""

    input: float
    output: float
    currency: str = "USD"

    def cost_of(self, tokens: Mapping[str, int]) -> float:
        """The cost of a run's tokens."""
        read, written = tokens.get("input_tokens", 0), tokens.get("output_tokens", 0)
        return (read * self.input + written * self.output) / _MILLION


@dataclass(frozen=True, slots=True)
class UsageCost:
    """The usage of the key's user since some day, at the server's prices."""

    amount: float
    currency: str

    def since(self, before: UsageCost) -> UsageCost:
        """The difference from an earlier amount."""
        return UsageCost(self.amount - before.amount, self.currency)


async def usage_cost(client: DataAgentClient, since: date) -> UsageCost | None:
    """The usage since a recent day; None if the server has no prices or nothing was used."""
    days = (await client.usage(since=since)).items
    currencies = [each.currency for each in days if each.currency is not None]
    if not days or not currencies:
        return None
    return UsageCost(sum(each.cost or 0.0 for each in days), currencies[0])


_SHARES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}
_MOST_ADDED = 10_000  # for one answer: a stall of hours must not fill the memory


def percentile(sorted_values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of them does not exceed."""
    return sorted_values[max(math.ceil(share * len(sorted_values)) - 1, 0)]


def latency(seconds: Sequence[float]) -> dict[str, float | None]:
    """Mean and percentiles in seconds; None each without a value."""
    if not seconds:
        return dict.fromkeys(("mean", *_SHARES, "max"))
    ordered = sorted(seconds)
    return {
        "mean": sum(ordered) / len(ordered),
        **{name: percentile(ordered, share) for name, share in _SHARES.items()},
        "max": ordered[-1],
    }


def correct_omission(seconds: Sequence[float], interval: float) -> list[float]:
    """The values, and those of the questions that were not asked while an answer was awaited.

    An asker with this `interval` that waits 10 intervals for an answer has missed nine questions,
    which would have waited 9, 8, … 1 intervals.
    """
    corrected = list(seconds)
    if interval <= 0:
        return corrected
    for value in seconds:
        missed = min(int(value / interval) - 1, _MOST_ADDED)
        corrected.extend(value - number * interval for number in range(1, missed + 1))
    return corrected


def summary(results: Sequence[GradedResult], prices: TokenPrices | None = None) -> dict[str, Any]:
    """The report's `summary`."""
    categories = sorted({each.question.category for each in results})
    answered = [each for each in results if _was_answered(each)]
    tokens = [each.transcript.tokens for each in results]
    return {
        **_counts(results),
        **_latencies(answered),
        "first_token": latency(
            [
                each.transcript.first_token_seconds
                for each in results
                if each.transcript.first_token_seconds is not None
            ]
        ),
        "tokens": {
            name: sum(each.get(name, 0) for each in tokens)
            for name in ("input_tokens", "output_tokens")
        },
        "cost": None if prices is None else _cost(results, prices),
        "by_category": {
            name: _category([each for each in results if each.question.category == name])
            for name in categories
        },
        "affected": [each.key for each in results if each.transcript.is_affected],
    }


def _latencies(answered: Sequence[GradedResult]) -> dict[str, Any]:
    """Latency from the moment a question was due, and corrected for coordinated omission."""
    seconds = [each.transcript.seconds for each in answered]
    served = [each.transcript.seconds - each.transcript.waited_seconds for each in answered]
    measured = latency(seconds)
    is_paced = any(each.transcript.waited_seconds > 0 for each in answered)
    interval = latency(served)["p50"] or 0.0
    whole = seconds if is_paced else correct_omission(seconds, interval)
    return {
        "latency": measured,
        "latency_corrected": {
            **latency(whole),
            "by": "due" if is_paced else "interval",
            "interval": None if is_paced else interval,
            "added": len(whole) - len(seconds),
        },
        "service_time": latency(served),
    }


def _cost(results: Sequence[GradedResult], prices: TokenPrices) -> dict[str, Any]:
    total = sum(prices.cost_of(each.transcript.tokens) for each in results)
    return {"total": total, "currency": prices.currency, "by": "prices"}


def _was_answered(result: GradedResult) -> bool:
    return result.transcript.end in ("answered", "cancelled")


def _category(results: Sequence[GradedResult]) -> dict[str, Any]:
    seconds = [each.transcript.seconds for each in results if _was_answered(each)]
    found = latency(seconds)
    return {**_counts(results), "p50": found["p50"], "p95": found["p95"]}


def _counts(results: Sequence[GradedResult]) -> dict[str, Any]:
    total = len(results)
    counts = {status: sum(each.status == status for each in results) for status in STATUSES}
    rate = counts["passed"] / total if total else 0.0
    return {"total": total, **counts, "success_rate": rate}
