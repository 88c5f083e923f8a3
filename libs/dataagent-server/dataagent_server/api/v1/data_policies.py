"""Policies of a data source, and the user attributes that row filters use. For administrators."""

from __future__ import annotations

from fastapi import APIRouter

from dataagent_server.api.deps import AdminUser, DataDep, SourceDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.models.data import (
    AttributesBody,
    AttributesInfo,
    PolicyBody,
    PolicyInfo,
    PolicyUpdate,
)
from dataagent_server.models.fields import Page, PathId, check_same

router = APIRouter(tags=["data policies"], route_class=PrivateRoute)
_POLICIES = "/data-sources/{source_id}/policies"
_ONE_POLICY = _POLICIES + "/{policy_id}"
_ATTRIBUTES = "/users/{user_id}/attributes"


@router.get(_POLICIES, operation_id="list_policies")
async def list_policies(_: AdminUser, source: SourceDep, data: DataDep) -> Page[PolicyInfo]:
    """A source's policies, by name."""
    found = await data.sources.policies.list(source.source_id)
    items = [PolicyInfo.of(each) for each in found]
    return Page[PolicyInfo](items=items, total=len(items))


@router.post(_POLICIES, operation_id="create_policy", status_code=201)
async def create_policy(
    _: AdminUser, source: SourceDep, body: PolicyBody, data: DataDep
) -> PolicyInfo:
    """Add a policy. It must fit the source: every table, column and filter is checked."""
    return PolicyInfo.of(await data.put_policy(source, body.name, body.rules))


@router.put(_ONE_POLICY, operation_id="replace_policy")
async def replace_policy(
    _: AdminUser, source: SourceDep, policy_id: PathId, body: PolicyUpdate, data: DataDep
) -> PolicyInfo:
    """Replace a policy."""
    check_same("policy_id", policy_id, body.policy_id)
    check_same("source_id", source.source_id, body.source_id)
    policy = await data.put_policy(source, body.name, body.rules, policy_id=policy_id)
    return PolicyInfo.of(policy)


@router.delete(_ONE_POLICY, operation_id="delete_policy", status_code=204)
async def delete_policy(_: AdminUser, source: SourceDep, policy_id: PathId, data: DataDep) -> None:
    """Remove a policy."""
    await data.sources.policies.delete(source.source_id, policy_id)


@router.get(_ATTRIBUTES, operation_id="get_user_attributes")
async def get_user_attributes(_: AdminUser, user_id: PathId, data: DataDep) -> AttributesInfo:
    """A user's attributes, which row filters can use."""
    found = await data.sources.attributes.get(user_id)
    return AttributesInfo(user_id=user_id, attributes=found)


@router.put(_ATTRIBUTES, operation_id="set_user_attributes")
async def set_user_attributes(
    _: AdminUser, user_id: PathId, body: AttributesBody, data: DataDep
) -> AttributesInfo:
    """Replace a user's attributes, which row filters can use."""
    check_same("user_id", user_id, body.user_id)
    await data.sources.attributes.replace(user_id, body.attributes)
    found = await data.sources.attributes.get(user_id)
    return AttributesInfo(user_id=user_id, attributes=found)
