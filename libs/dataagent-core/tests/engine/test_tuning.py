"""A tuned process and a tuned loop collect garbage, return memory and have threads enough."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from dataagent_core.engine import tune_loop, tune_process, tuning
from dataagent_core.engine.tuning import pause_after
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS


@contextmanager
def untouched_process() -> Generator[None]:
    """Restore what `tune_process` sets."""
    threshold = gc.get_threshold()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*threshold)


def test_tuned_process_collects_seldom_and_skips_what_was_loaded() -> None:
    with untouched_process():
        tune_process()
        assert gc.get_threshold() == (50_000, 20, 100)
        assert gc.get_freeze_count() > 0


async def test_tuned_loop_runs_many_blocking_calls_at_once() -> None:
    loop = asyncio.get_running_loop()
    tune_loop(loop)
    together = threading.Barrier(40, timeout=WAIT_SECONDS)
    await asyncio.gather(*(asyncio.to_thread(together.wait) for _ in range(40)))


_FILL_AND_FREE = """
import psutil
from dataagent_core.engine.tuning import trim_heap
used = psutil.Process().memory_info
blocks = [bytes(3000) for _ in range(50_000)]
kept = blocks[::100]  # what is left lies between what is free
del blocks
before = used().rss
trim_heap()
print(before - used().rss)
"""


@pytest.mark.slow
@requirement("G16")
def test_memory_that_is_free_goes_back_to_the_system() -> None:
    said = subprocess.run(
        [sys.executable, "-c", _FILL_AND_FREE], capture_output=True, text=True, check=True
    )
    assert int(said.stdout) > 100_000_000


async def test_a_tuned_loop_gives_memory_back_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given_back = threading.Semaphore(0)
    monkeypatch.setattr(tuning, "_TRIM_SECONDS", 0.001)
    monkeypatch.setattr(tuning, "trim_heap", given_back.release)
    monkeypatch.setattr(tuning, "collect_garbage", lambda: 0.0)  # of all tests before this one
    tune_loop(asyncio.get_running_loop())
    for _ in range(3):
        assert await asyncio.to_thread(given_back.acquire, timeout=WAIT_SECONDS)


class Ring:
    """Refers to itself: only the garbage collector finds out that nobody uses it."""

    def __init__(self) -> None:
        self.itself = self


@requirement("G16")
async def test_a_tuned_loop_finds_garbage_however_long_it_was_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tuning, "_TRIM_SECONDS", 0.001)
    ring, gone = Ring(), asyncio.Event()
    weakref.finalize(ring, gone.set)
    gc.collect()  # it was in use when the collector came by: now it is old
    del ring
    tune_loop(asyncio.get_running_loop())
    async with asyncio.timeout(WAIT_SECONDS):
        await gone.wait()


def test_looking_for_garbage_takes_a_thousandth_of_the_time_at_most() -> None:
    assert (pause_after(0.01), pause_after(0.06), pause_after(0.3)) == (60.0, 60.0, 300.0)
