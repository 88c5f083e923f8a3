"""What a user has used, as it goes over the wire."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Self

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from dataagent_core.identity.usage import DayUsage, today
from dataagent_server.models.fields import Day, Id, ResponseModel

_USUAL_DAYS = 30


class UsageQuery(BaseModel):
    """Whose usage of which days; without dates the last thirty."""

    model_config = ConfigDict(extra="forbid")

    user_id: Id | None = Field(default=None, description="Another user's; for administrators.")
    since: Day | None = Field(default=None, alias="from", description="The first day.")
    until: Day | None = Field(default=None, alias="to", description="The last day.")

    @property
    def days(self) -> tuple[date, date]:
        """The first and the last day that are asked for."""
        last = self.until or today()
        usual = date.fromordinal(max(1, last.toordinal() - _USUAL_DAYS + 1))
        return self.since or usual, last


UsageSearch = Annotated[UsageQuery, Query()]


class DayUsageInfo(ResponseModel):
    """What a user used on a day (UTC)."""

    user_id: str
    day: date
    runs: int
    input_tokens: int
    output_tokens: int
    tool_calls: int
    sql_seconds: float
    wall_seconds: float

    @classmethod
    def of(cls, usage: DayUsage) -> Self:
        """The public form of a day's usage."""
        amounts = usage.amounts
        return cls(
            user_id=usage.user_id,
            day=usage.day,
            runs=amounts.runs,
            input_tokens=amounts.input_tokens,
            output_tokens=amounts.output_tokens,
            tool_calls=amounts.tool_calls,
            sql_seconds=round(amounts.sql_seconds, 3),
            wall_seconds=round(amounts.wall_seconds, 3),
        )
