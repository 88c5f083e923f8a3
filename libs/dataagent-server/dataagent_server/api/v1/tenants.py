"""`/api/v1/tenants`: their limits, switches and members.

Administrators manage all; a tenant's administrator reads it and manages its members.
"""

from __future__ import annotations

from fastapi import APIRouter

from dataagent_server.api.route import PrivateRoute
from dataagent_server.deps.providers import AdminUser, CurrentUser, TenancyDep
from dataagent_server.models.fields import Limit, Offset, Page, PathId
from dataagent_server.models.tenants import (
    MemberBody,
    MemberInfo,
    TenantBody,
    TenantCreate,
    TenantInfo,
    UserId,
)

router = APIRouter(prefix="/tenants", tags=["tenants"], route_class=PrivateRoute)


@router.get("", operation_id="list_tenants")
async def list_tenants(user: CurrentUser, tenancy: TenancyDep) -> Page[TenantInfo]:
    """The tenants the caller may see, by name: all, their own, or none."""
    items = [TenantInfo.of(each) for each in await tenancy.list_for(user)]
    return Page[TenantInfo](items=items, total=len(items))


@router.post("", operation_id="create_tenant", status_code=201)
async def create_tenant(body: TenantCreate, admin: AdminUser, tenancy: TenancyDep) -> TenantInfo:
    """Add a tenant. For administrators; 409 while `DATAAGENT_MULTI_TENANT` is off."""
    return TenantInfo.of(await tenancy.create(body.terms, admin, tenant_id=body.tenant_id))


@router.get("/{tenant_id}", operation_id="get_tenant")
async def get_tenant(tenant_id: PathId, user: CurrentUser, tenancy: TenancyDep) -> TenantInfo:
    """A tenant, for administrators and its own."""
    return TenantInfo.of(await tenancy.get_for(tenant_id, user))


@router.put("/{tenant_id}", operation_id="replace_tenant")
async def replace_tenant(
    tenant_id: PathId, body: TenantBody, admin: AdminUser, tenancy: TenancyDep
) -> TenantInfo:
    """Put other limits and switches in place; they hold at once. For administrators."""
    return TenantInfo.of(await tenancy.update(tenant_id, body.terms, admin))


@router.delete("/{tenant_id}", operation_id="delete_tenant", status_code=204)
async def delete_tenant(tenant_id: PathId, admin: AdminUser, tenancy: TenancyDep) -> None:
    """Remove a tenant with its data grants; its users stay, in no tenant. For administrators."""
    await tenancy.delete(tenant_id, admin)


@router.get("/{tenant_id}/users", operation_id="list_tenant_users")
async def list_tenant_users(
    tenant_id: PathId,
    user: CurrentUser,
    tenancy: TenancyDep,
    limit: Limit = 100,
    offset: Offset = 0,
) -> Page[MemberInfo]:
    """A page of a tenant's users, the oldest members first."""
    found, total = await tenancy.members(tenant_id, user, limit=limit, offset=offset)
    return Page[MemberInfo](items=[MemberInfo.of(each) for each in found], total=total)


@router.put("/{tenant_id}/users/{user_id}", operation_id="put_tenant_user")
async def put_tenant_user(
    tenant_id: PathId, user_id: UserId, body: MemberBody, user: CurrentUser, tenancy: TenancyDep
) -> MemberInfo:
    """Take a user into a tenant, or give one of its users another role. 429 when it is full."""
    return MemberInfo.of(await tenancy.put_member(tenant_id, user_id, body.role, user))


@router.delete("/{tenant_id}/users/{user_id}", operation_id="remove_tenant_user", status_code=204)
async def remove_tenant_user(
    tenant_id: PathId, user_id: PathId, user: CurrentUser, tenancy: TenancyDep
) -> None:
    """Take a user out of a tenant."""
    await tenancy.remove_member(tenant_id, user_id, user)
