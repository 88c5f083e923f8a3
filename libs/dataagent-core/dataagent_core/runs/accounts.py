"""Finds the runs whose user's account was disabled or deleted.

`RunService.cancel_all` stops a user's runs when the account changes. It misses a run that is just
being opened and a change made by a command, so a worker also checks whenever it renews its leases.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, select

from dataagent_core.runs.types import HAS_ACCOUNT, Run
from dataagent_core.storage import Database
from dataagent_core.storage.tables import users

_STATUSES = select(users.c.id, users.c.status).where(
    users.c.id.in_(bindparam("user_ids", expanding=True))
)


class Accounts:
    """Reads the account status of the users of runs."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def runs_to_cancel(self, runs: Sequence[Run]) -> list[str]:
        """The ids of those runs whose user's account is disabled or deleted.

        A user without an account comes from a deployment key; their runs continue.
        """
        asked = {"user_ids": sorted({run.user_id for run in runs})}
        rows = await self._db.read(lambda c: c.execute(_STATUSES, asked).all())
        statuses: dict[str, str] = {row.id: row.status for row in rows}
        return [run.run_id for run in runs if not _may_continue(run, statuses.get(run.user_id))]


def _may_continue(run: Run, status: str | None) -> bool:
    return status == "active" if HAS_ACCOUNT in run.input else status in (None, "active")
