"""Login tokens: JWT, HS256 only, 24 hours if not set, signed with the secret all processes share.

A token says who; the database says whether that user still exists, is active, has the same password
and has not logged out of it, and which role they have: the token's `role` is for its reader alone.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import jwt

from dataagent_core.errors import NotAuthenticated
from dataagent_core.identity import CredentialRef
from dataagent_core.identity.users import User, UserStore

COOKIE = "access_token"
LIFETIME = timedelta(hours=24)
_ALGORITHM = "HS256"
_ISSUER = "dataagent"
_MAX_TOKEN = 4096
_REFUSED = "The login is not valid or has ended. Log in again."


class LoginTokens:
    """Makes and reads login tokens."""

    def __init__(self, secret: str, users: UserStore, *, lifetime: timedelta = LIFETIME) -> None:
        self._secret = secret
        self._users = users
        self.lifetime = lifetime

    def issue(self, user: User, *, lifetime: timedelta | None = None) -> str:
        """A token for the user."""
        moment = datetime.now(UTC)
        claims = {
            "iss": _ISSUER,
            "sub": user.user_id,
            "user_id": user.user_id,
            "role": user.role,  # for whoever reads the token; the database says what holds
            "iat": moment,
            "exp": moment + (self.lifetime if lifetime is None else lifetime),
            "jti": str(uuid4()),
            "stamp": user.stamp,
        }
        return jwt.encode(claims, self._secret, algorithm=_ALGORITHM)

    async def login_of(self, token: str) -> tuple[User, CredentialRef]:
        """The active user a token stands for, and what that rests on.

        Raises:
            NotAuthenticated: forged, expired, logged out, or the user is disabled, deleted or has
                another password now.
        """
        claims = self._claims(token)
        user = await self._users.of_login(claims["sub"], claims["jti"])
        if user is None or not user.is_active or claims.get("stamp") != user.stamp:
            raise NotAuthenticated(_REFUSED)
        return user, CredentialRef(
            stamp=user.stamp, login_id=claims["jti"], expires_at=claims["exp"]
        )

    def _claims(self, token: str) -> dict[str, Any]:
        if len(token) > _MAX_TOKEN or not token.isascii():
            raise NotAuthenticated(_REFUSED)
        try:
            claims = jwt.decode(
                token,
                self._secret,
                algorithms=[_ALGORITHM],
                issuer=_ISSUER,
                options={"require": ["exp", "iat", "sub", "iss", "jti"]},
            )
            return {**claims, "exp": datetime.fromtimestamp(int(claims["exp"]), UTC)}
        except (jwt.PyJWTError, ValueError, OverflowError) as error:
            raise NotAuthenticated(_REFUSED) from error
