"""Users' API keys, password hashes and one-time login links.

A key is `dak_` + 8 characters that find its row + 43 that prove it; with 256 random bits a plain
SHA-256 is enough. Passwords are hashed with bcrypt, which takes a third of a second of CPU, in a
thread of its own with a short queue; input over 72 bytes is refused rather than cut. A login link
is valid once, for a quarter of an hour: redeeming it deletes its hash in the same transaction.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

import bcrypt
from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from dataagent_core.errors import (
    BadInput,
    Conflict,
    LimitReached,
    NotFound,
    StorageFull,
    Unavailable,
)
from dataagent_core.storage import Database
from dataagent_core.storage.database import is_storable
from dataagent_core.storage.tables import api_keys, login_links, users

T = TypeVar("T")
MAX_BYTES = 72
ROUNDS = 12
MAX_WAITING = 32


def encode_password(password: str) -> bytes:
    """The password as bcrypt takes it.

    Raises:
        BadInput: empty, too long for bcrypt, or not text that can be typed again.
    """
    if not is_storable(password):
        raise BadInput("A password cannot contain NUL or half a character.")
    encoded = password.encode()
    if len(encoded) > MAX_BYTES:
        raise BadInput(f"A password has at most {MAX_BYTES} bytes; this one is longer.")
    if not encoded:
        raise BadInput("A password cannot be empty.")
    return encoded


class PasswordHasher:
    """Makes and checks hashes in its own threads. Close it when done."""

    def __init__(self, *, rounds: int = ROUNDS) -> None:
        self._rounds = rounds
        self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="passwords")
        self._waiting = 0

    async def hash(self, password: str) -> str:
        """A salted hash of the password.

        Raises:
            BadInput: see `encode_password`.
            Unavailable: too many wait for theirs already.
        """
        encoded = encode_password(password)
        return await self._in_turn(partial(self._hash, encoded))

    async def matches(self, password: str, hashed: str | None) -> bool:
        """Whether the password belongs to the hash; takes as long when there is no hash.

        Raises:
            Unavailable: too many wait for theirs already.
        """
        try:
            encoded = encode_password(password)
        except BadInput:
            encoded, hashed = b"not a password", None
        return await self._in_turn(partial(self._matches, encoded, hashed))

    def close(self) -> None:
        """Let the threads end."""
        self._threads.shutdown(wait=False)

    async def _in_turn(self, work: Callable[[], T]) -> T:
        if self._waiting >= MAX_WAITING:
            raise Unavailable("Too many log in at this moment. Try again in a few seconds.")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._waiting -= 1

    def _hash(self, encoded: bytes) -> str:
        return bcrypt.hashpw(encoded, bcrypt.gensalt(self._rounds)).decode()

    def _matches(self, encoded: bytes, hashed: str | None) -> bool:
        if hashed is None:
            self._hash(encoded)
            return False
        return bcrypt.checkpw(encoded, hashed.encode())


def stamp(hashed: str | None) -> str:
    """A short mark of a password hash: a token that carries another mark is out of date."""
    return hashlib.sha256((hashed or "").encode()).hexdigest()[:16]


KEY_START = "dak_"
_PREFIX_LENGTH = len(KEY_START) + 8
_KEY_LENGTH = _PREFIX_LENGTH + 43
_LAST_USED_RESOLUTION = timedelta(minutes=1)
MAX_KEYS = 100

_FIND_KEY = select(api_keys).where(api_keys.c.prefix == bindparam("at_prefix"))
_OF_USER = (
    select(*api_keys.c, users.c.username.label("maker"))
    .outerjoin(users, users.c.id == api_keys.c.created_by)
    .where(api_keys.c.user_id == bindparam("owner"))
    .order_by(api_keys.c.created_at, api_keys.c.key_id)
)
_COUNT = select(func.count()).select_from(api_keys).where(api_keys.c.user_id == bindparam("owner"))
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
    created_by: str | None = None  # the user's id; None if that was not stored yet
    # that user's name, if they have an account; only in a list
    maker: str | None = field(default=None, compare=False)

    @property
    def is_by_other(self) -> bool:
        """Whether someone else made it for the user."""
        return self.created_by not in (None, self.user_id)


class ApiKeyStore:
    """The users' keys."""

    def __init__(self, database: Database, *, tell: Callable[[str], Awaitable[None]]) -> None:
        self._db = database
        self._tell = tell

    async def create(self, user_id: str, name: str, *, by: str | None = None) -> tuple[ApiKey, str]:
        """Make a key; the second value is the key itself, which cannot be read again.

        `by` is who makes it, if that is not the user.

        Raises:
            BadInput: the name is empty, too long or not storable.
            Conflict: the user is none of the accounts, so nothing could end the key.
            LimitReached: they have as many keys as one may have.
        """
        if not name.strip() or len(name) > 100 or not is_storable(name):
            raise BadInput("A key's name has 1 to 100 characters.")
        prefix = KEY_START + secrets.token_hex(4)
        secret = prefix + secrets.token_urlsafe(32)
        row = {
            "key_id": str(uuid4()),
            "user_id": user_id,
            "name": name.strip(),
            "prefix": prefix,
            "key_hash": _key_hash(secret),
            "created_at": _now(),
            "created_by": by or user_id,
        }
        try:
            key = await self._db.write(lambda connection: _add(connection, row))
        except IntegrityError as error:
            raise Conflict(
                "Only an account can have keys. Log in, or ask an administrator for an account."
            ) from error
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
        await self._tell(owner)

    async def resolve(self, secret: str) -> ApiKey | None:
        """The key this is, or None."""
        if len(secret) != _KEY_LENGTH or not secret.isascii() or not secret.startswith(KEY_START):
            return None
        rows = await self._db.read(lambda connection: _find(connection, secret[:_PREFIX_LENGTH]))
        presented = _key_hash(secret)
        for row in rows:
            if hmac.compare_digest(presented, row.key_hash):
                await self._note_use(row.key_id, row.last_used)
                return _key(row)
        return None

    async def _note_use(self, key_id: str, last_used: datetime | None) -> None:
        """Store when a key was last used, to the minute: not every request is worth a write.

        A full disk is no reason to turn away a caller who only reads.
        """
        moment = _now()
        if last_used is None or moment - last_used > _LAST_USED_RESOLUTION:
            values = {"key": key_id, "at": moment}
            with suppress(StorageFull):
                await self._db.write(lambda connection: connection.execute(_TOUCH, values).rowcount)


def _add(connection: Connection, row: dict[str, Any]) -> ApiKey:
    if (connection.execute(_COUNT, {"owner": row["user_id"]}).scalar() or 0) >= MAX_KEYS:
        raise LimitReached(f"You have {MAX_KEYS} keys, as many as one may have. Revoke one first.")
    connection.execute(insert(api_keys), row)
    return next(
        each for each in _of_user(connection, row["user_id"]) if each.key_id == row["key_id"]
    )


def _find(connection: Connection, prefix: str) -> list[Row[Any]]:
    return list(connection.execute(_FIND_KEY, {"at_prefix": prefix}))


def _of_user(connection: Connection, user_id: str) -> list[ApiKey]:
    return [_key(row) for row in connection.execute(_OF_USER, {"owner": user_id})]


def _key(row: Row[Any]) -> ApiKey:
    return ApiKey(
        row.key_id,
        row.user_id,
        row.name,
        row.prefix,
        row.created_at,
        row.last_used,
        row.created_by,
        getattr(row, "maker", None),
    )


def _key_hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _now() -> datetime:
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


LIFETIME = timedelta(minutes=15)
_MAX_TOKEN = 128

_FIND_LINK = select(login_links).where(login_links.c.token_hash == bindparam("token"))
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
            "token_hash": _token_hash(token),
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
        hashed = _token_hash(token)
        return await self._db.write(lambda connection: _redeem(connection, hashed))


def _redeem(connection: Connection, token_hash: str) -> str | None:
    found = connection.execute(_FIND_LINK, {"token": token_hash}).first()
    if found is None or not connection.execute(_SPEND, {"token": token_hash}).rowcount:
        return None
    return found.user_id if found.expires_at > datetime.now(UTC) else None


def _token_hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
