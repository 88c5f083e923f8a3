"""Login with name and password, logout, and limits against guessing.

Each attempt is counted before its password is checked, so that parallel attempts do not evade the
limits:

- a name at one address, and an address by itself: over the limit both are refused until the window
  of time has passed. Attempts at other addresses do not count.
- a name at all addresses: over the limit there is a pause between two attempts, which grows to half
  a minute. So guessing from many addresses is slow, and no user can be locked out: they get in
  after the pause, and without one from an address they have logged in from before.

A correct attempt is not counted, nor is one that could not be checked. The counts are in the
database, which all processes share. An unknown name is counted, answered and timed like a known
one.
"""

from __future__ import annotations

import hashlib
import ipaddress
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from dataagent_core.errors import (
    StorageUnavailable,
    TooManyLogins,
    Unavailable,
    WrongLogin,
    WrongPassword,
)
from dataagent_core.identity.credentials import encode_password
from dataagent_core.identity.principal import Principal
from dataagent_core.identity.users import User, UserStore
from dataagent_core.storage import Database
from dataagent_core.storage.tables import ended_logins, login_addresses, login_failures
from dataagent_core.storage.tables import users as accounts

_ATTEMPTS = 5
_PLAIN_NAME = 64
_IPV6_PREFIX = 64  # bits: what one subscriber is given, so all of it is one address
_FIRST_PAUSE = timedelta(seconds=1)
_LONGEST_PAUSE = timedelta(seconds=30)
_ADDRESS_LIFETIME = timedelta(days=90)

_LOCK = (
    select(login_failures)
    .where(login_failures.c.subject.in_(bindparam("subjects", expanding=True)))
    .order_by(login_failures.c.subject)
    .with_for_update()
)
_COUNT = (
    update(login_failures)
    .where(login_failures.c.subject == bindparam("of"))
    .values(failures=bindparam("to"), first_at=bindparam("since"), last_at=bindparam("at"))
)
_FORGET = delete(login_failures).where(login_failures.c.subject == bindparam("of"))
_TAKE_BACK = (
    update(login_failures)
    .where(login_failures.c.subject == bindparam("of"), login_failures.c.failures > 0)
    .values(failures=login_failures.c.failures - 1)
)
_FORGET_OLD = delete(login_failures).where(login_failures.c.last_at < bindparam("before"))
_FORGET_ENDED = delete(ended_logins).where(ended_logins.c.expires_at < bindparam("before"))
_KNOWN = (
    select(login_addresses.c.address)
    .join(accounts, accounts.c.id == login_addresses.c.user_id)
    .where(accounts.c.username == bindparam("name"), login_addresses.c.address == bindparam("at"))
)
_SEEN_AGAIN = (
    update(login_addresses)
    .where(login_addresses.c.user_id == bindparam("of"))
    .where(login_addresses.c.address == bindparam("at"))
    .values(last_at=bindparam("moment"))
)
_FORGET_ADDRESSES = delete(login_addresses).where(login_addresses.c.last_at < bindparam("before"))


@dataclass(frozen=True, slots=True)
class LoginLimits:
    """How many wrong passwords in how long; `per_name` is of a name at one address."""

    per_name: int = 10
    per_address: int = 30
    window: timedelta = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What one attempt counts for."""

    username: str
    address: str

    @property
    def name(self) -> str:
        if self._is_plain:
            return f"name:{self.username}"
        return f"name#{hashlib.sha256(self.username.encode('utf-8', 'replace')).hexdigest()}"

    @property
    def place(self) -> str:
        return f"address:{self.address}"

    @property
    def name_at_place(self) -> str:
        return f"{self.name}@{self.address}"

    def is_from_known_address(self, connection: Connection) -> bool:
        """Whether the user of that name has logged in from there before."""
        values = {"name": self.username, "at": self.address}
        return self._is_plain and connection.execute(_KNOWN, values).first() is not None

    @property
    def _is_plain(self) -> bool:
        name = self.username
        return len(name) <= _PLAIN_NAME and name.isascii() and name.isprintable()


def _utc_now() -> datetime:
    return datetime.now(UTC)


class LoginService:
    """The one way from a name and a password to a user."""

    def __init__(
        self,
        database: Database,
        users: UserStore,
        *,
        limits: LoginLimits | None = None,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._db = database
        self._users = users
        self._limits = limits or LoginLimits()
        self._clock = clock
        self._tidied_at = clock()

    async def log_in(self, username: str, password: str, *, address: str | None) -> User:
        """The active account that name and password belong to.

        Raises:
            WrongLogin: there is none; nothing says which of the two is wrong.
            TooManyLogins: too many wrong ones before; this one was not looked at.
            Unavailable: too many log in at this moment.
        """
        attempt = _Attempt(username, _network(address))
        counted = await self._count(attempt)
        try:
            user = await self._users.verify_password(username, password)
        except Unavailable:  # not checked, so not counted
            await self._take_back(counted)
            raise
        if user is None:
            raise WrongLogin("The name or the password is not right.")
        await self._take_back(counted, anew=attempt.name_at_place)
        with suppress(
            IntegrityError
        ):  # a login at the same moment wrote it, or the account is gone
            await self._db.write(lambda connection: self._remember(connection, user, attempt))
        return user

    async def change_password(
        self, user_id: str, old: str, new: str, *, address: str | None, keep_keys: bool = False
    ) -> User:
        """Give the user another password. All their logins end, and their keys unless kept.

        Raises:
            BadInput: the new password does not do.
            NotFound: the caller has no account.
            WrongPassword: the old one is not right, or there is none to compare with.
            TooManyLogins, Unavailable: as `log_in`.
        """
        encode_password(new)
        user = await self._users.require(user_id)
        try:
            await self.log_in(user.username, old, address=address)
        except WrongLogin as error:
            raise WrongPassword(
                "The present password is not right. If you have none, ask an administrator."
            ) from error
        return await self._users.set_password(user_id, new, keep_keys=keep_keys)

    async def reset_password(
        self, user_id: str, new: str, *, by: Principal, keep_keys: bool = False
    ) -> User:
        """Give another user a password, and the name a new start. Their logins and keys end.

        Raises:
            BadInput: the password does not do.
            NotFound: there is no such account.
            OwnAccount: it is the caller's own, for which the old one is needed.
        """
        user = await self._users.set_password(user_id, new, by=by, keep_keys=keep_keys)
        subject = _Attempt(user.username, "").name
        of_name = login_failures.c.subject == subject
        at_places = login_failures.c.subject.startswith(f"{subject}@", autoescape=True)
        forget = delete(login_failures).where(of_name | at_places)
        await self._db.write(lambda connection: connection.execute(forget).rowcount)
        return user

    async def log_out(self, principal: Principal) -> None:
        """End the caller's login, for all copies of its token."""
        credential_ref = principal.credential_ref
        if (
            credential_ref is None
            or credential_ref.login_id is None
            or credential_ref.expires_at is None
        ):
            return
        row = {"login_id": credential_ref.login_id, "expires_at": credential_ref.expires_at}
        try:
            await self._db.write(lambda connection: connection.execute(insert(ended_logins), row))
        except IntegrityError:  # logged out twice at once
            return
        await self._users.tell(principal.user_id)

    async def _count(self, attempt: _Attempt) -> Sequence[str]:
        """Count an attempt, and return what it was counted for.

        Raises:
            TooManyLogins: it has to wait, and is not counted.
        """
        moment = self._clock()
        counted = await self._counted(attempt, moment)
        if isinstance(counted, timedelta):
            seconds = max(1, math.ceil(counted.total_seconds()))
            raise TooManyLogins(
                f"Too many wrong logins. Try again in {_duration_text(seconds)}.",
                details={"retry_after_seconds": seconds},
                retry_after_seconds=seconds,
            )
        if moment - self._tidied_at > self._limits.window:
            self._tidied_at = moment
            await self._db.write(lambda connection: self._tidy(connection, moment))
        return counted

    async def _counted(self, attempt: _Attempt, moment: datetime) -> Sequence[str] | timedelta:
        for _ in range(_ATTEMPTS):
            try:
                return await self._db.write(
                    lambda connection: _count(connection, attempt, self._limits, moment)
                )
            except IntegrityError:  # another's first attempt came between; now there is a row
                continue
        raise StorageUnavailable("Too many log in at this moment. Try again in a few seconds.")

    async def _take_back(self, counted: Sequence[str], *, anew: str | None = None) -> None:
        """The attempt was no wrong guess. After a right one the name starts anew at its address.

        The address does not: it may belong to a guesser too. Nor does the name elsewhere.
        """

        def unit(connection: Connection) -> None:
            for subject in counted:
                connection.execute(_FORGET if subject == anew else _TAKE_BACK, {"of": subject})

        await self._db.write(unit)

    def _remember(self, connection: Connection, user: User, attempt: _Attempt) -> None:
        """Store that the user has logged in from this address."""
        values = {"of": user.user_id, "at": attempt.address, "moment": self._clock()}
        if not connection.execute(_SEEN_AGAIN, values).rowcount:
            row = {"user_id": user.user_id, "address": attempt.address, "last_at": values["moment"]}
            connection.execute(insert(login_addresses), row)

    def _tidy(self, connection: Connection, moment: datetime) -> None:
        connection.execute(_FORGET_OLD, {"before": moment - self._limits.window})
        connection.execute(_FORGET_ENDED, {"before": moment})
        connection.execute(_FORGET_ADDRESSES, {"before": moment - _ADDRESS_LIFETIME})


def _count(
    connection: Connection, attempt: _Attempt, limits: LoginLimits, moment: datetime
) -> Sequence[str] | timedelta:
    """Count an attempt and return for what, or how long it has to wait instead."""
    is_known = attempt.is_from_known_address(connection)
    elsewhere = () if is_known else (attempt.name,)
    subjects = sorted((attempt.name_at_place, attempt.place, *elsewhere))
    kept = {row.subject: row for row in connection.execute(_LOCK, {"subjects": subjects})}
    rows = {subject: row for subject, row in kept.items() if row.first_at + limits.window > moment}
    wait = max((_wait(attempt, row, limits, moment) for row in rows.values()), default=timedelta())
    if wait > timedelta():
        return wait
    for subject in subjects:
        _count_one(connection, subject, rows.get(subject), moment, is_kept=subject in kept)
    return subjects


def _wait(attempt: _Attempt, row: Row[Any], limits: LoginLimits, moment: datetime) -> timedelta:
    """How long what was counted so far keeps an attempt waiting."""
    most = limits.per_address if row.subject == attempt.place else limits.per_name
    if row.failures < most:
        return timedelta()
    if row.subject != attempt.name:
        return row.first_at + limits.window - moment
    doublings = min(row.failures - most, 10)  # more than enough for the longest pause
    return row.last_at + min(_FIRST_PAUSE * 2**doublings, _LONGEST_PAUSE) - moment


def _count_one(
    connection: Connection, subject: str, row: Row[Any] | None, moment: datetime, *, is_kept: bool
) -> None:
    """Count one more.

    Where no row was locked one is inserted, never changed: it would be another's, come meanwhile.
    """
    values: dict[str, Any] = {
        "of": subject,
        "to": 1 if row is None else row.failures + 1,
        "since": moment if row is None else row.first_at,
        "at": moment,
    }
    if is_kept:
        connection.execute(_COUNT, values)
    else:
        fresh = {"subject": subject, "failures": 1, "first_at": moment, "last_at": moment}
        connection.execute(insert(login_failures), fresh)


def _network(address: str | None) -> str:
    """The address as one place: an IPv6 network is one, an IPv4 address in IPv6 form is itself."""
    try:
        parsed = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is None:
            home = ipaddress.ip_network((int(parsed), _IPV6_PREFIX), strict=False)
            return str(home.network_address)
        parsed = parsed.ipv4_mapped
    return str(parsed)


def _duration_text(seconds: int) -> str:
    return f"{seconds} seconds" if seconds < 120 else f"{math.ceil(seconds / 60)} minutes"
