"""What a user has used, as it goes over the wire."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Self

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from dataagent_core.config import Prices
from dataagent_core.identity.usage import DayUsage, today
from dataagent_server.models.fields import Day, Id, ResponseModel

_USUAL_DAYS = 30


class UsageQuery(BaseModel):
    """Whose usage of which days; without dates the last thirty. Everybody's comes in pages."""

    model_config = ConfigDict(extra="forbid")

    user_id: Id | None = Field(default=None, description="Another user's; for administrators.")
    all_users: bool = Field(default=False, description="Everybody's; for administrators.")
    since: Day | None = Field(default=None, alias="from", description="The first day.")
    until: Day | None = Field(default=None, alias="to", description="The last day.")
    limit: int = Field(default=1000, ge=1, le=10_000)
    offset: int = Field(default=0, ge=0, lt=2**31)

    @model_validator(mode="after")
    def _refuse_one_of_all(self) -> Self:
        if self.all_users and self.user_id is not None:
            raise PydanticCustomError("usage", "Name a user or ask for all, not both")
        return self

    @property
    def days(self) -> tuple[date, date]:
        """The first and the last day that are asked for."""
        last = self.until or today()
        usual = date.fromordinal(max(1, last.toordinal() - _USUAL_DAYS + 1))
        return self.since or usual, last


UsageSearch = Annotated[UsageQuery, Query()]


class DayUsageInfo(ResponseModel):
    """What a user used on a day (UTC), and what its tokens cost at the prices that are set."""

    user_id: str
    username: str | None = Field(description="Null for someone without an account.")
    day: date
    runs: int
    input_tokens: int
    output_tokens: int
    tool_calls: int
    sql_seconds: float
    wall_seconds: float
    cost: float | None = Field(description="Null as long as no price is set.", examples=[0.42])
    currency: str | None = Field(examples=["USD"])

    @classmethod
    def of(cls, usage: DayUsage, prices: Prices | None) -> Self:
        """The public form of a day's usage."""
        amounts = usage.amounts
        tokens = amounts.input_tokens, amounts.output_tokens
        return cls(
            user_id=usage.user_id,
            username=usage.username,
            day=usage.day,
            runs=amounts.runs,
            input_tokens=amounts.input_tokens,
            output_tokens=amounts.output_tokens,
            tool_calls=amounts.tool_calls,
            sql_seconds=round(amounts.sql_seconds, 3),
            wall_seconds=round(amounts.wall_seconds, 3),
            cost=None if prices is None else round(prices.cost(*tokens), 6),
            currency=None if prices is None else prices.currency,
        )
