"""How many messages a user may send, in one process and in several."""

from __future__ import annotations

import asyncio

import pytest

from dataagent_core.errors import RateLimited
from dataagent_core.storage.redis import open_redis
from dataagent_server.deps.rate import MessageRate
from tests.requirements import requirement
from tests.services import fresh_redis_prefix, redis_url


async def taken(rate: MessageRate, user_id: str, times: int) -> int:
    """How many of so many messages get through."""
    count = 0
    for _ in range(times):
        try:
            await rate.take(user_id)
        except RateLimited:
            continue
        count += 1
    return count


@requirement("G12")
async def test_a_minutes_worth_gets_through_and_each_user_has_their_own() -> None:
    rate = MessageRate(3)
    assert await taken(rate, "anna", 10) == 3
    assert await taken(rate, "bert", 2) == 2
    with pytest.raises(RateLimited) as refused:
        await rate.check("anna")
    assert refused.value.retry_after_seconds is not None
    assert 1 <= refused.value.retry_after_seconds <= 20
    await rate.check("bert")
    assert await taken(rate, "bert", 5) == 1


async def test_zero_is_no_limit() -> None:
    rate = MessageRate(0)
    assert await taken(rate, "anna", 1000) == 1000


@requirement("G12", "G10")
async def test_with_redis_all_processes_count_together() -> None:
    with fresh_redis_prefix() as prefix:
        spaces = [open_redis(redis_url(), prefix=prefix) for _ in range(2)]
        try:
            one, two = (MessageRate(6, space) for space in spaces)
            counts = await asyncio.gather(taken(one, "anna", 5), taken(two, "anna", 5))
            assert sum(counts) == 6
            for rate in (one, two):
                with pytest.raises(RateLimited) as refused:
                    await rate.check("anna")
                assert refused.value.retry_after_seconds is not None
                assert 1 <= refused.value.retry_after_seconds <= 10
            await one.check("bert")
            assert await taken(two, "bert", 7) == 6
            left = await spaces[0].command("PTTL", spaces[0].key("rate:", "anna"))
            assert 0 < left <= 61_000
        finally:
            for space in spaces:
                await space.close()


async def test_without_redis_each_process_counts_for_itself() -> None:
    space = open_redis("redis://127.0.0.1:1/0")
    try:
        assert await taken(MessageRate(3, space), "anna", 5) == 3
    finally:
        await space.close()
