"""The core is put together from settings, and taken apart without leaving anything."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from dataagent_core.app.assembly import open_core, worker_name
from dataagent_core.config import Settings
from dataagent_core.errors import Misconfigured
from dataagent_core.runs.agents import agent_config
from tests.requirements import requirement

ChatIn = Callable[..., Any]
MakeSettings = Callable[..., Settings]


@requirement("G3")
async def test_second_process_on_the_same_home_leaves_the_firsts_runs_alone(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings()) as first:
        chat = await chat_in(first)
        run = await chat.start("!slow 100000 10")
        await chat.seen(run, "text")
        async with open_core(make_settings()) as second:
            assert (await second.runs.get(run.run_id, owner="anna")).run.status == "running"
            assert second.worker._active_runs == {}
        assert (await chat.run(run)).attempt == 1
        await first.runs.cancel(run.run_id, owner="anna")


@requirement("G16")
async def test_closed_core_leaves_no_task_and_no_descriptor(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    process = psutil.Process()
    async with open_core(make_settings()) as core:  # whatever is opened once is opened
        await (await chat_in(core)).ask("!echo hello")
    tasks, descriptors = asyncio.all_tasks(), process.num_fds()
    for _ in range(3):
        async with open_core(make_settings()) as core:
            await (await chat_in(core)).ask('!tool ls {"path": "/"}')
    assert asyncio.all_tasks() == tasks
    assert process.num_fds() <= descriptors + 1


async def test_home_is_for_its_owner_only(make_settings: MakeSettings, home: Path) -> None:
    async with open_core(make_settings()):
        assert os.stat(home).st_mode & 0o077 == 0


async def test_redis_store_without_its_address_is_refused(make_settings: MakeSettings) -> None:
    with pytest.raises(Misconfigured, match="DATAAGENT_REDIS_URL"):
        async with open_core(make_settings(session_store="redis")):
            pass


async def test_memory_store_keeps_nothing(make_settings: MakeSettings, chat_in: ChatIn) -> None:
    settings = make_settings(session_store="memory")
    async with open_core(settings) as core:
        chat = await chat_in(core)
        await chat.ask("!echo hello")
    async with open_core(settings) as core:
        assert await core.sessions.list(owner="anna") == ([], 0)


async def test_settings_reach_the_agent(make_settings: MakeSettings, chat_in: ChatIn) -> None:
    settings = make_settings(enable_shell=True, auto_approve=True, run_timeout=12.5)
    async with open_core(settings) as core:
        chat = await chat_in(core)
        run = await chat.start('!tool shell {"command": "echo hi"}')
        config = agent_config(settings, run)
        events = await chat.events(run)
    assert (config.assistant_id, config.user_id) == ("agent", "anna")
    assert (config.enable_shell, config.auto_approve) == (True, True)
    assert config.timeout == 12.5
    assert [e.event_type for e in events][:2] == ["tool_call", "tool_result"]


def test_workers_names_are_never_the_same() -> None:
    assert len({worker_name() for _ in range(100)}) == 100
