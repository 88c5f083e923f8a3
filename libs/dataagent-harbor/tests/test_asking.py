"""A question that nobody waits for any more is stopped at the server."""

from __future__ import annotations

import asyncio

import pytest

from dataagent_client import DataAgentClient
from dataagent_harbor import Question, score
from dataagent_harbor.asking import Asker, Mode
from dataagent_harbor.scoring import Status
from dataagent_protocol.events import DoneReason
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

from .doors import open_doors


@pytest.mark.parametrize("mode", ["ws", "rest"])
async def test_a_question_that_takes_too_long_is_stopped_though_it_said_nothing(mode: Mode) -> None:
    async with open_doors() as doors, DataAgentClient(doors.url, "k") as client:
        asker = Asker(client, mode=mode, timeout_seconds=0.1)
        told = await asker.ask("hi", "s", message_id="m")
    assert (told.end, doors.stopped) == ("timeout", ["s"])


@requirement("R27.4")
@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("completed", "passed"),
        ("failed", "error"),
        ("shutdown", "error"),
        ("timeout", "timeout"),
        ("rejected", "failed"),
        ("user_cancelled", "failed"),
        ("budget", "failed"),
    ],
)
async def test_how_a_run_ends_is_the_status_of_its_question(
    reason: DoneReason, status: Status
) -> None:
    async with open_doors(is_silent=False) as doors, DataAgentClient(doors.url, "k") as client:
        doors.reason = reason
        told = await Asker(client).ask("hi", "s", message_id="m")
    assert score(Question("hi", "q"), told).status == status
    assert doors.stopped == []


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
