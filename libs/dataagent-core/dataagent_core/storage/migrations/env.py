"""Alembic's environment: runs the migrations over a connection.

`storage/migrate.py` passes the connection at start-up. The `alembic` command (`infra/alembic.ini`)
passes none; the database is then the one in the settings.
"""

from __future__ import annotations

import asyncio

from alembic import context
from sqlalchemy import Connection

from dataagent_core.config.settings import Settings
from dataagent_core.errors import Misconfigured
from dataagent_core.storage import open_database
from dataagent_core.storage.tables import metadata


def _run(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=metadata)
    with context.begin_transaction():
        context.run_migrations()


async def _run_with_settings() -> None:
    database = open_database(Settings().sql_url())
    try:
        await database.write(_run)
    finally:
        await database.close()


def _start() -> None:
    if context.is_offline_mode():
        raise Misconfigured("Migrations need a database to look at; --sql is not supported.")
    connection: Connection | None = context.config.attributes.get("connection")
    if connection is None:
        asyncio.run(_run_with_settings())
    else:
        _run(connection)


_start()
