"""Accounts and logins, as they go over the wire. Passwords only ever come in."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr, StringConstraints
from pydantic_core import PydanticCustomError

from dataagent_core.identity import Principal, UserRole
from dataagent_core.identity.users import User, UserStatus
from dataagent_core.storage.database import is_storable
from dataagent_server.models.fields import RequestModel, ResponseModel, SafeText, UtcTime

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
    """A new password for the caller, with the present one."""

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
        examples=["dora"], description="3 to 20 letters, digits or `_`; nobody else's."
    )
    password: Password = Field(examples=["correct horse battery"])
    role: UserRole


class StatusUpdate(RequestModel):
    """Whether an account may come in."""

    status: UserStatus


class RoleUpdate(RequestModel):
    """What an account may do."""

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
