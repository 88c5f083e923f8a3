from __future__ import annotations

import asyncio

import pytest

from dataagent_core.storage.background_tasks import cancel_all
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS


@requirement("G9")
async def test_task_that_loses_a_cancellation_is_ended_all_the_same() -> None:
    lost: list[str] = []
    has_begun = asyncio.Event()

    async def hard_of_hearing() -> None:
        while True:
            try:
                has_begun.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if len(lost) == 2:
                    raise
                lost.append("one")

    task = asyncio.create_task(hard_of_hearing())
    await has_begun.wait()
    async with asyncio.timeout(WAIT_SECONDS):
        await cancel_all([task, None])
    assert task.cancelled()
    assert lost == ["one", "one"]


async def test_task_that_had_failed_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ValueError("why")

    task = asyncio.create_task(fail(), name="sweeper")
    await asyncio.wait({task})
    await cancel_all([task])
    assert "sweeper had failed" in caplog.text
    assert "why" in caplog.text
