"""`/api/v1/usage`: what a user has used, by day."""

from __future__ import annotations

from fastapi import APIRouter

from dataagent_server.api.route import PrivateRoute
from dataagent_server.deps.providers import CurrentUser, UsageDep
from dataagent_server.models.fields import Page
from dataagent_server.models.usage import DayUsageInfo, UsageSearch

router = APIRouter(prefix="/usage", tags=["usage"], route_class=PrivateRoute)


@router.get("", operation_id="list_usage")
async def list_usage(user: CurrentUser, usage: UsageDep, search: UsageSearch) -> Page[DayUsageInfo]:
    """The caller's usage, the newest day first; another user's for administrators."""
    found = await usage.days_for(user, *search.days, user_id=search.user_id)
    items = [DayUsageInfo.of(each) for each in found]
    return Page[DayUsageInfo](items=items, total=len(items))
