"""`/api/v1/tenants`: their limits, switches, members and invitations; `/api/v1/invitations`.

Administrators manage all; a tenant's administrator reads it, gives its members roles and invites.
An account joins when its user accepts.
"""

from __future__ import annotations

from fastapi import APIRouter

from dataagent_core.identity.tenants import TenantInvitation
from dataagent_server.api.deps import AdminUser, CurrentUser, TenancyDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.models.accounts import (
    InvitationBody,
    InvitationInfo,
    MemberBody,
    MemberInfo,
    TenantBody,
    TenantInfo,
    UserId,
)
from dataagent_server.models.fields import Limit, Offset, Page, PathId, check_same

router = APIRouter(prefix="/tenants", tags=["tenants"], route_class=PrivateRoute)
invitation_router = APIRouter(prefix="/invitations", tags=["tenants"], route_class=PrivateRoute)


@router.get("", operation_id="list_tenants")
async def list_tenants(user: CurrentUser, tenancy: TenancyDep) -> Page[TenantInfo]:
    """The tenants the caller may see, by name: all, their own, or none."""
    items = [TenantInfo.of(each) for each in await tenancy.list_for(user)]
    return Page[TenantInfo](items=items, total=len(items))


@router.post("", operation_id="create_tenant", status_code=201)
async def create_tenant(body: TenantBody, admin: AdminUser, tenancy: TenancyDep) -> TenantInfo:
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
    """Replace a tenant's limits and switches, at once. For administrators."""
    check_same("tenant_id", tenant_id, body.tenant_id)
    return TenantInfo.of(await tenancy.update(tenant_id, body.terms, admin))


@router.delete("/{tenant_id}", operation_id="delete_tenant", status_code=204)
async def delete_tenant(tenant_id: PathId, admin: AdminUser, tenancy: TenancyDep) -> None:
    """Delete a tenant with its data grants; its users stay, in no tenant. For administrators."""
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
    """Add a user to a tenant, or change the role of one of its users. 429 when it is full.

    A tenant's administrator can only change roles, and invites users instead of adding them.
    """
    check_same("tenant_id", tenant_id, body.tenant_id)
    check_same("user_id", user_id, body.user_id)
    return MemberInfo.of(await tenancy.put_member(tenant_id, user_id, body.role, user))


@router.delete("/{tenant_id}/users/{user_id}", operation_id="remove_tenant_user", status_code=204)
async def remove_tenant_user(
    tenant_id: PathId, user_id: PathId, user: CurrentUser, tenancy: TenancyDep
) -> None:
    """Remove a user from a tenant. For administrators of the installation."""
    await tenancy.remove_member(tenant_id, user_id, user)


@router.get("/{tenant_id}/invitations", operation_id="list_tenant_invitations")
async def list_tenant_invitations(
    tenant_id: PathId, user: CurrentUser, tenancy: TenancyDep
) -> Page[InvitationInfo]:
    """A tenant's open invitations."""
    return _page(await tenancy.invitations(tenant_id, user))


@router.post("/{tenant_id}/invitations", operation_id="invite_tenant_user", status_code=201)
async def invite_tenant_user(
    tenant_id: PathId, body: InvitationBody, user: CurrentUser, tenancy: TenancyDep
) -> InvitationInfo:
    """Invite an account that is in no tenant and does not administer the installation.

    It is valid for seven days; a new one for the same account replaces it.
    """
    return InvitationInfo.of(await tenancy.invite(tenant_id, body.user_id, body.role, user))


@router.delete(
    "/{tenant_id}/invitations/{user_id}", operation_id="withdraw_invitation", status_code=204
)
async def withdraw_invitation(
    tenant_id: PathId, user_id: PathId, user: CurrentUser, tenancy: TenancyDep
) -> None:
    """Withdraw an invitation or, as the invited user, decline it."""
    await tenancy.withdraw(tenant_id, user_id, user)


@invitation_router.get("", operation_id="list_invitations")
async def list_invitations(user: CurrentUser, tenancy: TenancyDep) -> Page[InvitationInfo]:
    """The invitations the caller may accept."""
    return _page(await tenancy.invitations_of(user))


@invitation_router.post("/{tenant_id}/accept", operation_id="accept_invitation")
async def accept_invitation(
    tenant_id: PathId, user: CurrentUser, tenancy: TenancyDep
) -> MemberInfo:
    """Join the tenant; its limits and switches apply at once. 429 when it is full."""
    return MemberInfo.of(await tenancy.accept(tenant_id, user))


def _page(found: list[TenantInvitation]) -> Page[InvitationInfo]:
    items = [InvitationInfo.of(each) for each in found]
    return Page[InvitationInfo](items=items, total=len(items))
