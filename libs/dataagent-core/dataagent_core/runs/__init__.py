"""One user message is one run: types, stores, ledger and service."""

from dataagent_core.runs.execution import Worker
from dataagent_core.runs.ledger import Ledger
from dataagent_core.runs.service import RunService, RunView
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import Approval, Entry, Run, RunOptions, RunStatus, StartedRun

__all__ = [
    "Approval",
    "Entry",
    "Ledger",
    "Run",
    "RunOptions",
    "RunService",
    "RunStatus",
    "RunStore",
    "RunView",
    "StartedRun",
    "Worker",
]
