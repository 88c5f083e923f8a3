"""Logging in with a name and a password, and out again; guessing is slow wherever it is tried.

Every attempt is counted for its name and for its address before the password is looked at, so that
many at once are no way round the limit; a right one takes its count back, and so does one that
nobody had time to look at. The counts are in the database, which all processes share. An unknown
name is counted, answered and timed like a known one. Above: the server's login routes. Below:
`users.py`, `storage/`.
"""

from __future__ import annotations

import hashlib
import ipaddress
import math
from collections.abc import Mapping
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
from dataagent_core.identity.passwords import checked_password
from dataagent_core.identity.principal import Principal
from dataagent_core.identity.users import User, UserStore
from dataagent_core.storage import Database
from dataagent_core.storage.people import ended_logins, login_failures

_ATTEMPTS = 5
_PLAIN_NAME = 64
_IPV6_HOME = 64  # bits: what one subscriber is given, so all of it is one address

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


@dataclass(frozen=True, slots=True)
class LoginLimits:
    """How many wrong passwords in how long."""

    per_name: int = 10
    per_address: int = 30
    window: timedelta = timedelta(minutes=15)


class Logins:
    """The one way from a name and a password to a user."""

    def __init__(
        self, database: Database, users: UserStore, *, limits: LoginLimits | None = None
    ) -> None:
        self._db = database
        self._users = users
        self._limits = limits or LoginLimits()
        self._tidied_at = datetime.now(UTC)

    async def log_in(self, username: str, password: str, *, address: str | None) -> User:
        """The active account that name and password belong to.

        Raises:
            WrongLogin: there is none; nothing says which of the two is wrong.
            TooManyLogins: too many wrong ones before; this one was not looked at.
            Unavailable: too many log in at this moment.
        """
        name, place = _name_subject(username), _address_subject(address)
        await self._count(name, place)
        try:
            user = await self._users.verify_password(username, password)
        except Unavailable:  # nobody looked at it, so nobody has guessed
            await self._take_back(name, place, is_right=False)
            raise
        if user is None:
            raise WrongLogin("The name or the password is not right.")
        await self._take_back(name, place, is_right=True)
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
        checked_password(new)
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
        values = {"of": _name_subject(user.username)}
        await self._db.write(lambda connection: connection.execute(_FORGET, values).rowcount)
        return user

    async def log_out(self, principal: Principal) -> None:
        """End the login the caller came with, for whoever has a copy of it too."""
        grounds = principal.grounds
        if grounds is None or grounds.login_id is None or grounds.expires_at is None:
            return
        row = {"login_id": grounds.login_id, "expires_at": grounds.expires_at}
        try:
            await self._db.write(lambda connection: connection.execute(insert(ended_logins), row))
        except IntegrityError:  # logged out twice at once
            return
        await self._users.tell(principal.user_id)

    async def _count(self, name: str, place: str) -> None:
        moment = datetime.now(UTC)
        limits = {name: self._limits.per_name, place: self._limits.per_address}
        wait = await self._counted(limits, moment)
        if wait > timedelta():
            seconds = max(1, math.ceil(wait.total_seconds()))
            raise TooManyLogins(
                f"Too many wrong logins. Try again in {_in_words(seconds)}.",
                details={"retry_after_seconds": seconds},
                retry_after_seconds=seconds,
            )
        if moment - self._tidied_at > self._limits.window:
            self._tidied_at = moment
            await self._db.write(lambda connection: self._tidy(connection, moment))

    async def _counted(self, limits: Mapping[str, int], moment: datetime) -> timedelta:
        """How long to wait; if not at all, the attempt is counted."""
        window = self._limits.window
        for _ in range(_ATTEMPTS):
            try:
                return await self._db.write(
                    lambda connection: _count(connection, limits, moment, window)
                )
            except IntegrityError:  # another's first attempt came between; now there is a row
                continue
        raise StorageUnavailable("Too many log in at this moment. Try again in a few seconds.")

    async def _take_back(self, name: str, place: str, *, is_right: bool) -> None:
        """The attempt was no wrong guess. After a right one the name starts anew.

        The address does not: it may belong to a guesser too.
        """

        def unit(connection: Connection) -> None:
            connection.execute(_TAKE_BACK, {"of": place})
            connection.execute(_FORGET if is_right else _TAKE_BACK, {"of": name})

        await self._db.write(unit)

    def _tidy(self, connection: Connection, moment: datetime) -> None:
        connection.execute(_FORGET_OLD, {"before": moment - self._limits.window})
        connection.execute(_FORGET_ENDED, {"before": moment})


def _count(
    connection: Connection, limits: Mapping[str, int], moment: datetime, window: timedelta
) -> timedelta:
    kept = {row.subject: row for row in connection.execute(_LOCK, {"subjects": sorted(limits)})}
    rows = {subject: row for subject, row in kept.items() if row.first_at + window > moment}
    waits = [
        row.first_at + window - moment
        for subject, row in rows.items()
        if row.failures >= limits[subject]
    ]
    if waits:
        return max(waits)
    for subject in sorted(limits):
        _count_one(connection, subject, rows.get(subject), moment, is_kept=subject in kept)
    return timedelta()


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


def _name_subject(username: str) -> str:
    if len(username) <= _PLAIN_NAME and username.isascii() and username.isprintable():
        return f"name:{username}"
    return f"name#{hashlib.sha256(username.encode('utf-8', 'replace')).hexdigest()}"


def _address_subject(address: str | None) -> str:
    """The address as one place: an IPv6 network is one, an IPv4 address in IPv6 form is itself."""
    try:
        parsed = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return "address:unknown"
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is None:
            home = ipaddress.ip_network((int(parsed), _IPV6_HOME), strict=False)
            return f"address:{home.network_address}"
        parsed = parsed.ipv4_mapped
    return f"address:{parsed}"


def _in_words(seconds: int) -> str:
    return f"{seconds} seconds" if seconds < 120 else f"{math.ceil(seconds / 60)} minutes"
