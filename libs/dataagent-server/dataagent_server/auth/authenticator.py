"""Credentials → `Principal`, for every door and every kind of credential.

The one place that decides who is calling. Whether the caller may touch a thing is decided where the
thing is kept. Above: `deps/`. Below: `tokens.py`, `api_key.py`, the core's users.
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
"""The id of the tenant a user is in, from the user's id."""

logger = logging.getLogger(__name__)
_NO_CREDENTIAL = (
    "This needs a credential: an API key in the X-API-Key header, a bearer token, or a login."
)
_FOREIGN = "The request comes from a page of another site."


class Authenticator:
    """Knows every way to come in."""

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
        """Whether everyone may come in."""
        return self._keys.disabled

    async def authenticate(self, credentials: Credentials, *, from_page: bool) -> Principal:
        """The caller.

        `from_page` asks for proof that no foreign page is behind the request, where a browser would
        have sent the credential by itself: writes and sockets.

        Raises:
            NotAuthenticated: no credential, or none that is valid.
            Denied: a foreign page is behind the request.
        """
        return await self._in_tenant(await self._caller(credentials, from_page=from_page))

    async def principal_for(self, user_id: str) -> Principal:
        """A user as they would come in: by account, by a key that names them, or through a service.

        It lets nobody in; it says what they would be.
        """
        user = await self._users.get(user_id)
        role = self._keys.role_of(user_id) if user is None else user.role
        return await self._in_tenant(Principal(user_id, role or "user", "api_key"))

    async def recheck(self, principal: Principal) -> bool:
        """Whether the caller would still be let in as who they were.

        For whoever goes on after the request was judged: ask at least every few seconds. Many at
        once are asked for with `find_revoked`.
        """
        return not await self.find_revoked([principal])

    async def find_revoked(self, principals: Sequence[Principal]) -> list[Principal]:
        """Those of the callers for whom `recheck` is false, in one look.

        Raises:
            StorageUnavailable: the database does not answer, so nobody can tell.
        """
        return await self._users.find_revoked(principals)

    def refuse_foreign_page(self, credentials: Credentials) -> None:
        """Refuse what a page of another site sent. Programs send no `Origin` and pass.

        Raises:
            Denied: there is an `Origin`, and it is not ours.
        """
        if credentials.origin is not None:
            self._refuse_foreign_page(credentials, from_page=True)

    async def _in_tenant(self, principal: Principal) -> Principal:
        """The caller in their tenant: the one place where that is looked up."""
        if self._tenant_of is None:
            return principal
        return replace(principal, tenant_id=await self._tenant_of(principal.user_id))

    async def _caller(self, credentials: Credentials, *, from_page: bool) -> Principal:
        if self._keys.disabled:
            return self._anonymous_principal(credentials)
        if credentials.api_key is not None:
            return await self._by_key(credentials.api_key, credentials.acting_for)
        if credentials.bearer is not None:
            if credentials.bearer.startswith(KEY_START):  # many programs know no other header
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
            raise Denied(f"{_FOREIGN} With authentication disabled only local pages may ask.")
        return Principal(acting_user(credentials.acting_for), "admin", "auth_disabled")

    def _refuse_foreign_page(self, credentials: Credentials, *, from_page: bool) -> None:
        if not from_page:
            return
        if not is_same_origin(credentials.origin, credentials.host, self._trusted):
            logger.warning("foreign origin refused", extra={"origin": credentials.origin})
            raise Denied(f"{_FOREIGN} A login counts only for this server's own pages.")


def _principal(user: User, credential_ref: CredentialRef, via: Via) -> Principal:
    return Principal(user.user_id, user.role, via, credential_ref=credential_ref)
