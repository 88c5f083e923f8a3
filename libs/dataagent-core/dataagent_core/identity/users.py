"""Accounts: users with their passwords, API keys and login links.

A caller named by a deployment key needs no account. The rules that an installation has an
administrator, and that users cannot lock themselves out, are checked in the transaction that makes
the change. Listeners are called after each change that may end a user's access. `find_revoked`
checks the credentials of many open connections with one query.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import uuid4

from sqlalchemy import (
    Column,
    Connection,
    Executable,
    Row,
    bindparam,
    delete,
    exists,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from dataagent_core.errors import BadInput, Conflict, Denied, LastAdmin, NotFound, OwnAccount
from dataagent_core.identity.credentials import (
    ROUNDS,
    ApiKeyStore,
    LoginLinkStore,
    PasswordHasher,
    stamp,
)
from dataagent_core.identity.principal import CredentialRef, Principal, UserRole
from dataagent_core.storage import Database
from dataagent_core.storage.tables import api_keys, ended_logins, login_links, user_tenants, users

_AT_ONCE = 500


async def find_revoked(database: Database, principals: Sequence[Principal]) -> list[Principal]:
    """Those of the callers who would not be let in any more as who they were.

    Callers without `credential_ref` stay, and cost nothing.

    Raises:
        StorageUnavailable: the database does not answer.
    """
    asked = [(each, each.credential_ref) for each in principals if each.credential_ref is not None]
    if not asked:
        return []
    moment = datetime.now(UTC)
    known = await database.read(lambda connection: _load_states(connection, asked))
    return [
        each for each, credential_ref in asked if not known.is_valid(each, credential_ref, moment)
    ]


@dataclass(frozen=True, slots=True)
class _CredentialStates:
    """What the database says now."""

    accounts: dict[str, Row[Any]]
    keys: set[str]
    ended: set[str]

    def is_valid(
        self, principal: Principal, credential_ref: CredentialRef, moment: datetime
    ) -> bool:
        account = self.accounts.get(principal.user_id)
        if account is None or account.status != "active" or account.role != principal.role:
            return False
        return (
            (credential_ref.stamp is None or credential_ref.stamp == stamp(account.password_hash))
            and (credential_ref.key_id is None or credential_ref.key_id in self.keys)
            and credential_ref.login_id not in self.ended
            and (credential_ref.expires_at is None or credential_ref.expires_at > moment)
        )


def _load_states(
    connection: Connection, asked: Sequence[tuple[Principal, CredentialRef]]
) -> _CredentialStates:
    user_ids = {each.user_id for each, _ in asked}
    key_ids = {
        credential_ref.key_id for _, credential_ref in asked if credential_ref.key_id is not None
    }
    login_ids = {
        credential_ref.login_id
        for _, credential_ref in asked
        if credential_ref.login_id is not None
    }
    return _CredentialStates(
        {row.id: row for row in _rows(connection, users.c.id, user_ids)},
        {row.key_id for row in _rows(connection, api_keys.c.key_id, key_ids)},
        {row.login_id for row in _rows(connection, ended_logins.c.login_id, login_ids)},
    )


def _rows(
    connection: Connection, column: Column[Any], wanted: Collection[str]
) -> Iterator[Row[Any]]:
    """The rows with these ids, a bounded number a query."""
    ids = list(wanted)
    for start in range(0, len(ids), _AT_ONCE):
        chosen = select(column.table).where(column.in_(ids[start : start + _AT_ONCE]))
        yield from connection.execute(chosen)


UserStatus = Literal["active", "disabled"]
Listener = Callable[[str], Awaitable[None]]
"""Called with the id of a user whose access may have ended; must not raise."""

_USERNAME = re.compile(r"[A-Za-z0-9_]{3,20}")
_ID_LENGTH = 64
_NO_SUCH_USER = "There is no such user."

_BY_ID = select(users).where(users.c.id == bindparam("wanted"))
_BY_NAME = select(users).where(users.c.username == bindparam("wanted"))
_ALL = select(users).order_by(users.c.created_at, users.c.id)
_ADMINS = _ALL.where(users.c.role == "admin", users.c.status == "active")
_COUNT = select(func.count()).select_from(users)
_OF_LOGIN = _BY_ID.where(~exists().where(ended_logins.c.login_id == bindparam("login")))
# Removing an administrator locks these rows first, in this order: of two at once the second sees
# what the first left. SQLite has one writer and needs no such lock.
_LOCK_ADMINS = (
    select(users.c.id)
    .where(users.c.role == "admin", users.c.status == "active")
    .order_by(users.c.id)
    .with_for_update()
)
_LOCK = _BY_ID.with_for_update()
_UPDATE = update(users).where(users.c.id == bindparam("wanted"))
_DELETE = delete(users).where(users.c.id == bindparam("wanted"))
_LEAVE_TENANT = delete(user_tenants).where(user_tenants.c.user_id == bindparam("wanted"))
_DROP_LINKS = delete(login_links).where(login_links.c.user_id == bindparam("wanted"))
_DROP_KEYS = delete(api_keys).where(api_keys.c.user_id == bindparam("wanted"))


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
        self._listeners: list[Listener] = []
        self.keys = ApiKeyStore(database, tell=self.tell)
        self.links = LoginLinkStore(database)

    def listen(self, listener: Listener) -> None:
        """Tell the listener of every user who may be out from now on, once that is committed."""
        self._listeners.append(listener)

    async def tell(self, user_id: str) -> None:
        """Say that what the user was let in on may hold no more."""
        for listener in self._listeners:
            await listener(user_id)

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
            "id": str(uuid4()),
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
        return await self.require(row["id"])

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
            raise NotFound(_NO_SUCH_USER)
        return user

    async def by_username(self, username: str) -> User | None:
        """The account of that name, or None."""
        if not _USERNAME.fullmatch(username):
            return None
        return _user(await self._first(_BY_NAME, username))

    async def of_login(self, user_id: str, login_id: str) -> User | None:
        """The account, unless it is gone or that login of it was ended; in one query."""
        if not all(each.isascii() and len(each) <= _ID_LENGTH for each in (user_id, login_id)):
            return None
        return _user(await self._first(_OF_LOGIN, user_id, login=login_id))

    async def find_revoked(self, principals: Sequence[Principal]) -> list[Principal]:
        """Those of the callers who would not be let in any more; see `revocation.py`.

        Raises:
            StorageUnavailable: the database does not answer.
        """
        return await find_revoked(self._db, principals)

    async def list(self) -> list[User]:
        """All accounts, oldest first."""
        rows = await self._db.read(lambda connection: list(connection.execute(_ALL)))
        return [user for row in rows if (user := _user(row)) is not None]

    async def page(
        self, *, limit: int, offset: int, search: str | None = None
    ) -> tuple[list[User], int]:
        """A page of the accounts, oldest first, and how many there are; `search` is in the name."""
        found, counted = _ALL, _COUNT
        if search:
            is_found = users.c.username.icontains(search, autoescape=True)
            found, counted = _ALL.where(is_found), _COUNT.where(is_found)
        statement = found.limit(limit).offset(offset)

        def unit(connection: Connection) -> tuple[list[Row[Any]], int]:
            total = connection.execute(counted).scalar() or 0
            return [*connection.execute(statement)], total

        rows, total = await self._db.read(unit)
        return [user for row in rows if (user := _user(row)) is not None], total

    async def verify_password(self, username: str, password: str) -> User | None:
        """The active account these belong to, or None; unknown names take as long as known ones."""
        known = _USERNAME.fullmatch(username) is not None
        row = await self._first(_BY_NAME, username) if known else None
        is_right = await self._passwords.matches(password, row.password_hash if row else None)
        user = _user(row)
        return user if is_right and user is not None and user.is_active else None

    async def set_password(
        self,
        user_id: str,
        password: str,
        *,
        by: Principal | None = None,
        keep_keys: bool = False,
    ) -> User:
        """Give an account another password. Its logins, login links and keys end.

        Raises:
            BadInput: the password does not do.
            NotFound: there is no such account.
            OwnAccount: it is the account of the one who does it, who has to know the old one.
        """
        if by is not None and by.user_id == user_id:
            raise OwnAccount("To change your own password, give the old one with the new one.")
        hashed = await self._passwords.hash(password)

        def unit(connection: Connection) -> Row[Any]:
            values = {"wanted": user_id}
            changed = _updated(connection, user_id, password_hash=hashed)
            connection.execute(_DROP_LINKS, values)
            if not keep_keys:
                connection.execute(_DROP_KEYS, values)
            return changed

        return await self._changed(user_id, unit)

    async def set_status(
        self, user_id: str, status: UserStatus, *, by: Principal | None = None
    ) -> User:
        """Let an account in or keep it out.

        Raises:
            NotFound: there is no such account.
            OwnAccount: it is the account of the one who does it.
            LastAdmin: no administrator would be left.
            Denied: the one who does it is no longer an administrator.
        """

        def unit(connection: Connection) -> Row[Any]:
            if status != "active":
                _refuse_lockout(connection, user_id, by)
            return _updated(connection, user_id, status=status)

        return await self._changed(user_id, unit)

    async def set_role(self, user_id: str, role: UserRole, *, by: Principal | None = None) -> User:
        """Make an account an administrator's or a user's.

        Raises:
            NotFound, OwnAccount, LastAdmin, Denied: as `set_status`.
        """

        def unit(connection: Connection) -> Row[Any]:
            if role != "admin":
                _refuse_lockout(connection, user_id, by)
            return _updated(connection, user_id, role=role)

        return await self._changed(user_id, unit)

    async def delete(self, user_id: str, *, by: Principal | None = None) -> None:
        """Remove an account with its keys and login links. What it owns stays.

        Raises:
            NotFound, OwnAccount, LastAdmin, Denied: as `set_status`.
        """

        def unit(connection: Connection) -> Row[Any]:
            _refuse_lockout(connection, user_id, by)
            found = _locked(connection, user_id)
            connection.execute(_LEAVE_TENANT, {"wanted": user_id})
            connection.execute(_DELETE, {"wanted": user_id})
            return found

        await self._changed(user_id, unit)

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

    async def _first(self, statement: Executable, wanted: str, **more: str) -> Row[Any] | None:
        values = {"wanted": wanted, **more}
        return await self._db.read(lambda connection: connection.execute(statement, values).first())

    async def _changed(self, user_id: str, unit: Callable[[Connection], Row[Any]]) -> User:
        """Commit a change, then say so."""
        if not user_id.isascii() or len(user_id) > _ID_LENGTH:
            raise NotFound(_NO_SUCH_USER)
        row = await self._db.write(unit)
        await self.tell(user_id)
        return _require_row(row)


def _refuse_lockout(connection: Connection, user_id: str, by: Principal | None) -> None:
    """Hold the administrators in place, and look whether one fewer will do."""
    if by is not None and by.user_id == user_id:
        raise OwnAccount("You cannot do this to your own account. Ask another administrator.")
    admins = set(connection.execute(_LOCK_ADMINS).scalars())
    if by is not None and by.credential_ref is not None and by.user_id not in admins:
        raise Denied("You are no longer an administrator.")
    if admins == {user_id}:
        raise LastAdmin("This is the last active administrator. Make another one first.")


def _locked(connection: Connection, user_id: str) -> Row[Any]:
    found = connection.execute(_LOCK, {"wanted": user_id}).first()
    if found is None:
        raise NotFound(_NO_SUCH_USER)
    return found


def _updated(connection: Connection, user_id: str, **values: str) -> Row[Any]:
    """The account's row as it is after the change."""
    _locked(connection, user_id)
    connection.execute(_UPDATE.values(**values), {"wanted": user_id})
    return _locked(connection, user_id)


def _user(row: Row[Any] | None) -> User | None:
    return None if row is None else _require_row(row)


def _require_row(row: Row[Any]) -> User:
    return User(
        user_id=row.id,
        username=row.username,
        role=row.role,
        status=row.status,
        created_at=row.created_at,
        stamp=stamp(row.password_hash),
    )
