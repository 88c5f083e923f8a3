"""A question that nobody waits for any more is stopped at the server."""

from __future__ import annotations

import asyncio

import pytest

from dataagent_client import DataAgentClient
from dataagent_harbor.asking import Asker, Mode
from tests.waiting import WAIT_SECONDS

from .doors import open_doors


@pytest.mark.parametrize("mode", ["ws", "rest"])
async def test_a_question_that_takes_too_long_is_stopped_though_it_said_nothing(mode: Mode) -> None:
    async with open_doors() as doors, DataAgentClient(doors.url, "k") as client:
        asker = Asker(client, mode=mode, timeout_seconds=0.1)
        told = await asker.ask("hi", "s", message_id="m")
    assert (told.end, doors.stopped) == ("timeout", ["s"])


@pytest.mark.parametrize("mode", ["ws", "rest"])
async def test_a_question_that_is_left_is_stopped(mode: Mode) -> None:
    async with (
        asyncio.timeout(WAIT_SECONDS),
        open_doors() as doors,
        DataAgentClient(doors.url, "k") as client,
    ):
        asking = asyncio.create_task(Asker(client, mode=mode).ask("hi", "s", message_id="m"))
        await doors.is_asked.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert doors.stopped == ["s"]
