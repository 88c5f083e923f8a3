"""API keys of users: made in the product, shown once, kept as hashes.

A key is `dak_` + 8 characters that find its row + 43 that prove it. Keys have 256 random bits, so a
plain SHA-256 is enough. Not here: the deployment's own keys, which are settings of the server.
Above: `users.py` carries a store of these. Below: `storage/`.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from dataagent_core.errors import BadInput, NotFound
from dataagent_core.storage import Database
from dataagent_core.storage.tables import api_keys
from dataagent_core.storage.text import is_storable

KEY_START = "dak_"
_PREFIX_LENGTH = len(KEY_START) + 8
_KEY_LENGTH = _PREFIX_LENGTH + 43
_USE_IS_NEWS_AFTER = timedelta(minutes=1)

_FIND = select(api_keys).where(api_keys.c.prefix == bindparam("at_prefix"))
_OF_USER = (
    select(api_keys)
    .where(api_keys.c.user_id == bindparam("owner"))
    .order_by(api_keys.c.created_at, api_keys.c.key_id)
)
_DELETE = delete(api_keys).where(
    api_keys.c.key_id == bindparam("key"), api_keys.c.user_id == bindparam("owner")
)
_TOUCH = (
    update(api_keys).where(api_keys.c.key_id == bindparam("key")).values(last_used=bindparam("at"))
)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is known of a key once it has been handed out."""

    key_id: str
    user_id: str
    name: str
    prefix: str
    created_at: datetime
    last_used: datetime | None = None


class ApiKeyStore:
    """The users' keys."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def create(self, user_id: str, name: str) -> tuple[ApiKey, str]:
        """Make a key; the second value is the key itself, which nobody can read again.

        Raises:
            BadInput: the name is empty, too long or not storable.
        """
        if not name.strip() or len(name) > 100 or not is_storable(name):
            raise BadInput("A key's name has 1 to 100 characters.")
        prefix = KEY_START + secrets.token_hex(4)
        secret = prefix + secrets.token_urlsafe(32)
        key = ApiKey(str(uuid4()), user_id, name.strip(), prefix, _now())
        row = {
            "key_id": key.key_id,
            "user_id": user_id,
            "name": key.name,
            "prefix": prefix,
            "key_hash": _hash(secret),
            "created_at": key.created_at,
        }
        await self._db.write(lambda connection: connection.execute(insert(api_keys), row).rowcount)
        return key, secret

    async def list(self, user_id: str) -> list[ApiKey]:
        """The user's keys, oldest first."""
        return await self._db.read(lambda connection: _of_user(connection, user_id))

    async def revoke(self, key_id: str, *, owner: str) -> None:
        """Delete one of the owner's keys.

        Raises:
            NotFound: the owner has no such key.
        """
        values = {"key": key_id, "owner": owner}
        deleted = await self._db.write(
            lambda connection: connection.execute(_DELETE, values).rowcount
        )
        if not deleted:
            raise NotFound(f"There is no key {key_id!r}. List your keys to see their ids.")

    async def resolve(self, secret: str) -> str | None:
        """The id of the user whose key this is, or None."""
        if len(secret) != _KEY_LENGTH or not secret.isascii() or not secret.startswith(KEY_START):
            return None
        rows = await self._db.read(lambda connection: _find(connection, secret[:_PREFIX_LENGTH]))
        presented = _hash(secret)
        for row in rows:
            if hmac.compare_digest(presented, row.key_hash):
                await self._note_use(row.key_id, row.last_used)
                return row.user_id
        return None

    async def _note_use(self, key_id: str, last_used: datetime | None) -> None:
        """Keep when a key was last used, to the minute: not every request is worth a write."""
        moment = _now()
        if last_used is None or moment - last_used > _USE_IS_NEWS_AFTER:
            values = {"key": key_id, "at": moment}
            await self._db.write(lambda connection: connection.execute(_TOUCH, values).rowcount)


def _find(connection: Connection, prefix: str) -> list[Row[tuple[object, ...]]]:
    return list(connection.execute(_FIND, {"at_prefix": prefix}))


def _of_user(connection: Connection, user_id: str) -> list[ApiKey]:
    return [
        ApiKey(row.key_id, row.user_id, row.name, row.prefix, row.created_at, row.last_used)
        for row in connection.execute(_OF_USER, {"owner": user_id})
    ]


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _now() -> datetime:
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
