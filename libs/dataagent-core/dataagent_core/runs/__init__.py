"""One user message is one run: types, stores, ledger and service."""

from dataagent_core.runs.ledger import Ledger
from dataagent_core.runs.service import RunService, RunView
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import Approval, Entry, Run, RunOptions, RunStatus, StartedRun
from dataagent_core.runs.worker import Worker

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
