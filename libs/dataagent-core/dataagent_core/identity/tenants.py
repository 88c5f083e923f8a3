"""Tenants, their limits and switches, members and invitations, in the database.

A user is in at most one tenant. A limit that is None does not limit; a feature that is not named is
on. An invitation is for an account that is in no tenant and does not administer the installation,
which is checked when it is made and when it is accepted. `tenancy.py` decides who may read or
change a tenant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from uuid import uuid4

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from dataagent_core.errors import BadInput, Conflict, NotFound, TenantLimit, TenantNotFound
from dataagent_core.storage import Database
from dataagent_core.storage.database import is_storable
from dataagent_core.storage.tables import (
    data_grants,
    tenant_invitations,
    tenants,
    user_tenants,
    users,
)

TenantRole = Literal["admin", "member"]
MAX_FEATURES = 500
FEATURE_PATTERN = r"(mcp|(tool|agent):[A-Za-z0-9][A-Za-z0-9_.:-]{0,127})"
_FEATURE = re.compile(FEATURE_PATTERN)
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
_INVITATION_LIFETIME = timedelta(days=7)
_MOST_COUNT = 2**31 - 1
_MOST_BYTES = 2**53

_IS_TENANT = tenants.c.tenant_id == bindparam("tenant")
_IS_MEMBER = (user_tenants.c.user_id == bindparam("member")) & (
    user_tenants.c.tenant_id == bindparam("tenant")
)
_GET = select(tenants).where(_IS_TENANT)
# held to the end of the transaction: two that join at once are counted one after the other
_HOLD = _GET.with_for_update()
_ALL = select(tenants).order_by(tenants.c.name, tenants.c.tenant_id)
_UPDATE = update(tenants).where(_IS_TENANT)
_DELETE = delete(tenants).where(_IS_TENANT)
_FORGET_GRANTS = delete(data_grants).where(
    data_grants.c.subject_kind == "tenant", data_grants.c.subject_id == bindparam("tenant")
)
_OF_USER = (
    select(*tenants.c, user_tenants.c.role)
    .join(user_tenants, tenants.c.tenant_id == user_tenants.c.tenant_id)
    .where(user_tenants.c.user_id == bindparam("member"))
)
_MEMBERS = (
    select(user_tenants)
    .where(user_tenants.c.tenant_id == bindparam("tenant"))
    .order_by(user_tenants.c.created_at, user_tenants.c.user_id)
)
_COUNT_MEMBERS = (
    select(func.count())
    .select_from(user_tenants)
    .where(user_tenants.c.tenant_id == bindparam("tenant"))
)
_MEMBER = select(user_tenants).where(user_tenants.c.user_id == bindparam("member"))
_SET_ROLE = update(user_tenants).where(_IS_MEMBER).values(role=bindparam("to"))
_LEAVE = delete(user_tenants).where(_IS_MEMBER)
_IS_INVITATION = (tenant_invitations.c.tenant_id == bindparam("tenant")) & (
    tenant_invitations.c.user_id == bindparam("member")
)
_INVITATIONS = (
    select(*tenant_invitations.c, tenants.c.name)
    .join(tenants, tenants.c.tenant_id == tenant_invitations.c.tenant_id)
    .where(tenant_invitations.c.expires_at > bindparam("now"))
    .order_by(tenant_invitations.c.created_at, tenant_invitations.c.user_id)
)
_INVITATION = _INVITATIONS.where(_IS_INVITATION)
_INVITATIONS_OF_TENANT = _INVITATIONS.where(tenant_invitations.c.tenant_id == bindparam("tenant"))
_INVITATIONS_OF_USER = _INVITATIONS.where(tenant_invitations.c.user_id == bindparam("member"))
_WITHDRAW = delete(tenant_invitations).where(_IS_INVITATION)
_FORGET_INVITATIONS = delete(tenant_invitations).where(
    tenant_invitations.c.user_id == bindparam("member")
)
# held to the end of the transaction: who is invited or joins is not made an administrator meanwhile
_ACCOUNT = select(users).where(users.c.id == bindparam("member")).with_for_update()


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantTerms:
    """A tenant's name, limits (None: no limit) and switches."""

    name: str
    max_users: int | None = 100
    max_sessions_per_user: int | None = 10
    max_mcp_servers: int | None = 5
    workspace_quota: int | None = 1024**3
    features_enabled: Mapping[str, bool] = field(default_factory=dict[str, bool])


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant(TenantTerms):
    """A stored tenant."""

    tenant_id: str
    created_at: datetime
    updated_at: datetime

    def has(self, feature: str) -> bool:
        """Whether `mcp`, `tool:NAME` or `agent:NAME` is on."""
        return self.features_enabled.get(feature, True)

    @property
    def has_all(self) -> bool:
        """Whether nothing is switched off."""
        return all(self.features_enabled.values())


@dataclass(frozen=True, slots=True)
class TenantMember:
    """A user's place in a tenant."""

    tenant_id: str
    user_id: str
    role: TenantRole
    created_at: datetime


@dataclass(frozen=True, slots=True)
class TenantInvitation:
    """A place in a tenant that a user may take."""

    tenant_id: str
    tenant_name: str
    user_id: str
    role: TenantRole
    invited_by: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Membership:
    """A user's tenant, and what they are in it."""

    tenant: Tenant
    role: TenantRole


class TenantStore:
    """Tenants and their members."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def create(self, terms: TenantTerms, *, tenant_id: str | None = None) -> Tenant:
        """Add a tenant under a fresh id, or under the given one.

        Raises:
            BadInput: a value is out of its bounds.
            Conflict: the id is taken.
        """
        key = str(uuid4()) if tenant_id is None else _checked_id(tenant_id, "tenant")
        moment = _now()
        times = {"created_at": moment, "updated_at": moment}
        row = {**_row(validate_terms(terms)), "tenant_id": key, **times}
        try:
            await self._db.write(lambda c: c.execute(insert(tenants), row).rowcount)
        except IntegrityError as error:
            raise Conflict(f"There is a tenant {key!r} already. Choose another id.") from error
        return await self.get(key)

    async def get(self, tenant_id: str) -> Tenant:
        """The tenant.

        Raises:
            TenantNotFound: there is none.
        """
        found = None
        if is_storable(tenant_id):
            found = await self._db.read(lambda c: c.execute(_GET, {"tenant": tenant_id}).first())
        if found is None:
            raise tenant_not_found(tenant_id)
        return _tenant(found)

    async def list(self) -> list[Tenant]:
        """All tenants, by name."""
        return await self._db.read(lambda c: [_tenant(row) for row in c.execute(_ALL)])

    async def update(self, tenant_id: str, terms: TenantTerms) -> Tenant:
        """Put other terms in place of a tenant's. Who is a member stays one, over a limit or not.

        Raises:
            BadInput: a value is out of its bounds.
            TenantNotFound: there is no such tenant.
        """
        statement = _UPDATE.values(**_row(validate_terms(terms)), updated_at=_now())
        if not await self._db.write(lambda c: c.execute(statement, {"tenant": tenant_id}).rowcount):
            raise tenant_not_found(tenant_id)
        return await self.get(tenant_id)

    async def delete(self, tenant_id: str) -> None:
        """Remove a tenant, its memberships and its data grants. Its users stay, in no tenant.

        Raises:
            TenantNotFound: there is no such tenant.
        """
        values = {"tenant": tenant_id}

        def unit(connection: Connection) -> int:
            connection.execute(_FORGET_GRANTS, values)
            return connection.execute(_DELETE, values).rowcount

        if not await self._db.write(unit):
            raise tenant_not_found(tenant_id)

    # -- members ------------------------------------------------------------------------------

    async def tenant_of(self, user_id: str) -> Membership | None:
        """The user's tenant and their role in it; None for who is in none."""
        row = await self._db.read(lambda c: c.execute(_OF_USER, {"member": user_id}).first())
        return None if row is None else Membership(_tenant(row), row.role)

    async def members(
        self, tenant_id: str, *, limit: int = 100, offset: int = 0
    ) -> tuple[list[TenantMember], int]:
        """A page of a tenant's members, the oldest first, and how many there are."""
        values = {"tenant": tenant_id}

        def unit(connection: Connection) -> tuple[list[TenantMember], int]:
            rows = connection.execute(_MEMBERS.limit(limit).offset(offset), values)
            page = [_member(row) for row in rows]
            return page, connection.execute(_COUNT_MEMBERS, values).scalar() or 0

        return await self._db.read(unit)

    async def put_member(self, tenant_id: str, user_id: str, role: TenantRole) -> TenantMember:
        """Take a user into a tenant, or give a member another role.

        Raises:
            BadInput: the id cannot be a user's.
            TenantNotFound: there is no such tenant.
            Conflict: the user is in another tenant.
            TenantLimit: the tenant has as many users as it may.
        """
        _checked_id(user_id, "user")
        row = {"tenant_id": tenant_id, "user_id": user_id, "role": role, "created_at": _now()}
        try:
            return await self._db.write(lambda c: _put_member(c, row))
        except IntegrityError:  # another request took the user in at this moment: look again
            return await self._db.write(lambda c: _put_member(c, row))

    async def set_role(self, tenant_id: str, user_id: str, role: TenantRole) -> TenantMember:
        """Give a member another role.

        Raises:
            NotFound: the tenant has no such member.
        """
        values = {"tenant": tenant_id, "member": user_id, "to": role}

        def unit(connection: Connection) -> Row[Any] | None:
            connection.execute(_SET_ROLE, values)
            return connection.execute(select(user_tenants).where(_IS_MEMBER), values).first()

        row = await self._db.write(unit)
        if row is None:
            raise member_not_found(user_id)
        return _member(row)

    async def remove_member(self, tenant_id: str, user_id: str) -> None:
        """Take a user out of a tenant.

        Raises:
            NotFound: the tenant has no such member.
        """
        values = {"tenant": tenant_id, "member": user_id}
        if not await self._db.write(lambda c: c.execute(_LEAVE, values).rowcount):
            raise member_not_found(user_id)

    # -- invitations --------------------------------------------------------------------------

    async def invite(
        self, tenant_id: str, user_id: str, role: TenantRole, *, by: str
    ) -> TenantInvitation:
        """Invite an account, or put another invitation in place of an earlier one.

        Raises:
            TenantNotFound: there is no such tenant.
            NotFound: no account that is free has this id.
        """
        moment = _now()
        row = {
            "tenant_id": tenant_id,
            "user_id": user_id,
            "role": role,
            "invited_by": by,
            "created_at": moment,
            "expires_at": moment + _INVITATION_LIFETIME,
        }
        return await self._db.write(lambda c: _invite(c, row))

    async def invitations(self, tenant_id: str) -> list[TenantInvitation]:
        """A tenant's invitations that may still be accepted, the oldest first."""
        values = {"tenant": tenant_id, "now": _now()}
        found = await self._db.read(lambda c: [*c.execute(_INVITATIONS_OF_TENANT, values)])
        return [_invitation(row) for row in found]

    async def invitations_of(self, user_id: str) -> list[TenantInvitation]:
        """The invitations a user may accept, the oldest first."""
        values = {"member": user_id, "now": _now()}
        found = await self._db.read(lambda c: [*c.execute(_INVITATIONS_OF_USER, values)])
        return [_invitation(row) for row in found]

    async def withdraw(self, tenant_id: str, user_id: str) -> None:
        """Take an invitation back.

        Raises:
            NotFound: there is none.
        """
        values = {"tenant": tenant_id, "member": user_id}
        if not await self._db.write(lambda c: c.execute(_WITHDRAW, values).rowcount):
            raise invitation_not_found(tenant_id)

    async def accept(self, tenant_id: str, user_id: str) -> TenantMember:
        """Take the place a user was invited to.

        Raises:
            NotFound: there is no such invitation, or the account is not free any more.
            TenantLimit: the tenant has as many users as it may.
        """
        return await self._db.write(lambda c: _accept(c, tenant_id, user_id))


def invitation_not_found(tenant_id: str) -> NotFound:
    """The error for an invitation that is not there, or not there any more."""
    return NotFound(f"There is no invitation to the tenant {tenant_id[:80]!r}. Ask for another.")


def tenant_not_found(tenant_id: str) -> TenantNotFound:
    """The error for a tenant that is not there, or not for the caller."""
    return TenantNotFound(f"There is no tenant {tenant_id[:80]!r}. List the tenants to see theirs.")


def member_not_found(user_id: str) -> NotFound:
    """The error for a user who is not in the tenant, or not for the caller."""
    return NotFound(
        f"The tenant has no user {user_id[:80]!r}. List its users to see their ids, or invite one."
    )


def validate_terms(terms: TenantTerms) -> TenantTerms:
    """The terms, checked for storage.

    Raises:
        BadInput: which cannot, and what can.
    """
    if not terms.name.strip() or len(terms.name) > 200 or not is_storable(terms.name):
        raise BadInput("A tenant's name has 1 to 200 characters.")
    for limit in ("max_users", "max_sessions_per_user", "max_mcp_servers", "workspace_quota"):
        value: int | None = getattr(terms, limit)
        most = _MOST_BYTES if limit == "workspace_quota" else _MOST_COUNT
        if value is not None and not 0 <= value <= most:
            raise BadInput(f"{limit} is 0 to {most}, or null for no limit.")
    if len(terms.features_enabled) > MAX_FEATURES:
        raise BadInput(f"features_enabled has at most {MAX_FEATURES} entries.")
    for feature in terms.features_enabled:
        if not _FEATURE.fullmatch(feature):
            raise BadInput(f"There is no feature {feature[:80]!r}: mcp, tool:NAME or agent:NAME.")
    return terms


def _put_member(connection: Connection, row: Mapping[str, Any]) -> TenantMember:
    which = {"tenant": row["tenant_id"], "member": row["user_id"]}
    tenant = connection.execute(_HOLD, which).first()
    if tenant is None:
        raise tenant_not_found(row["tenant_id"])
    known = connection.execute(_MEMBER, which).first()
    if known is not None and known.tenant_id != row["tenant_id"]:
        raise Conflict(
            f"The user {row['user_id']!r} is in another tenant. Take them out of that one first.",
            details={"tenant_id": known.tenant_id},
        )
    if known is not None:
        connection.execute(_SET_ROLE, {**which, "to": row["role"]})
        return TenantMember(known.tenant_id, known.user_id, row["role"], known.created_at)
    used = connection.execute(_COUNT_MEMBERS, which).scalar() or 0
    if tenant.max_users is not None and used >= tenant.max_users:
        raise over_limit("max_users", tenant.max_users, used, "Remove a user, or raise the limit.")
    connection.execute(insert(user_tenants), row)
    connection.execute(_FORGET_INVITATIONS, which)
    return TenantMember(**row)


def _invite(connection: Connection, row: Mapping[str, Any]) -> TenantInvitation:
    which = {"tenant": row["tenant_id"], "member": row["user_id"]}
    if connection.execute(_HOLD, which).first() is None:
        raise tenant_not_found(row["tenant_id"])
    if not _is_free(connection, row["user_id"]):
        raise NotFound(
            f"No account that can be invited has the id {row['user_id'][:80]!r}: it is active, in "
            "no tenant, and does not administer the installation."
        )
    connection.execute(_WITHDRAW, which)
    connection.execute(insert(tenant_invitations), row)
    made = connection.execute(_INVITATION, {**which, "now": row["created_at"]}).one()
    return _invitation(made)


def _accept(connection: Connection, tenant_id: str, user_id: str) -> TenantMember:
    which = {"tenant": tenant_id, "member": user_id}
    connection.execute(_HOLD, which)
    invitation = connection.execute(_INVITATION, {**which, "now": _now()}).first()
    if invitation is None or not _is_free(connection, user_id):
        raise invitation_not_found(tenant_id)
    row = {"tenant_id": tenant_id, "user_id": user_id, "role": invitation.role}
    return _put_member(connection, {**row, "created_at": _now()})


def _is_free(connection: Connection, user_id: str) -> bool:
    """Whether the user has an account that may join a tenant."""
    account = connection.execute(_ACCOUNT, {"member": user_id}).first()
    if account is None or account.status != "active" or account.role == "admin":
        return False
    return connection.execute(_MEMBER, {"member": user_id}).first() is None


def over_limit(what: str, limit: int, used: int, way_out: str) -> TenantLimit:
    """The refusal of one more than a tenant may have."""
    return TenantLimit(
        f"The tenant's {what} is {limit} and {used} are in use. {way_out}",
        details={"what": what, "limit": limit, "used": used},
    )


def _row(terms: TenantTerms) -> dict[str, Any]:
    return {
        "name": terms.name.strip(),
        "max_users": terms.max_users,
        "max_sessions_per_user": terms.max_sessions_per_user,
        "max_mcp_servers": terms.max_mcp_servers,
        "workspace_quota_bytes": terms.workspace_quota,
        "features_enabled": dict(terms.features_enabled),
    }


def _tenant(row: Row[Any]) -> Tenant:
    return Tenant(
        tenant_id=row.tenant_id,
        name=row.name,
        max_users=row.max_users,
        max_sessions_per_user=row.max_sessions_per_user,
        max_mcp_servers=row.max_mcp_servers,
        workspace_quota=row.workspace_quota_bytes,
        features_enabled=row.features_enabled,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _invitation(row: Row[Any]) -> TenantInvitation:
    return TenantInvitation(
        tenant_id=row.tenant_id,
        tenant_name=row.name,
        user_id=row.user_id,
        role=row.role,
        invited_by=row.invited_by,
        created_at=row.created_at,
        expires_at=row.expires_at,
    )


def _member(row: Row[Any]) -> TenantMember:
    return TenantMember(row.tenant_id, row.user_id, row.role, row.created_at)


def _checked_id(value: str, whose: str) -> str:
    if not _ID.fullmatch(value):
        raise BadInput(f"A {whose}'s id is 1 to 64 letters, digits, '_', '.', '@' or '-'.")
    return value


def _now() -> datetime:
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
