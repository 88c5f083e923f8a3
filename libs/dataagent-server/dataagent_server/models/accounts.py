"""Request and response models of accounts, logins, API keys, tenants and usage.

Passwords are only received, never sent; an API key is sent once, when it is created.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Self

from fastapi import Path, Query
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError

from dataagent_core.config import Prices
from dataagent_core.identity import Principal, UserRole
from dataagent_core.identity.credentials import ApiKey
from dataagent_core.identity.tenants import (
    FEATURE_PATTERN,
    MAX_FEATURES,
    Tenant,
    TenantInvitation,
    TenantMember,
    TenantRole,
    TenantTerms,
)
from dataagent_core.identity.usage import DayUsage, today
from dataagent_core.identity.users import User, UserStatus
from dataagent_core.storage.database import is_storable
from dataagent_server.models.fields import Day, Id, RequestModel, ResponseModel, SafeText, UtcTime

_MAX_PASSWORD = 1024


def _checked(password: SecretStr) -> SecretStr:
    """What no account can have is refused here, before anything is computed from it."""
    text = password.get_secret_value()
    if len(text) > _MAX_PASSWORD:
        raise PydanticCustomError("password", "A password has at most 72 bytes")
    if not is_storable(text):
        raise PydanticCustomError("password", "A password cannot contain NUL or half a character")
    return password


Password = Annotated[SecretStr, AfterValidator(_checked)]
"""A password; it shows in no log line and no answer."""

LoginName = Annotated[SafeText, StringConstraints(max_length=256)]
"""Any name: which ones there are is not said by which ones are taken in."""


class LoginRequest(RequestModel):
    """A name and a password."""

    username: LoginName = Field(examples=["dora"])
    password: Password = Field(examples=["correct horse battery"])


class PasswordChange(RequestModel):
    """A new password for the caller, with the current one."""

    old_password: Password = Field(examples=["correct horse battery"])
    new_password: Password = Field(examples=["staple tractor 12"])
    keep_keys: bool = Field(default=False, description="Leave the user's API keys valid.")


class PasswordReset(RequestModel):
    """A new password for another user."""

    password: Password = Field(examples=["staple tractor 12"])
    keep_keys: bool = Field(default=False, description="Leave the user's API keys valid.")


class UserCreate(RequestModel):
    """A new account."""

    username: SafeText = Field(
        examples=["dora"], description="3 to 20 letters, digits or `_`; unique."
    )
    password: Password = Field(examples=["correct horse battery"])
    role: UserRole


class StatusUpdate(RequestModel):
    """Whether an account may log in."""

    status: UserStatus


class RoleUpdate(RequestModel):
    """An account's role."""

    role: UserRole


class UserInfo(ResponseModel):
    """An account. A caller with a deployment's key has none: its name is its id."""

    id: str
    username: str
    role: UserRole
    status: UserStatus
    created_at: UtcTime | None

    @classmethod
    def of(cls, user: User) -> UserInfo:
        """The public form of an account."""
        return cls(
            id=user.user_id,
            username=user.username,
            role=user.role,
            status=user.status,
            created_at=user.created_at,
        )

    @classmethod
    def of_caller(cls, caller: Principal, user: User | None) -> UserInfo:
        """The caller, who may have no account; the role is the one they came in with."""
        return cls(
            id=caller.user_id,
            username=caller.user_id if user is None else user.username,
            role=caller.role,
            status="active",
            created_at=None if user is None else user.created_at,
        )


class ApiKeyCreate(RequestModel):
    """A new key, with its purpose."""

    name: Annotated[SafeText, StringConstraints(min_length=1, max_length=100)] = Field(
        examples=["nightly report"]
    )


class ApiKeyInfo(ResponseModel):
    """A key, identified by its first characters."""

    id: str
    name: str
    prefix: str
    created_at: UtcTime
    last_used: UtcTime | None
    created_by: str | None = Field(
        description="The name of who made it, or their id if they have no account."
    )
    is_by_other: bool = Field(description="Whether someone else made it for the user.")

    @classmethod
    def of(cls, key: ApiKey) -> ApiKeyInfo:
        """The public form of a key."""
        return cls(
            id=key.key_id,
            name=key.name,
            prefix=key.prefix,
            created_at=key.created_at,
            last_used=key.last_used,
            created_by=key.maker or key.created_by,
            is_by_other=key.is_by_other,
        )


class NewApiKey(ApiKeyInfo):
    """A new key, with the key itself, which is not shown again."""

    key: str

    @classmethod
    def made(cls, key: ApiKey, secret: str) -> NewApiKey:
        """The one answer that has the key in it."""
        return cls(**dict(ApiKeyInfo.of(key)), key=secret)


TenantName = Annotated[SafeText, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]
TenantId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$")]
UserId = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$")]
Feature = Annotated[str, StringConstraints(pattern=f"^{FEATURE_PATTERN}$")]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Bytes = Annotated[int, Field(ge=0, le=2**53)]
_USUAL = TenantTerms(name="")


class TenantBody(RequestModel):
    """A tenant's limits and switches. A limit left out has its default; null is no limit."""

    tenant_id: TenantId | None = Field(
        default=None,
        description="Generated if left out; in a change it must equal the one in the URL.",
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
    """A user's role in a tenant."""

    tenant_id: str | None = Field(default=None, description="If sent, must match the URL.")
    user_id: str | None = Field(default=None, description="If sent, must match the URL.")
    role: TenantRole = Field(default="member", examples=["member"])


class MemberInfo(ResponseModel):
    """A user in a tenant."""

    tenant_id: str
    user_id: str
    role: TenantRole
    created_at: UtcTime

    @classmethod
    def of(cls, member: TenantMember) -> Self:
        """The public form of a membership."""
        return cls.model_validate(member, from_attributes=True)


class InvitationBody(RequestModel):
    """The account to invite, and its role."""

    user_id: TenantId = Field(description="The id of an account, as `GET /api/auth/me` shows it.")
    role: TenantRole = Field(default="member", examples=["member"])


class InvitationInfo(ResponseModel):
    """An invitation to a tenant, which a user may accept until it expires."""

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


_USUAL_DAYS = 30


class UsageQuery(BaseModel):
    """Whose usage of which days; without dates the last thirty. Everybody's comes in pages."""

    model_config = ConfigDict(extra="forbid")

    user_id: Id | None = Field(default=None, description="Another user's; for administrators.")
    all_users: bool = Field(default=False, description="All users'; for administrators.")
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
        """The first and the last day of the search."""
        last = self.until or today()
        usual = date.fromordinal(max(1, last.toordinal() - _USUAL_DAYS + 1))
        return self.since or usual, last


UsageSearch = Annotated[UsageQuery, Query()]


class DayUsageInfo(ResponseModel):
    """A user's usage of a day (UTC), with its cost at the current prices."""

    user_id: str
    username: str | None = Field(description="Null for someone without an account.")
    day: date
    runs: int
    input_tokens: int
    output_tokens: int
    tool_calls: int
    sql_seconds: float
    wall_seconds: float
    cost: float | None = Field(description="Null if no price is set.", examples=[0.42])
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
