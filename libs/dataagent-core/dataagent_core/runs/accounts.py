"""Runs whose user may not have them any more: the account was disabled or deleted.

A run is told to stop when its user's account changes (`RunService.cancel_all`). What that misses, a
run that was being opened or a change made by a command, is found here: a worker asks for the users
of all its runs together, whenever it renews their leases.
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
    """What the database says of the users of runs."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def runs_to_cancel(self, runs: Sequence[Run]) -> list[str]:
        """The ids of those runs whose user's account is disabled or deleted.

        A user without an account is one that a deployment key names; their runs go on.
        """
        asked = {"user_ids": sorted({run.user_id for run in runs})}
        rows = await self._db.read(lambda c: c.execute(_STATUSES, asked).all())
        statuses: dict[str, str] = {row.id: row.status for row in rows}
        return [run.run_id for run in runs if not _may_continue(run, statuses.get(run.user_id))]


def _may_continue(run: Run, status: str | None) -> bool:
    return status == "active" if HAS_ACCOUNT in run.input else status in (None, "active")
