"""The queue of runs on a real Redis: who gets a run, who is there, what an outage costs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import make_url

from dataagent_core.runs.cluster.queue import RunQueue
from dataagent_core.storage.redis import RedisSpace, open_redis
from tests.end_to_end.fault_proxy import FaultProxy
from tests.requirements import requirement
from tests.services import fresh_redis_prefix, redis_url
from tests.waiting import WAIT_SECONDS


class Taker:
    """Takes runs while it has room."""

    def __init__(self, wait_for_capacity: int = 10**9) -> None:
        self.taken: list[str] = []
        self._room = wait_for_capacity
        self._changed = asyncio.Event()

    async def wait_for_capacity(self) -> None:
        while len(self.taken) >= self._room:
            await asyncio.sleep(3600)

    async def claim(self, run_id: str) -> bool:
        self.taken.append(run_id)
        self._changed.set()
        return True

    async def has(self, count: int) -> None:
        async with asyncio.timeout(WAIT_SECONDS):
            while len(self.taken) < count:
                self._changed.clear()
                await self._changed.wait()


@pytest.fixture
async def space() -> AsyncIterator[RedisSpace]:
    with fresh_redis_prefix() as prefix:
        opened = open_redis(redis_url(), prefix=prefix)
        yield opened
        await opened.close()


@asynccontextmanager
async def queue(space: RedisSpace, name: str, url: str | None = None) -> AsyncGenerator[RunQueue]:
    opened = RunQueue(url or redis_url(), space, name=name)
    try:
        yield opened
    finally:
        await opened.aclose()


@requirement("G10")
async def test_each_run_goes_to_one_worker_also_if_it_was_put_before_there_was_one(
    space: RedisSpace,
) -> None:
    one, two = Taker(), Taker()
    async with (
        queue(space, "web") as web,
        queue(space, "w1") as first,
        queue(space, "w2") as second,
    ):
        web.put("early")
        first.start(one, lease_seconds=5)
        await one.has(1)
        second.start(two, lease_seconds=5)
        names = [f"run{number}" for number in range(40)]
        for name in names:
            web.put(name)
        async with asyncio.timeout(WAIT_SECONDS):
            while len(one.taken) + len(two.taken) < 41:
                await asyncio.sleep(0.01)
    assert sorted(one.taken + two.taken) == sorted(["early", *names])


async def test_a_full_worker_reads_nothing(space: RedisSpace) -> None:
    full, free = Taker(wait_for_capacity=1), Taker()
    async with (
        queue(space, "web") as web,
        queue(space, "w1") as first,
        queue(space, "w2") as second,
    ):
        first.start(full, lease_seconds=5)
        web.put("a")
        await full.has(1)
        second.start(free, lease_seconds=5)
        for name in "bcd":
            web.put(name)
        await free.has(3)
    assert full.taken == ["a"]


@requirement("G14")
async def test_workers_are_known_while_they_live(space: RedisSpace) -> None:
    async with queue(space, "web") as web:
        assert not await web.has_workers()
        async with queue(space, "w1") as worker:
            worker.start(Taker(), lease_seconds=5)
            async with asyncio.timeout(WAIT_SECONDS):
                while not await web.has_workers():
                    await asyncio.sleep(0.01)
        assert not await web.has_workers()


@requirement("G17")
async def test_taking_goes_on_after_redis_was_away_or_lost_its_data(space: RedisSpace) -> None:
    url = make_url(redis_url())
    proxy = FaultProxy(url.port or 6379)
    await proxy.mend()
    taker = Taker()
    through = url.set(port=proxy.port).render_as_string(hide_password=False)
    async with queue(space, "web") as web, queue(space, "w1", through) as worker:
        worker.start(taker, lease_seconds=5)
        web.put("a")
        await taker.has(1)
        await proxy.cut()
        web.put("b")
        await proxy.mend()
        await taker.has(2)
        await space.command("DEL", space.key("queue"))
        async with asyncio.timeout(WAIT_SECONDS):
            while not await space.command("EXISTS", space.key("queue")):
                await asyncio.sleep(0.05)
        web.put("c")
        await taker.has(3)
    await proxy.cut()
    assert taker.taken == ["a", "b", "c"]
