"""The tenant of a user, what it allows, and who may read and change tenants.

Administrators of the installation manage all tenants and their members. A tenant's administrator
reads it, changes its members' roles and invites accounts, which join when their user accepts; they
cannot remove members, since that would end the tenant's policy for them. Others see the invitations
to themselves. Lookups are cached for a few seconds; changes made here take effect at once. With
tenants off no user is in one.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass

from dataagent_core.errors import AgentDisabled, Conflict, Denied
from dataagent_core.identity.principal import Principal
from dataagent_core.identity.tenants import (
    Membership,
    Tenant,
    TenantInvitation,
    TenantMember,
    TenantRole,
    TenantStore,
    TenantTerms,
    invitation_not_found,
    tenant_not_found,
)
from dataagent_core.storage import Database

_FRESH_SECONDS = 5.0
_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class _CachedMembership:
    membership: Membership | None
    until: float


class Tenancy:
    """The tenants, as far as each caller may see them, and everyone's place in them."""

    def __init__(self, database: Database, *, is_on: bool) -> None:
        self.is_on = is_on
        self._store = TenantStore(database)
        self._remembered: OrderedDict[str, _CachedMembership] = OrderedDict()

    # -- whose tenant -------------------------------------------------------------------------

    async def membership(self, user_id: str) -> Membership | None:
        """The user's tenant and role, as it was a few seconds ago at the latest."""
        if not self.is_on:
            return None
        known = self._remembered.get(user_id)
        if known is not None and known.until > time.monotonic():
            return known.membership
        found = await self._store.tenant_of(user_id)
        self._remembered[user_id] = _CachedMembership(found, time.monotonic() + _FRESH_SECONDS)
        self._remembered.move_to_end(user_id)
        while len(self._remembered) > _KEPT:
            self._remembered.popitem(last=False)
        return found

    async def tenant_of(self, user_id: str) -> Tenant | None:
        """The user's tenant, if they are in one."""
        if not self.is_on:
            return None
        membership = await self.membership(user_id)
        return None if membership is None else membership.tenant

    async def tenant_id_of(self, user_id: str) -> str | None:
        """The id of the user's tenant, if they are in one."""
        tenant = await self.tenant_of(user_id)
        return None if tenant is None else tenant.tenant_id

    def known_quota(self, user_id: str) -> int | None:
        """The bytes the user's tenant gives them, as last looked up; None if it does not say.

        A user who writes files was looked up before, so there is one.
        """
        known = self._remembered.get(user_id)
        if known is None or known.membership is None:
            return None
        return known.membership.tenant.workspace_quota

    async def most_sessions(self, user_id: str) -> int | None:
        """How many sessions the user may have; None for any number."""
        tenant = await self.tenant_of(user_id)
        return None if tenant is None else tenant.max_sessions_per_user

    async def check_agent(self, user_id: str, *names: str) -> Tenant | None:
        """The user's tenant, which has the agent on, by each of its names.

        Raises:
            AgentDisabled: it is off.
        """
        tenant = await self.tenant_of(user_id)
        if tenant is not None and not all(tenant.has(f"agent:{name}") for name in names):
            raise AgentDisabled(
                f"The agent {names[0]!r} is switched off for your organisation. Use another agent."
            )
        return tenant

    # -- seeing and changing them -------------------------------------------------------------

    async def list_for(self, caller: Principal) -> list[Tenant]:
        """The tenants the caller may see, by name.

        Raises:
            Denied: the caller administers neither the installation nor a tenant.
        """
        if caller.is_admin:
            return await self._store.list()
        return [await self._administered_by(caller)]

    async def get_for(self, tenant_id: str, caller: Principal) -> Tenant:
        """A tenant the caller may see.

        Raises:
            Denied: the caller administers neither the installation nor a tenant.
            TenantNotFound: there is none, or it is not the caller's to see.
        """
        if caller.is_admin:
            return await self._store.get(tenant_id)
        own = await self._administered_by(caller)
        if own.tenant_id != tenant_id:
            raise tenant_not_found(tenant_id)
        return own

    async def create(
        self, terms: TenantTerms, caller: Principal, *, tenant_id: str | None = None
    ) -> Tenant:
        """Add a tenant. Raises: as `TenantStore.create`, and `Denied` to who may not."""
        self._check_admin(caller)
        return await self._store.create(terms, tenant_id=tenant_id)

    async def update(self, tenant_id: str, terms: TenantTerms, caller: Principal) -> Tenant:
        """Put other terms in place. Raises: as `TenantStore.update`, and `Denied`."""
        self._check_admin(caller)
        updated = await self._store.update(tenant_id, terms)
        self._remembered.clear()
        return updated

    async def delete(self, tenant_id: str, caller: Principal) -> None:
        """Remove a tenant. Raises: as `TenantStore.delete`, and `Denied`."""
        self._check_admin(caller)
        await self._store.delete(tenant_id)
        self._remembered.clear()

    async def members(
        self, tenant_id: str, caller: Principal, *, limit: int = 100, offset: int = 0
    ) -> tuple[list[TenantMember], int]:
        """A page of a tenant's members, and how many there are.

        Raises:
            Denied, TenantNotFound: as `get_for`.
        """
        await self.get_for(tenant_id, caller)
        return await self._store.members(tenant_id, limit=limit, offset=offset)

    async def put_member(
        self, tenant_id: str, user_id: str, role: TenantRole, caller: Principal
    ) -> TenantMember:
        """Take a user in, or give a member another role.

        Raises:
            Denied, TenantNotFound: as `get_for`.
            NotFound: a tenant's administrator names a user who is not in it; they can invite one.
            Others: as `TenantStore.put_member`.
        """
        await self.get_for(tenant_id, caller)
        self._check_on()
        put = self._store.put_member if caller.is_admin else self._store.set_role
        try:
            return await put(tenant_id, user_id, role)
        finally:
            self._remembered.pop(user_id, None)

    async def remove_member(self, tenant_id: str, user_id: str, caller: Principal) -> None:
        """Take a user out of a tenant.

        Raises:
            Denied, TenantNotFound: as `get_for`.
            Denied: the caller administers the tenant only.
            NotFound: the tenant has no such member.
        """
        await self.get_for(tenant_id, caller)
        self._check_admin(caller)
        await self._store.remove_member(tenant_id, user_id)
        self._remembered.pop(user_id, None)

    # -- invitations --------------------------------------------------------------------------

    async def invite(
        self, tenant_id: str, user_id: str, role: TenantRole, caller: Principal
    ) -> TenantInvitation:
        """Invite an account into a tenant.

        Raises:
            Denied, TenantNotFound: as `get_for`.
            NotFound: as `TenantStore.invite`.
        """
        await self.get_for(tenant_id, caller)
        self._check_on()
        return await self._store.invite(tenant_id, user_id, role, by=caller.user_id)

    async def invitations(self, tenant_id: str, caller: Principal) -> list[TenantInvitation]:
        """A tenant's invitations that wait for an answer.

        Raises:
            Denied, TenantNotFound: as `get_for`.
        """
        await self.get_for(tenant_id, caller)
        return await self._store.invitations(tenant_id)

    async def invitations_of(self, caller: Principal) -> list[TenantInvitation]:
        """The invitations the caller may accept."""
        return await self._store.invitations_of(caller.user_id) if self.is_on else []

    async def withdraw(self, tenant_id: str, user_id: str, caller: Principal) -> None:
        """Take an invitation back, or, as the one who is invited, decline it.

        Raises:
            Denied, TenantNotFound: as `get_for`.
            NotFound: there is no such invitation.
        """
        if user_id != caller.user_id:
            await self.get_for(tenant_id, caller)
        self._check_on()
        await self._store.withdraw(tenant_id, user_id)

    async def accept(self, tenant_id: str, caller: Principal) -> TenantMember:
        """Join the tenant the caller is invited to.

        Raises:
            NotFound, TenantLimit: as `TenantStore.accept`.
        """
        self._check_on()
        if caller.is_admin:  # by another credential than the account's own
            raise invitation_not_found(tenant_id)
        try:
            return await self._store.accept(tenant_id, caller.user_id)
        finally:
            self._remembered.pop(caller.user_id, None)

    async def _administered_by(self, caller: Principal) -> Tenant:
        """The tenant the caller administers, read now: rights are not remembered."""
        found = await self._store.tenant_of(caller.user_id) if self.is_on else None
        if found is None or found.role != "admin":
            raise _for_administrators()
        return found.tenant

    def _check_admin(self, caller: Principal) -> None:
        if not caller.is_admin:
            raise _for_administrators()
        self._check_on()

    def _check_on(self) -> None:
        if not self.is_on:
            raise Conflict("Tenants are switched off. Set DATAAGENT_MULTI_TENANT=true.")


def _for_administrators() -> Denied:
    return Denied("Only an administrator may do this.")
