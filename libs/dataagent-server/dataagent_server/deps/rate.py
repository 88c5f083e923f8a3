"""Limits how many messages a user may send in a minute.

With Redis all processes count together; while it is unavailable each process counts for itself.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from math import ceil

from dataagent_core.errors import RateLimited, Unavailable
from dataagent_core.processes.concurrency import KeyedRate
from dataagent_core.storage.redis import RedisSpace, open_redis
from dataagent_server.config import ServerSettings

logger = logging.getLogger(__name__)
_CONNECTIONS = 8

# ARGV user, tokens a millisecond, most tokens, '1' to take one; returns the milliseconds to wait
_BUCKET = """
local key, rate, burst = ARGV[1]..'rate:'..ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local kept = redis.call('HMGET', key, 'tokens', 'at')
local passed = math.max(0, now - tonumber(kept[2] or now))
local tokens = math.min(burst, tonumber(kept[1] or burst) + passed * rate)
if tokens < 1 then return math.ceil((1 - tokens) / rate) end
if ARGV[5] == '1' then
  redis.call('HSET', key, 'tokens', tokens - 1, 'at', now)
  redis.call('PEXPIRE', key, math.ceil(burst / rate) + 1000)
end
return 0
"""


class MessageRate:
    """Limits the messages of a user per minute; a burst of a minute's number is allowed."""

    def __init__(self, per_minute: int, space: RedisSpace | None = None) -> None:
        """0 is no limit. With a space, all processes that share it count together."""
        self._per_minute = per_minute
        self._space = space
        self._script = None if space is None else space.script(_BUCKET)
        self._local = KeyedRate(per_minute)

    async def take(self, user_id: str) -> None:
        """Count one message of a user.

        Raises:
            RateLimited: the limit is reached; the message is not counted.
        """
        await self._check(user_id, is_taken=True)

    async def check(self, user_id: str) -> None:
        """As `take`, without counting."""
        await self._check(user_id, is_taken=False)

    async def _check(self, user_id: str, *, is_taken: bool) -> None:
        if not self._per_minute:
            return
        seconds = await self._wait_seconds(user_id, is_taken=is_taken)
        if seconds > 0:
            wait = max(1, ceil(seconds))
            raise RateLimited(
                f"At most {self._per_minute} messages a minute are accepted. "
                f"Try again in {wait} seconds.",
                details={"limit": self._per_minute, "per": "minute"},
                retry_after_seconds=wait,
            )

    async def _wait_seconds(self, user_id: str, *, is_taken: bool) -> float:
        if self._space is None or self._script is None:
            return self._local_wait(user_id, is_taken=is_taken)
        rate = self._per_minute / 60_000
        try:
            wait = await self._space.run(
                self._script, user_id, rate, self._per_minute, "1" if is_taken else "0"
            )
        except Unavailable:
            logger.warning("messages are counted in this process only: Redis does not answer")
            return self._local_wait(user_id, is_taken=is_taken)
        return int(wait) / 1000

    def _local_wait(self, user_id: str, *, is_taken: bool) -> float:
        return self._local.take(user_id) if is_taken else self._local.wait(user_id)


@asynccontextmanager
async def open_message_rate(settings: ServerSettings) -> AsyncGenerator[MessageRate]:
    """The rate of the settings, counted in Redis if it is set.

    Raises:
        Misconfigured: `DATAAGENT_REDIS_URL` is not a Redis URL.
    """
    if settings.redis_url is None or not settings.rate_limit_per_minute:
        yield MessageRate(settings.rate_limit_per_minute)
        return
    url = settings.redis_url.get_secret_value()
    space = open_redis(url, prefix=settings.redis_prefix, pool_size=_CONNECTIONS)
    try:
        yield MessageRate(settings.rate_limit_per_minute, space)
    finally:
        await space.close()
