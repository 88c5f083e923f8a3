"""Redis: a prefix for keys, Lua scripts, and the encoding of values.

A script gets the prefix as `ARGV[1]` and builds its key names from it, so it runs on one Redis
server (with replicas, not a cluster). Errors of the server become `StorageUnavailable` here.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, cast

import orjson

from dataagent_core.errors import Misconfigured, StorageUnavailable

try:
    from redis.asyncio import BlockingConnectionPool, Redis
    from redis.asyncio.connection import AbstractConnection
    from redis.commands.core import AsyncScript
    from redis.exceptions import ConnectionError as RedisConnectionError
    from redis.exceptions import OutOfMemoryError, ReadOnlyError
    from redis.exceptions import TimeoutError as RedisTimeoutError
    from redis.maint_notifications import MaintNotificationsConfig
except ModuleNotFoundError as error:
    raise Misconfigured(
        "The driver for Redis is not installed: redis. Run: pip install 'dataagent-core[redis]'"
    ) from error

Value: TypeAlias = str | bytes | float
Reply: TypeAlias = Any  # what Redis answers depends on the command

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_OUTAGES = (RedisConnectionError, RedisTimeoutError, ReadOnlyError, OutOfMemoryError)


class RedisSpace:
    """The keys under one prefix. Close it."""

    def __init__(self, client: Redis, *, prefix: str = "dataagent:") -> None:
        self._client = client
        self._prefix = prefix

    def key(self, kind: str, name: str = "") -> str:
        """Return the full name of a key."""
        return f"{self._prefix}{kind}{name}"

    def script(self, text: str) -> AsyncScript:
        """Register a Lua script; `run` sends it once and its hash from then on."""
        return self._client.register_script(text)

    async def run(
        self, script: AsyncScript, *args: str | bytes | float
    ) -> Any:  # Any: Redis replies
        """Run a script atomically with the prefix and these arguments.

        Raises:
            StorageUnavailable: Redis does not answer, or takes no writes.
        """
        with _translated():
            return await script(args=[self._prefix, *args])

    async def command(self, *args: Value) -> Reply:
        """Send one command.

        Raises:
            StorageUnavailable: Redis does not answer, or takes no writes.
        """
        with _translated():
            return await cast(Any, self._client).execute_command(*args)  # its options are untyped

    async def ping(self) -> None:
        """Raise `StorageUnavailable` unless Redis responds."""
        await self.command("PING")

    async def close(self) -> None:
        """Release all connections."""
        await self._client.aclose()


def open_redis(url: str, *, prefix: str = "dataagent:", pool_size: int = 50) -> RedisSpace:
    """Open the Redis at a URL. Connections are made on first use.

    Raises:
        Misconfigured: the URL is none of Redis.
    """
    try:
        # the client leaves its options untyped
        pool = BlockingConnectionPool.from_url(  # pyright: ignore[reportUnknownMemberType]
            url,
            max_connections=pool_size,
            timeout=20,
            maint_notifications_config=MaintNotificationsConfig(enabled=False),
        )
    except ValueError as error:
        raise Misconfigured(
            "DATAAGENT_REDIS_URL is not a Redis URL. Use redis://host:6379/0."
        ) from error
    pool.connection_class = type("Connection", (_CheckedConnection, pool.connection_class), {})
    return RedisSpace(Redis.from_pool(pool), prefix=prefix)


class _CheckedConnection(AbstractConnection):
    """A connection that reports to its pool if it was closed while idle.

    The pool asks before it hands a connection out, and then connects anew; but the client's own
    sees no reset, and with notices of maintenance it is not asked at all. After an outage of Redis
    every connection would cost a caller an error.
    """

    async def can_read(self) -> bool:
        """As the client's; `ConnectionError` for a closed connection."""
        broken = None if self._reader is None else self._reader.exception()
        if broken is not None:
            raise RedisConnectionError("The connection was broken off.") from broken
        return await super().can_read()


@contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except _OUTAGES as error:
        raise StorageUnavailable("Redis does not answer.") from error


# -- values -------------------------------------------------------------------------------------


def milliseconds(moment: datetime) -> int:
    """Encode a time as Redis stores and sorts it."""
    return (moment - _EPOCH) // _MILLISECOND


def moment(value: bytes) -> datetime:
    """Decode the time that `milliseconds` encoded."""
    return _EPOCH + int(value) * _MILLISECOND


def fields_of(values: dict[str, Any]) -> list[Value]:
    """Return a hash's fields and values in a row; None is left out, dictionaries become JSON."""
    row: list[Value] = []
    for name, value in values.items():
        if value is not None:
            row += [name, _encode(value)]
    return row


def _encode(value: Any) -> Value:
    match value:
        case bool():
            return int(value)
        case datetime():
            return milliseconds(value)
        case dict():
            return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
        case _:
            return value


def pairs(flat: Iterable[bytes]) -> dict[str, bytes]:
    """Return a hash from names and values in a row, as a script returns it."""
    row = iter(flat)
    return {name.decode(): value for name, value in zip(row, row, strict=True)}
