"""Calls of tools that this installation does not have: nobody is asked about them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from dataagent_core.app.assembly import Core, open_core
from dataagent_core.config import Settings
from dataagent_core.events import DoneEvent, HITLRequestEvent, ToolResultEvent
from tests.requirements import requirement

HELPER = "general-purpose"


@pytest.fixture(params=["workspace", "project"])
async def core(
    request: pytest.FixtureRequest, make_settings: Callable[..., Settings], tmp_path: Path
) -> AsyncGenerator[Core]:
    """A core without a shell and without a sandbox."""
    project = tmp_path / "project"
    project.mkdir()
    given: dict[str, Any] = {"project": project} if request.param == "project" else {}
    settings = make_settings(enable_shell=False, sandbox="off", **given)
    async with open_core(settings, grace_seconds=2) as opened:
        yield opened


@requirement("R3.1")
@pytest.mark.parametrize("tool", ["shell", "execute"])
@pytest.mark.parametrize("is_helper", [False, True])
async def test_a_call_of_a_tool_that_cannot_run_is_refused_before_anyone_is_asked(
    chat: Any, tool: str, is_helper: bool
) -> None:
    line = f'!tool {tool} {{"command": "ls"}}'
    if is_helper:
        line = f"!tool task {json.dumps({'description': line, 'subagent_type': HELPER})}"
    events = await chat.ask(line)
    assert not any(isinstance(event, HITLRequestEvent) for event in events)
    assert any(isinstance(event, ToolResultEvent) for event in events)
    assert isinstance(events[-1], DoneEvent)
    assert events[-1].reason == "completed"
