"""Messages between processes: who hears them, and that a loss is noticed on either side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import make_url

from dataagent_core.errors import Misconfigured, StorageUnavailable
from dataagent_core.runs.cluster.bus import Bus, LocalBus
from dataagent_core.runs.cluster.redis_bus import RedisBus
from tests.end_to_end.fault_proxy import FaultProxy
from tests.requirements import requirement
from tests.services import fresh_redis_prefix, redis_url

MOST_SECONDS = 10.0


class Ear:
    """A handler that remembers, and can be waited for."""

    def __init__(self) -> None:
        self.heard: list[bytes | None] = []
        self._changed = asyncio.Event()

    def __call__(self, payload: bytes | None) -> None:
        self.heard.append(payload)
        self._changed.set()

    async def until(self, is_enough: Callable[[list[bytes | None]], bool]) -> None:
        async with asyncio.timeout(MOST_SECONDS):
            while not is_enough(self.heard):
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def redis_bus(prefix: str, port: int | None = None) -> AsyncGenerator[RedisBus]:
    url = make_url(redis_url())
    bus = RedisBus(url.set(port=port or url.port).render_as_string(False), prefix=prefix)
    await bus.start()
    try:
        yield bus
    finally:
        await bus.aclose()


@asynccontextmanager
async def proxied() -> AsyncGenerator[FaultProxy]:
    proxy = FaultProxy(make_url(redis_url()).port or 6379)
    await proxy.mend()
    try:
        yield proxy
    finally:
        await proxy.cut()


def test_inside_one_process_a_message_is_there_at_once() -> None:
    bus: Bus = LocalBus()
    ear, other = Ear(), Ear()
    subscription = bus.subscribe("a", ear)
    bus.subscribe("b", other)
    bus.publish("a", b"1")
    subscription.end()
    subscription.end()
    bus.publish("a", b"2")
    assert (ear.heard, other.heard, bus.is_shared) == ([b"1"], [], False)


@requirement("G10")
async def test_messages_reach_other_processes_in_order_and_by_topic() -> None:
    with fresh_redis_prefix() as prefix:
        async with redis_bus(prefix) as here, redis_bus(prefix) as there:
            ear, other = Ear(), Ear()
            for topic, handler in (("a", ear), ("b", other)):
                assert await there.subscribe(topic, handler).wait_confirmed(MOST_SECONDS)
            sent = [b"%d\n\x00" % number for number in range(2000)]
            for payload in sent:
                here.publish("a", payload)
            here.publish("b", b"last")
            await ear.until(lambda heard: len(heard) >= len(sent))
            await other.until(bool)
            assert (ear.heard, other.heard) == (sent, [b"last"])


async def test_a_topic_left_and_entered_again_is_heard() -> None:
    with fresh_redis_prefix() as prefix:
        async with redis_bus(prefix) as bus:
            old, new = Ear(), Ear()
            for _ in range(20):
                bus.subscribe("a", old).end()
            assert await bus.subscribe("a", new).wait_confirmed(MOST_SECONDS)
            bus.publish("a", b"1")
            await new.until(bool)
            assert (old.heard, new.heard) == ([], [b"1"])


@requirement("G17")
@pytest.mark.parametrize("broken", ["listener", "publisher"])
async def test_whoever_listens_is_told_that_messages_may_be_lost(broken: str) -> None:
    with fresh_redis_prefix() as prefix:
        async with proxied() as proxy:
            ports = {broken: proxy.port}
            async with (
                redis_bus(prefix, ports.get("listener")) as there,
                redis_bus(prefix, ports.get("publisher")) as here,
            ):
                ear = Ear()
                assert await there.subscribe("a", ear).wait_confirmed(MOST_SECONDS)
                here.publish("a", b"before")
                await ear.until(bool)
                await proxy.cut()
                here.publish("a", b"lost")
                await proxy.mend()
                await ear.until(lambda heard: None in heard)
                here.publish("a", b"after")
                await ear.until(lambda heard: heard[-1] == b"after")
    assert ear.heard[0] == b"before"


@requirement("G14")
async def test_a_bus_without_redis_says_so_and_starts_all_the_same() -> None:
    async with proxied() as proxy:
        await proxy.cut()
        async with redis_bus("nobody:", proxy.port) as bus:
            assert not await bus.subscribe("a", Ear()).wait_confirmed(0.05)
            with pytest.raises(StorageUnavailable):
                await bus.ping()
            bus.publish("a", b"never sent")


def test_an_address_that_is_none_of_redis_is_refused() -> None:
    with pytest.raises(Misconfigured, match="DATAAGENT_REDIS_URL"):
        RedisBus("http://example", prefix="x:")
