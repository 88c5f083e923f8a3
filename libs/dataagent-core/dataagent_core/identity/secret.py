"""Secrets the product makes for itself, once, and shares between its processes.

The key that signs login tokens is one: made at first need, kept in the database, the same after a
restart and in every worker process. Below: `storage/`.
"""

from __future__ import annotations

import secrets as randomness
from contextlib import suppress
from datetime import UTC, datetime

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from dataagent_core.storage import Database
from dataagent_core.storage.tables import secrets


async def shared_secret(database: Database, name: str) -> str:
    """The secret of that name; 256 random bits if this is the first time it is asked for."""
    known = await database.read(lambda connection: _find(connection, name))
    if known is not None:
        return known
    row = {"name": name, "value": randomness.token_urlsafe(32), "created_at": datetime.now(UTC)}
    with suppress(IntegrityError):  # another process was first; theirs is the one
        await database.write(lambda connection: connection.execute(insert(secrets), row).rowcount)
    return await shared_secret(database, name)


def _find(connection: Connection, name: str) -> str | None:
    return connection.execute(select(secrets.c.value).where(secrets.c.name == name)).scalar()
