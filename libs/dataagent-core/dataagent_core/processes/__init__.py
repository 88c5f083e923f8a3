"""Limits on work: child processes that can be killed, and queues and rates per key.

`ProcessPool` runs calls that may take too long or too much memory; `worker.py` is the child's
program.
"""

from dataagent_core.processes.pool import CallTimedOut, ProcessPool, WorkerEnded, shared_pool

__all__ = ["CallTimedOut", "ProcessPool", "WorkerEnded", "shared_pool"]
