"""Whether those who were let in would still be: for readers that stay longer than a request.

A request is judged when it comes in. A socket or an event stream stays for hours, while its user is
disabled, deleted or demoted, has another password, logs out, or loses the key. Asked for many at
once, because a server asks for all its readers every few seconds. Above: the server's `auth/`.
Below: `storage/`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Column, Connection, Row, select

from dataagent_core.identity.passwords import stamp
from dataagent_core.identity.principal import CredentialRef, Principal
from dataagent_core.storage import Database
from dataagent_core.storage.people import ended_logins
from dataagent_core.storage.tables import api_keys, users

_AT_ONCE = 500


async def find_revoked(database: Database, principals: Sequence[Principal]) -> list[Principal]:
    """Those of the callers who would not be let in any more as who they were.

    Callers without `credential_ref` stay, and cost nothing.

    Raises:
        StorageUnavailable: the database does not answer, so nobody can tell.
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
