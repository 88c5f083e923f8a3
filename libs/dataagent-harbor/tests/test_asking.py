"""A question that nobody waits for any more is stopped at the server.

The client is a stand-in: a run that says nothing for ever cannot be had from a real server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import cast

import pytest

from dataagent_client import DataAgentClient, Received
from dataagent_harbor.asking import Asker, Mode


class Silent:
    """A server that takes a message and never says a word."""

    def __init__(self) -> None:
        self.is_asked = asyncio.Event()
        self.stopped: list[str] = []

    async def chat(self, *_: object, **__: object) -> AsyncGenerator[Received]:
        self.is_asked.set()
        await asyncio.Event().wait()
        yield cast("Received", None)  # never comes to this: it makes a generator of it

    chat_sse = chat

    async def cancel(self, session_id: str) -> None:
        self.stopped.append(session_id)


@pytest.mark.parametrize("mode", ["ws", "rest"])
async def test_a_question_that_takes_too_long_is_stopped_though_it_said_nothing(mode: Mode) -> None:
    server = Silent()
    asker = Asker(cast("DataAgentClient", server), mode=mode, timeout_seconds=0.01)
    told = await asker.ask("hi", "s", message_id="m")
    assert (told.end, server.stopped) == ("timeout", ["s"])


@pytest.mark.parametrize("mode", ["ws", "rest"])
async def test_a_question_that_is_left_is_stopped(mode: Mode) -> None:
    server = Silent()
    asker = Asker(cast("DataAgentClient", server), mode=mode)
    asking = asyncio.create_task(asker.ask("hi", "s", message_id="m"))
    async with asyncio.timeout(5):
        await server.is_asked.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert server.stopped == ["s"]
