"""Users: who they are, their passwords, their keys and login links.

A user here is an account of the product. A caller named by a deployment key needs none. Who may do
what to whom is decided by the doors with the `Principal` they get. Above: the server's `auth/` and
its commands. Below: `passwords.py`, `keys.py`, `links.py`, `storage/`.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import uuid4

from sqlalchemy import Connection, Executable, Row, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from dataagent_core.errors import BadInput, Conflict, NotFound
from dataagent_core.identity.keys import ApiKeyStore
from dataagent_core.identity.links import LoginLinkStore
from dataagent_core.identity.passwords import ROUNDS, PasswordHasher, stamp
from dataagent_core.identity.principal import UserRole
from dataagent_core.storage import Database
from dataagent_core.storage.tables import users

UserStatus = Literal["active", "disabled"]
_USERNAME = re.compile(r"[A-Za-z0-9_]{3,20}")
_ID_LENGTH = 64

_BY_ID = select(users).where(users.c.user_id == bindparam("wanted"))
_BY_NAME = select(users).where(users.c.username == bindparam("wanted"))
_ALL = select(users).order_by(users.c.created_at, users.c.user_id)
_ADMINS = _ALL.where(users.c.role == "admin", users.c.status == "active")
_COUNT = select(func.count()).select_from(users)
_SET_PASSWORD = (
    update(users)
    .where(users.c.user_id == bindparam("wanted"))
    .values(password_hash=bindparam("to"))
)
_SET_STATUS = (
    update(users).where(users.c.user_id == bindparam("wanted")).values(status=bindparam("to"))
)
_DELETE = delete(users).where(users.c.user_id == bindparam("wanted"))


@dataclass(frozen=True, slots=True)
class User:
    """An account. `stamp` changes with the password; tokens carry it."""

    user_id: str
    username: str
    role: UserRole
    status: UserStatus
    created_at: datetime
    stamp: str

    @property
    def is_active(self) -> bool:
        """Whether the user may come in."""
        return self.status == "active"


class UserStore:
    """The accounts, with `keys` and `links` beside them. Close it when done."""

    def __init__(self, database: Database, *, password_rounds: int = ROUNDS) -> None:
        self._db = database
        self._passwords = PasswordHasher(rounds=password_rounds)
        self.keys = ApiKeyStore(database)
        self.links = LoginLinkStore(database)

    async def create(
        self, username: str, password: str | None = None, *, role: UserRole = "user"
    ) -> User:
        """Add an account; without a password its owner comes in by key or login link.

        Raises:
            BadInput: the name is not 3–20 letters, digits or `_`, or the password does not do.
            Conflict: the name is taken.
        """
        if not _USERNAME.fullmatch(username):
            raise BadInput("A username is 3 to 20 letters, digits or '_'.")
        hashed = None if password is None else await self._passwords.hash(password)
        row: dict[str, Any] = {
            "user_id": str(uuid4()),
            "username": username,
            "role": role,
            "status": "active",
            "password_hash": hashed,
            "created_at": datetime.now(UTC),
        }
        try:
            await self._db.write(lambda connection: connection.execute(insert(users), row).rowcount)
        except IntegrityError as error:
            raise Conflict(f"The username {username!r} is taken. Choose another.") from error
        return await self.require(row["user_id"])

    async def get(self, user_id: str) -> User | None:
        """The account, or None."""
        if not user_id.isascii() or len(user_id) > _ID_LENGTH:
            return None
        return _user(await self._first(_BY_ID, user_id))

    async def require(self, user_id: str) -> User:
        """The account.

        Raises:
            NotFound: there is none.
        """
        user = await self.get(user_id)
        if user is None:
            raise NotFound("There is no such user.")
        return user

    async def by_username(self, username: str) -> User | None:
        """The account of that name, or None."""
        if not _USERNAME.fullmatch(username):
            return None
        return _user(await self._first(_BY_NAME, username))

    async def list(self) -> list[User]:
        """All accounts, oldest first."""
        rows = await self._db.read(lambda connection: list(connection.execute(_ALL)))
        return [user for row in rows if (user := _user(row)) is not None]

    async def verify_password(self, username: str, password: str) -> User | None:
        """The active account these belong to, or None; unknown names take as long as known ones."""
        known = _USERNAME.fullmatch(username) is not None
        row = await self._first(_BY_NAME, username) if known else None
        is_right = await self._passwords.matches(password, row.password_hash if row else None)
        user = _user(row)
        return user if is_right and user is not None and user.is_active else None

    async def set_password(self, user_id: str, password: str) -> None:
        """Give an account another password; its login tokens end.

        Raises:
            BadInput: the password does not do.
            NotFound: there is no such account.
        """
        await self._change(_SET_PASSWORD, user_id, await self._passwords.hash(password))

    async def set_status(self, user_id: str, status: UserStatus) -> None:
        """Let an account in or keep it out.

        Raises:
            NotFound: there is no such account.
        """
        await self._change(_SET_STATUS, user_id, status)

    async def delete(self, user_id: str) -> None:
        """Remove an account with its keys and login links. What it owns stays where it is kept.

        Raises:
            NotFound: there is no such account.
        """
        await self._change(_DELETE, user_id)

    async def first_admin(self) -> User | None:
        """The oldest active administrator."""
        return _user(await self._db.read(lambda connection: connection.execute(_ADMINS).first()))

    async def ensure_admin(self, username: str, password: str | None) -> str | None:
        """Make the first administrator if there is no account at all.

        Returns the password if it had to be made up: show it once, it cannot be read again.

        Raises:
            BadInput: the name or the password does not do.
        """
        if await self._db.read(lambda connection: connection.execute(_COUNT).scalar()):
            return None
        made_up = None if password else secrets.token_urlsafe(12)
        try:
            await self.create(username, password or made_up, role="admin")
        except Conflict:  # another process was first
            return None
        return made_up

    def close(self) -> None:
        """Release the threads that hash passwords."""
        self._passwords.close()

    async def _first(self, statement: Executable, wanted: str) -> Row[Any] | None:
        values = {"wanted": wanted}
        return await self._db.read(lambda connection: connection.execute(statement, values).first())

    async def _change(self, statement: Executable, user_id: str, to: str | None = None) -> None:
        values = {"wanted": user_id, **({} if to is None else {"to": to})}

        def unit(connection: Connection) -> int:
            return connection.execute(statement, values).rowcount  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType] an UPDATE's or DELETE's result has it

        if not await self._db.write(unit):
            raise NotFound("There is no such user.")


def _user(row: Row[Any] | None) -> User | None:
    if row is None:
        return None
    return User(
        user_id=row.user_id,
        username=row.username,
        role=row.role,
        status=row.status,
        created_at=row.created_at,
        stamp=stamp(row.password_hash),
    )
