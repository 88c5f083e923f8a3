"""Opening a run where other processes open runs too: how many there are is asked of the database.

It is asked in the transaction that puts the run in, after it is in, so that it costs no further
wait and a message sent twice is still found. Two that come at the same moment may both pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, case, func, select

from dataagent_core.runs.stores.statements import INSERT_RUN
from dataagent_core.runs.types import NewRun
from dataagent_core.storage.tables import runs

_COUNT = select(
    func.sum(case((runs.c.user_id == bindparam("owner"), 1), else_=0)),
    func.sum(case((runs.c.status == "queued", 1), else_=0)),
).where(runs.c.active_session.is_not(None))


def insert_run(connection: Connection, new: NewRun, row: Mapping[str, Any]) -> None:
    """Put a run in if there is room for it.

    Raises:
        TooManyRuns, QueueFull: there is none; the transaction is not to be committed.
    """
    INSERT_RUN.execute(connection, row)
    if new.limits is None:
        return
    of_user, queued = connection.execute(_COUNT, {"owner": new.user_id}).one()
    new.limits.check_user(int(of_user) - 1)
    if row["status"] == "queued":
        new.limits.check_queue(int(queued) - 1)
