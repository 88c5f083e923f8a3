"""1,500 connections one after another leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
import os
import sys

import psutil
import pytest

from dataagent_core.mcp.types import ServerSpec
from dataagent_core.network import HostPolicy
from tests.waiting import WAIT_SECONDS, until

from .raw import RawServer, sse_server
from .running import STUBBORN, Kept, raw_spec, stdio_spec

pytestmark = pytest.mark.slow

POLITE = STUBBORN.partition("child = os.fork()")[0].partition("signal.signal")[0]
SMALL = POLITE + "child = 0\n" + STUBBORN[STUBBORN.index("INFO =") :].replace("time.sleep(300)", "")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def cycle(spec: ServerSpec, hosts: HostPolicy) -> None:
    kept = Kept(spec, hosts)
    await kept.ready()
    if spec.command is None:
        await kept.connection.call("echo", {}, timeout_seconds=WAIT_SECONDS)
    await kept.connection.aclose()


async def test_1500_cycles_leave_no_descriptor_child_or_task_and_little_memory(
    hosts: HostPolicy,
) -> None:
    """F12: mostly over HTTP, also over events and as processes."""
    sse, _ = sse_server("/mcp")
    process = stdio_spec(command=sys.executable, args=("-I", "-S", "-c", SMALL))
    us = psutil.Process()
    async with RawServer() as http, sse:
        specs = [raw_spec(http)] * 46 + [raw_spec(sse, transport="sse")] * 13 + [process]
        for spec in (*specs, *specs):  # what is loaded or kept once is there now
            await cycle(spec, hosts)
        http.asked.clear()
        sse.asked.clear()
        await until(lambda: http.is_quiet and sse.is_quiet)
        gc.collect()
        children = us.children(recursive=True)
        before = descriptors(), len(asyncio.all_tasks()), us.memory_info().rss
        for _ in range(25):
            for spec in specs:
                await cycle(spec, hosts)
            http.asked.clear()
            sse.asked.clear()
        await until(lambda: http.is_quiet and sse.is_quiet)
        gc.collect()
        await until(lambda: descriptors() <= before[0])
        assert len(asyncio.all_tasks()) == before[1]
        assert us.children(recursive=True) == children
        assert us.memory_info().rss - before[2] < 10 * 1024 * 1024
