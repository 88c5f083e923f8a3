"""What a run cost, by what the server says before and after it.

The client is a stand-in: a server that has been used for half a year cannot be had in a test.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import cast

from dataagent_client import DataAgentClient, DayUsage, Page
from dataagent_harbor.prices import Spent, spent

TODAY = date(2026, 3, 1)


class Server:
    """Has been used every day until yesterday, for 1 USD a day."""

    def __init__(self) -> None:
        self.days = {TODAY - timedelta(days=number): 1.0 for number in range(1, 200)}

    async def usage(self, *, since: date | None = None, limit: int = 100) -> Page[DayUsage]:
        found = sorted((day for day in self.days if since is None or day >= since), reverse=True)
        items = [
            DayUsage(
                day=day,
                user_id="ana",
                username=None,
                runs=1,
                input_tokens=1,
                output_tokens=1,
                tool_calls=0,
                sql_seconds=0,
                wall_seconds=0,
                cost=self.days[day],
                currency="USD",
            )
            for day in found[:limit]
        ]
        return Page(items, len(found))


async def test_what_was_used_on_a_new_day_is_not_set_off_against_an_old_one() -> None:
    server = Server()
    client, yesterday = cast("DataAgentClient", server), TODAY - timedelta(days=1)
    before = await spent(client, yesterday)
    server.days[TODAY] = 0.5
    after = await spent(client, yesterday)
    assert before is not None
    assert after is not None
    assert after.since(before) == Spent(0.5, "USD")
