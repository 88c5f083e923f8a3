"""A question that nobody waits for any more is stopped at the server."""

from __future__ import annotations

import asyncio

import pytest

from dataagent_client import DataAgentClient
from dataagent_harbor import Question, score
from dataagent_harbor.asker import Asker, Mode
from dataagent_harbor.scoring import Status
from dataagent_protocol.events import DoneReason
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

from .fake_server import serve_fake


@pytest.mark.parametrize("mode", ["ws", "rest"])
async def test_a_question_that_takes_too_long_is_stopped_though_it_said_nothing(mode: Mode) -> None:
    async with serve_fake() as fake_server, DataAgentClient(fake_server.url, "k") as client:
        asker = Asker(client, mode=mode, timeout_seconds=0.1)
        told = await asker.ask("hi", "s", message_id="m")
    assert (told.end, fake_server.stopped) == ("timeout", ["s"])


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
    async with (
        serve_fake(is_silent=False) as fake_server,
        DataAgentClient(fake_server.url, "k") as client,
    ):
        fake_server.reason = reason
        told = await Asker(client).ask("hi", "s", message_id="m")
    assert score(Question("hi", "q"), told).status == status
    assert fake_server.stopped == []


@pytest.mark.parametrize("mode", ["ws", "rest"])
async def test_a_question_that_is_left_is_stopped(mode: Mode) -> None:
    async with (
        asyncio.timeout(WAIT_SECONDS),
        serve_fake() as fake_server,
        DataAgentClient(fake_server.url, "k") as client,
    ):
        asking = asyncio.create_task(Asker(client, mode=mode).ask("hi", "s", message_id="m"))
        await fake_server.is_asked.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert fake_server.stopped == ["s"]
