"""Tenants and their members, as they go over the wire."""

from __future__ import annotations

from typing import Annotated, Self

from fastapi import Path
from pydantic import Field, StringConstraints

from dataagent_core.identity.tenants import (
    FEATURE_PATTERN,
    MAX_FEATURES,
    Tenant,
    TenantInvitation,
    TenantMember,
    TenantRole,
    TenantTerms,
)
from dataagent_server.models.fields import RequestModel, ResponseModel, SafeText, UtcTime

TenantName = Annotated[SafeText, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]
TenantId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$")]
UserId = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$")]
Feature = Annotated[str, StringConstraints(pattern=f"^{FEATURE_PATTERN}$")]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Bytes = Annotated[int, Field(ge=0, le=2**53)]
_USUAL = TenantTerms(name="")


class TenantBody(RequestModel):
    """What holds in a tenant. Limits that are left out are the usual ones; null is no limit."""

    tenant_id: TenantId | None = Field(
        default=None, description="Of a new tenant, which gets one otherwise; of another its own."
    )
    name: TenantName = Field(examples=["Acme"])
    max_users: Count | None = Field(default=_USUAL.max_users, examples=[50])
    max_sessions_per_user: Count | None = Field(
        default=_USUAL.max_sessions_per_user, examples=[200]
    )
    max_mcp_servers: Count | None = Field(default=_USUAL.max_mcp_servers, examples=[5])
    workspace_quota: Bytes | None = Field(
        default=_USUAL.workspace_quota,
        description="Bytes for each user; null is the installation's quota.",
    )
    features_enabled: dict[Feature, bool] = Field(
        default_factory=dict[str, bool],
        max_length=MAX_FEATURES,
        description="`mcp`, `tool:NAME` and `agent:NAME`; what is not named is on.",
        examples=[{"tool:shell": False, "agent:research": False}],
    )

    @property
    def terms(self) -> TenantTerms:
        """As the core has them."""
        return TenantTerms(**self.model_dump(exclude={"tenant_id"}))


class TenantInfo(ResponseModel):
    """A tenant."""

    tenant_id: str
    name: str
    max_users: int | None
    max_sessions_per_user: int | None
    max_mcp_servers: int | None
    workspace_quota: int | None
    features_enabled: dict[str, bool]
    created_at: UtcTime
    updated_at: UtcTime

    @classmethod
    def of(cls, tenant: Tenant) -> Self:
        """The public form of a tenant."""
        return cls.model_validate(tenant, from_attributes=True)


class MemberBody(RequestModel):
    """What a user is in a tenant."""

    tenant_id: str | None = Field(default=None, description="That of the address, if it is sent.")
    user_id: str | None = Field(default=None, description="That of the address, if it is sent.")
    role: TenantRole = Field(default="member", examples=["member"])


class MemberInfo(ResponseModel):
    """A user's place in a tenant."""

    tenant_id: str
    user_id: str
    role: TenantRole
    created_at: UtcTime

    @classmethod
    def of(cls, member: TenantMember) -> Self:
        """The public form of a membership."""
        return cls.model_validate(member, from_attributes=True)


class InvitationBody(RequestModel):
    """Whom to invite, and as what."""

    user_id: TenantId = Field(description="The id of an account, as `GET /api/auth/me` shows it.")
    role: TenantRole = Field(default="member", examples=["member"])


class InvitationInfo(ResponseModel):
    """A place in a tenant that a user may take until the invitation expires."""

    tenant_id: str
    tenant_name: str
    user_id: str
    role: TenantRole
    invited_by: str
    created_at: UtcTime
    expires_at: UtcTime

    @classmethod
    def of(cls, invitation: TenantInvitation) -> Self:
        """The public form of an invitation."""
        return cls.model_validate(invitation, from_attributes=True)
