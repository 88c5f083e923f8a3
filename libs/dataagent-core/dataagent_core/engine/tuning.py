"""Settings of a process and its event loop: garbage collection, threads, memory and tracing."""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import thread_time

from dataagent_core.middleware.upstream import skip_thread_scans

_DEFAULT_THREADS = 64
_TRIM_SECONDS = 60.0
_COLLECTING_SHARE = 0.001
"""Share of the time that collections may take: the loop stands still meanwhile."""
_SWITCH_SECONDS = 0.001
"""How soon a waiting thread gets its turn. A commit gives the interpreter up and takes it back
about ten times; at Python's 5 ms each, a busy loop would hold it up for a twentieth of a second."""


def tune_process() -> None:
    """Apply the switches that belong to the process. Call it after the imports, once.

    A program that switched the collector off while it loaded has nothing to collect yet.
    """
    import langsmith

    langsmith.configure(enabled=False)  # what follows a run says so (`telemetry/langsmith.py`)
    skip_thread_scans()
    if gc.isenabled():
        gc.collect()
    gc.freeze()
    atexit.register(gc.unfreeze)  # else native libraries report what is frozen as leaked
    gc.set_threshold(50_000, 20, 100)
    gc.enable()
    sys.setswitchinterval(_SWITCH_SECONDS)


def tune_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Give the loop a wide default executor: libraries share it, and six threads starve.

    About every minute from then on the process collects garbage and returns free memory.
    """
    loop.set_default_executor(ThreadPoolExecutor(_DEFAULT_THREADS, thread_name_prefix="default"))
    loop.call_later(_TRIM_SECONDS, _collect_and_trim, loop)


def _collect_and_trim(loop: asyncio.AbstractEventLoop) -> None:
    with suppress(RuntimeError):  # the loop is being closed
        took_seconds = collect_garbage()
        loop.run_in_executor(None, trim_heap)
        loop.call_later(pause_after(took_seconds), _collect_and_trim, loop)


def collect_garbage() -> float:
    """Collect garbage of all generations; returns the processor seconds that took.

    The collector runs so seldom (`tune_process`) that it looks at old objects only after hours:
    the reference cycles of a run would stay until then. Call it in the loop's own thread: what is
    collected may belong to the loop.
    """
    started = thread_time()
    gc.collect()
    return thread_time() - started


def pause_after(took_seconds: float) -> float:
    """How many seconds to wait after a collection that took so long."""
    return max(_TRIM_SECONDS, took_seconds / _COLLECTING_SHARE)


def trim_heap() -> None:
    """Return free memory to the system.

    The C library holds free memory between blocks in use: under load a process would grow for hours
    by some megabytes a minute. Others than glibc do not offer this.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
