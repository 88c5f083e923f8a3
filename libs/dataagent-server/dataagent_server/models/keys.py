"""Users' API keys, as they go over the wire. The key itself goes out once, when it is made."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from dataagent_core.identity.credentials import ApiKey
from dataagent_server.models.fields import RequestModel, ResponseModel, SafeText, UtcTime


class ApiKeyCreate(RequestModel):
    """What a new key is for."""

    name: Annotated[SafeText, StringConstraints(min_length=1, max_length=100)] = Field(
        examples=["nightly report"]
    )


class ApiKeyInfo(ResponseModel):
    """A key, known by its first characters."""

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
    """A key that was just made, with the key itself, which is not shown again."""

    key: str

    @classmethod
    def made(cls, key: ApiKey, secret: str) -> NewApiKey:
        """The one answer that has the key in it."""
        return cls(**dict(ApiKeyInfo.of(key)), key=secret)
