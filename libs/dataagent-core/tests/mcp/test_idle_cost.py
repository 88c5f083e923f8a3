"""What connections cost that are held and not used."""

from __future__ import annotations

import gc

import psutil
import pytest

from dataagent_core.network import HostPolicy

from .raw import RawServer
from .running import Kept, raw_spec

pytestmark = pytest.mark.slow

MOST_BYTES = 120 * 1024


async def test_an_idle_connection_takes_at_most_120_kilobytes(hosts: HostPolicy) -> None:
    """Its server's end of the line is in this process as well, and counted."""
    us = psutil.Process()
    kept: list[Kept] = []
    async with RawServer() as server:

        async def hold(count: int) -> int:
            for _ in range(count):
                one = Kept(raw_spec(server), hosts)
                await one.ready()
                kept.append(one)
            server.asked.clear()
            gc.collect()
            return us.memory_info().rss

        before = await hold(20)  # what is loaded or kept once is there now
        after = await hold(200)
        for each in kept:
            await each.connection.aclose()
    assert after - before <= 200 * MOST_BYTES
