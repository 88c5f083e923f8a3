"""Connections are bounded, reused when clean, and replaced when not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from dataagent_core.data.engines.pool import Pool
from dataagent_core.errors import SourceUnavailable
from tests.waiting import WAIT_SECONDS


class Opener:
    """Counts what is open."""

    def __init__(self) -> None:
        self.numbers: Iterator[int] = count(1)
        self.closed: list[int] = []
        self.dead: set[int] = set()
        self.fails = False

    def pool(self, size: int) -> Pool[int]:
        return Pool(
            self.opened, size=size, close=self.closed.append, is_alive=lambda n: n not in self.dead
        )

    def opened(self) -> int:
        if self.fails:
            raise SourceUnavailable("away")
        return next(self.numbers)


def in_use(pool: Pool[int], timeout_seconds: float = 5.0) -> int:
    number = pool.acquire(timeout_seconds=timeout_seconds, is_cancelled=lambda: False)
    assert number is not None
    return number


def test_a_clean_connection_is_used_again_and_another_is_closed() -> None:
    opener = Opener()
    pool = opener.pool(2)
    first = in_use(pool)
    pool.release(first, is_clean=True)
    assert in_use(pool) == first
    pool.release(first, is_clean=False)
    assert opener.closed == [first]
    assert in_use(pool) == 2


def test_a_dead_connection_is_not_handed_out() -> None:
    opener = Opener()
    pool = opener.pool(1)
    pool.release(in_use(pool), is_clean=True)
    opener.dead.add(1)
    assert in_use(pool) == 2
    assert opener.closed == [1]


def test_who_finds_none_waits_until_one_is_given_back() -> None:
    pool = Opener().pool(1)
    held = in_use(pool)
    begun = threading.Event()

    def wait() -> int:
        begun.set()
        return in_use(pool)

    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(wait)
        assert begun.wait(WAIT_SECONDS)
        assert not waiting.done()
        assert pool.in_use == 1
        pool.release(held, is_clean=True)
        assert waiting.result(5) == held


def test_who_waits_too_long_is_told() -> None:
    pool = Opener().pool(1)
    in_use(pool)
    with pytest.raises(SourceUnavailable, match="All 1 connections of this source are busy"):
        in_use(pool, timeout_seconds=0.01)


def test_a_failure_to_open_takes_no_room() -> None:
    opener = Opener()
    pool = opener.pool(1)
    opener.fails = True
    for _ in range(3):
        with pytest.raises(SourceUnavailable, match="away"):
            in_use(pool)
    opener.fails = False
    assert in_use(pool) == 1


def test_closing_closes_the_idle_at_once_and_the_others_when_they_come_back() -> None:
    opener = Opener()
    pool = opener.pool(2)
    first, second = in_use(pool), in_use(pool)
    pool.release(first, is_clean=True)
    pool.close()
    assert opener.closed == [first]
    pool.release(second, is_clean=True)
    assert opener.closed == [first, second]
    with pytest.raises(SourceUnavailable, match="closed"):
        in_use(pool)
