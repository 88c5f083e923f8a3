"""Who is asking: one shape, however the caller came in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

UserRole = Literal["admin", "user"]
Via = Literal["api_key", "service_key", "cookie", "bearer", "auth_disabled", "terminal"]


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller."""

    user_id: str
    role: UserRole
    via: Via
    tenant_id: str | None = None

    @property
    def is_admin(self) -> bool:
        """Whether the caller may administer."""
        return self.role == "admin"
