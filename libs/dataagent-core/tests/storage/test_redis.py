"""The door to Redis after Redis was away."""

from __future__ import annotations

import asyncio
import socket
import struct

import pytest
from redis.asyncio.connection import parse_url

from dataagent_core.storage.redis import open_redis
from tests.end_to_end.fault_proxy import FaultProxy
from tests.requirements import requirement
from tests.services import redis_url
from tests.waiting import WAIT_SECONDS

_RESET = struct.pack("ii", 1, 0)  # close without a farewell


@requirement("G17")
@pytest.mark.parametrize("end", ["closed", "reset"])
async def test_connections_closed_while_idle_cause_no_error(end: str) -> None:
    proxy = FaultProxy(parse_url(redis_url()).get("port") or 6379)
    await proxy.mend()
    space = open_redis(f"redis://127.0.0.1:{proxy.port}/0")
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            await asyncio.gather(*(space.ping() for _ in range(3)))
            if end == "reset":
                for writer in proxy.writers:
                    writer.get_extra_info("socket").setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, _RESET
                    )
            await proxy.cut()
            await proxy.mend()
            for _ in range(4):
                await space.ping()
    finally:
        await space.close()
        await proxy.cut()
