"""What a run cost, by what the server says before and after it."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from dataagent_client import DataAgentClient
from dataagent_harbor.statistics import UsageCost, usage_cost

from .fake_server import serve_fake

TODAY = date(2026, 3, 1)


def used(day: date, cost: float) -> dict[str, Any]:
    """A day, as the server tells it."""
    nothing = dict.fromkeys(("tool_calls", "sql_seconds", "wall_seconds"), 0)
    tokens = {"runs": 1, "input_tokens": 1, "output_tokens": 1}
    who = {"day": day.isoformat(), "user_id": "ana", "username": None}
    return {**who, **tokens, **nothing, "cost": cost, "currency": "USD"}


async def test_what_was_used_on_a_new_day_is_not_set_off_against_an_old_one() -> None:
    yesterday = TODAY - timedelta(days=1)
    async with serve_fake() as fake_server, DataAgentClient(fake_server.url, "k") as client:
        fake_server.days = [used(TODAY - timedelta(days=number), 1.0) for number in range(1, 200)]
        before = await usage_cost(client, yesterday)
        fake_server.days.insert(0, used(TODAY, 0.5))
        after = await usage_cost(client, yesterday)
    assert before is not None
    assert after is not None
    assert after.since(before) == UsageCost(0.5, "USD")
