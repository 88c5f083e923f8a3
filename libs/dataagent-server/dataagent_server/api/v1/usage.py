"""`/api/v1/usage`: usage by day, of the caller; of all users for administrators."""

from __future__ import annotations

from fastapi import APIRouter

from dataagent_server.api.deps import ContainerDep, CurrentUser, UsageDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.models.accounts import DayUsageInfo, UsageSearch
from dataagent_server.models.fields import Page

router = APIRouter(prefix="/usage", tags=["usage"], route_class=PrivateRoute)


@router.get("", operation_id="list_usage")
async def list_usage(
    user: CurrentUser, usage: UsageDep, container: ContainerDep, search: UsageSearch
) -> Page[DayUsageInfo]:
    """The caller's usage, the newest day first; for administrators another user's, or all users'.

    Costs use the current prices, whichever model was used.
    """
    found, total = await usage.page_for(
        user,
        *search.days,
        user_id=search.user_id,
        is_everyone=search.all_users,
        limit=search.limit,
        offset=search.offset,
    )
    prices = container.settings.prices
    return Page[DayUsageInfo](items=[DayUsageInfo.of(each, prices) for each in found], total=total)
