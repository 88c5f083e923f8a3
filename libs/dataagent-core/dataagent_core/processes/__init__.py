"""Calls that may take too long or too much memory, in child processes that can be killed.

`ProcessPool` is the parent's side, `worker.py` the child's program.
"""

from dataagent_core.processes.pool import CallTimedOut, ProcessPool, WorkerEnded, shared_pool

__all__ = ["CallTimedOut", "ProcessPool", "WorkerEnded", "shared_pool"]
