"""An audit log over each kind of SQL database, empty."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
from sqlalchemy import Connection, delete

from dataagent_core.audit import AuditLog
from dataagent_core.storage import Database, open_database
from dataagent_core.storage.tables import audit_head, audit_log


@pytest.fixture
async def database(sql_place: str) -> AsyncGenerator[Database]:
    opened = open_database(sql_place)
    await opened.write(emptied)
    yield opened
    await opened.close()


def emptied(connection: Connection) -> None:
    connection.execute(delete(audit_log))
    connection.execute(delete(audit_head))


@pytest.fixture
async def log(database: Database) -> AsyncGenerator[AuditLog]:
    opened = AuditLog(database, flush_seconds=0.01)
    opened.start()
    yield opened
    await opened.aclose()
