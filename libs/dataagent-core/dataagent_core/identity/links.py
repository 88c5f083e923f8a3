"""One-time login links: a token that stands for a user once, for a quarter of an hour.

The database holds a hash; spending a link deletes its row in the same transaction, so two browsers
cannot both use it. Above: `users.py` carries a store of these. Below: `storage/`.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, bindparam, delete, insert, select

from dataagent_core.storage import Database
from dataagent_core.storage.tables import login_links

LIFETIME = timedelta(minutes=15)
_MAX_TOKEN = 128

_FIND = select(login_links).where(login_links.c.token_hash == bindparam("token"))
_SPEND = delete(login_links).where(login_links.c.token_hash == bindparam("token"))
_FORGET = delete(login_links).where(login_links.c.expires_at < bindparam("at"))


class LoginLinkStore:
    """Login links that were handed out and not used yet."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def create(self, user_id: str, *, lifetime: timedelta = LIFETIME) -> str:
        """A token for the user's next login. Expired ones are forgotten on the way."""
        token = secrets.token_urlsafe(32)
        moment = datetime.now(UTC)
        row = {
            "token_hash": _hash(token),
            "user_id": user_id,
            "expires_at": moment + lifetime,
        }

        def unit(connection: Connection) -> None:
            connection.execute(_FORGET, {"at": moment})
            connection.execute(insert(login_links), row)

        await self._db.write(unit)
        return token

    async def redeem(self, token: str) -> str | None:
        """The id of the user the token stands for; None if unknown, expired or used."""
        if not token or len(token) > _MAX_TOKEN or not token.isascii():
            return None
        hashed = _hash(token)
        return await self._db.write(lambda connection: _redeem(connection, hashed))


def _redeem(connection: Connection, token_hash: str) -> str | None:
    found = connection.execute(_FIND, {"token": token_hash}).first()
    if found is None or not connection.execute(_SPEND, {"token": token_hash}).rowcount:
        return None
    return found.user_id if found.expires_at > datetime.now(UTC) else None


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
