from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.tools import tool

from dataagent_core.errors import HostNotAllowed
from dataagent_core.middleware import ToolObserver
from dataagent_core.models.rule_based import Call
from tests.waiting import WAIT_SECONDS

AgentWith = Callable[..., Any]  # the class `Agent` of conftest.py


@tool
async def explode(kind: str) -> str:
    """Fail."""
    failures: dict[str, Exception] = {
        "ours": HostNotAllowed("'x' is closed to tools."),
        "theirs": RuntimeError("cannot open /srv/secret/path: key sk-123"),
        "late": TimeoutError(),
    }
    raise failures[kind]


async def test_a_tool_that_raises_gives_the_model_words_and_no_secrets(
    agent_with: AgentWith,
    caplog: pytest.LogCaptureFixture,
) -> None:
    kinds = ("ours", "theirs", "late")
    agent = agent_with(
        [[Call("explode", {"kind": kind}) for kind in kinds], "went on"],
        [ToolObserver()],
        [explode],
    )
    with caplog.at_level(logging.ERROR):
        messages = await agent.run()
    ours, theirs, late = [(m.status, m.text) for m in messages if m.type == "tool"]
    assert ours == ("error", "Error: 'x' is closed to tools.")
    assert theirs[0] == late[0] == "error"
    assert "RuntimeError" in theirs[1]
    assert "secret" not in theirs[1]
    assert "too long" in late[1]
    assert messages[-1].text == "went on"
    assert "cannot open /srv/secret/path" in caplog.text


async def test_cancelling_a_tool_is_not_an_error_of_the_tool(agent_with: AgentWith) -> None:
    started = asyncio.Event()

    @tool
    async def wait_for_ever() -> str:
        """Wait."""
        started.set()
        await asyncio.Event().wait()
        return ""

    agent = agent_with([Call("wait_for_ever", {})], [ToolObserver()], [wait_for_ever])
    running = asyncio.ensure_future(agent.run())
    await asyncio.wait_for(started.wait(), WAIT_SECONDS)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
