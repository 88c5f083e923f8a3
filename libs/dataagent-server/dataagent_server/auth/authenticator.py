"""Turns credentials into a `Principal`, for every transport and every kind of credential.

It decides only who the caller is. Whether they may use a thing is decided by the package that owns
the thing.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from dataagent_core.errors import Denied, NotAuthenticated
from dataagent_core.identity import CredentialRef, Principal, Via
from dataagent_core.identity.credentials import KEY_START
from dataagent_core.identity.users import User, UserStore
from dataagent_server.auth.api_key import WRONG_KEY, APIKeyAuth, acting_user, is_key
from dataagent_server.auth.credentials import (
    Credentials,
    LoginTokens,
    is_same_origin,
    is_unforgeable_host,
)
from dataagent_server.config import ServerSettings

TenantLookup = Callable[[str], Awaitable[str | None]]
"""From a user's id to the id of their tenant."""

logger = logging.getLogger(__name__)
_NO_CREDENTIAL = (
    "This needs a credential: an API key in the X-API-Key header, a bearer token, or a login."
)
_FOREIGN = "The request comes from a page of another site."


class Authenticator:
    """Authenticates callers by deployment key, user key, bearer token or login cookie."""

    def __init__(
        self,
        settings: ServerSettings,
        users: UserStore,
        tokens: LoginTokens,
        *,
        tenant_of: TenantLookup | None = None,
    ) -> None:
        self._trusted = settings.trusted_origins if settings.cors_credentials else []
        self._keys = APIKeyAuth(
            settings.api_keys, settings.auth_disabled, admin_api_keys=settings.admin_api_keys
        )
        self._users = users
        self._tokens = tokens
        self._tenant_of = tenant_of

    @property
    def is_disabled(self) -> bool:
        """Whether authentication is disabled."""
        return self._keys.disabled

    async def authenticate(self, credentials: Credentials, *, from_page: bool) -> Principal:
        """The caller.

        With `from_page` a cookie counts only if no foreign page sent the request; for writes and
        sockets, to which a browser adds the cookie by itself.

        Raises:
            NotAuthenticated: no credential, or none that is valid.
            Denied: a foreign page sent the request.
        """
        return await self._in_tenant(await self._caller(credentials, from_page=from_page))

    async def principal_for(self, user_id: str) -> Principal:
        """A user as they would be authenticated: by account, key or service.

        Nothing is authenticated here.
        """
        user = await self._users.get(user_id)
        role = self._keys.role_of(user_id) if user is None else user.role
        return await self._in_tenant(Principal(user_id, role or "user", "api_key"))

    async def recheck(self, principal: Principal) -> bool:
        """Whether the caller's credential still holds; long requests check it every few seconds.

        `find_revoked` checks many at once.
        """
        return not await self.find_revoked([principal])

    async def find_revoked(self, principals: Sequence[Principal]) -> list[Principal]:
        """The callers whose credential no longer holds, by one query.

        Raises:
            StorageUnavailable: the database does not answer.
        """
        return await self._users.find_revoked(principals)

    def refuse_foreign_page(self, credentials: Credentials) -> None:
        """Refuse a request of another site's page. Programs send no `Origin` and pass.

        Raises:
            Denied: `Origin` is another site.
        """
        if credentials.origin is not None:
            self._refuse_foreign_page(credentials, from_page=True)

    async def _in_tenant(self, principal: Principal) -> Principal:
        """The caller with their tenant."""
        if self._tenant_of is None:
            return principal
        return replace(principal, tenant_id=await self._tenant_of(principal.user_id))

    async def _caller(self, credentials: Credentials, *, from_page: bool) -> Principal:
        if self._keys.disabled:
            return self._anonymous_principal(credentials)
        if credentials.api_key is not None:
            return await self._by_key(credentials.api_key, credentials.acting_for)
        if credentials.bearer is not None:
            if credentials.bearer.startswith(KEY_START):  # many programs can send no other header
                return await self._by_key(credentials.bearer, credentials.acting_for)
            return _principal(*await self._tokens.login_of(credentials.bearer), "bearer")
        if credentials.cookie is not None:
            principal = _principal(*await self._tokens.login_of(credentials.cookie), "cookie")
            self._refuse_foreign_page(credentials, from_page=from_page)
            return principal
        raise NotAuthenticated(_NO_CREDENTIAL)

    async def _by_key(self, key: str, acting_for: str | None) -> Principal:
        if not is_key(key):
            raise NotAuthenticated(WRONG_KEY)
        principal = self._keys.resolve(key, acting_for)
        if principal is not None:
            return principal
        known = await self._users.keys.resolve(key)
        user = None if known is None else await self._users.get(known.user_id)
        if known is None or user is None or not user.is_active:
            raise NotAuthenticated(WRONG_KEY)
        return _principal(user, CredentialRef(key_id=known.key_id), "api_key")

    def _anonymous_principal(self, credentials: Credentials) -> Principal:
        foreign = credentials.origin is not None and not is_same_origin(
            credentials.origin, credentials.host, self._trusted
        )
        if foreign or not is_unforgeable_host(credentials.host):
            raise Denied(f"{_FOREIGN} With authentication disabled only local pages are accepted.")
        return Principal(acting_user(credentials.acting_for), "admin", "auth_disabled")

    def _refuse_foreign_page(self, credentials: Credentials, *, from_page: bool) -> None:
        if not from_page:
            return
        if not is_same_origin(credentials.origin, credentials.host, self._trusted):
            logger.warning("foreign origin refused", extra={"origin": credentials.origin})
            raise Denied(f"{_FOREIGN} A login is accepted only from this server's own pages.")


def _principal(user: User, credential_ref: CredentialRef, via: Via) -> Principal:
    return Principal(user.user_id, user.role, via, credential_ref=credential_ref)
