"""A tool is a file in one folder: nothing else is edited for it to be listed, bound and called."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import dataagent_core.tools
from dataagent_core.agents.service import NewAgent
from dataagent_core.app.assembly import Core, open_core
from dataagent_core.config import Settings
from dataagent_core.errors import Misconfigured
from dataagent_core.events import AnyEvent, HITLRequestEvent, ToolResultEvent
from dataagent_core.hitl import Decision
from dataagent_core.tools import OutboundClient, ToolContext, builtin_tools
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

POSTCARD = '''
"""`send_postcard`: a tool that somebody added."""

from langchain_core.tools import BaseTool, StructuredTool

from dataagent_core.tools.context import ToolContext


def tools(context: ToolContext) -> list[BaseTool]:
    """As `builtin.py` asks."""
    home = context.settings.home_dir.name

    async def send_postcard(to: str) -> str:
        """Send a postcard."""
        return f"sent to {to} from {home}"

    asks_first = {"approval": "Send a postcard to somebody."}
    return [StructuredTool.from_function(coroutine=send_postcard, metadata=asks_first)]
'''
SAME_NAME = """
from dataagent_core.tools.think import ThinkTool
def tools(context): return [ThinkTool()]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """A folder that counts as the one of the tools, so that the source is not written to."""
    folder = tmp_path / "tools"
    folder.mkdir()
    package = dataagent_core.tools
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if name.startswith(package.__name__):
            del sys.modules[name]


@requirement("R8.4", "S8.4")
async def test_a_file_in_the_folder_is_a_tool_that_can_be_bound_and_asks_first(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "postcard.py").write_text(POSTCARD)
    home = tmp_path / "home"
    async with open_core(Settings(home=home, model="scripted", sample_data=False)) as core:
        listed = {tool.name: tool for tool in await core.agents.service.tools()}
        assert listed["send_postcard"].description == "Send a postcard."
        number = listed["send_postcard"].tool_id
        await core.agents.service.create(NewAgent(name="postman", tool_ids=[number]))
        for agent in ("agent", "postman"):
            events = await approved(core, agent, "send_postcard", to="anna")
            [request] = [event for event in events if isinstance(event, HITLRequestEvent)]
            assert request.action.description == "Send a postcard to somebody."
            [result] = [event for event in events if isinstance(event, ToolResultEvent)]
            assert result.result == "sent to anna from home"


async def approved(core: Core, agent: str, tool: str, **arguments: Any) -> list[AnyEvent]:
    """The events of a call that a person agrees to."""
    session = await core.sessions.create("bert", agent)
    message = f"!tool {tool} {json.dumps(arguments)}"
    run = (await core.runs.start(session.session_id, message, owner="bert")).run
    events: list[AnyEvent] = []
    async with asyncio.timeout(WAIT_SECONDS):
        async for entry in core.runs.read(run.run_id):
            events.append(entry.event)
            if isinstance(entry.event, HITLRequestEvent):
                request_id = entry.event.request_id
                await core.runs.decide(run.run_id, request_id, Decision("approve"), owner="bert")
    return events


@requirement("S8.4")
@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("import no_such_package", r"tools/bad.py cannot be loaded: .*no_such_package"),
        ("def tools(context): return ['x']", r"tools/bad.py: tools\(context\) must return"),
        ("def tools(context): return 1 / 0", r"tools/bad.py cannot be made: division by zero"),
        (SAME_NAME, r"tools/think.py and tools/bad.py both offer|bad.py both offer a tool"),
    ],
)
async def test_a_file_that_cannot_be_used_is_named_at_the_start(
    folder: Path, source: str, says: str
) -> None:
    (folder / "bad.py").write_text(source)
    async with OutboundClient() as client:
        context = ToolContext(settings=Settings(model="scripted"), client=client)
        with pytest.raises(Misconfigured, match=says):
            builtin_tools(context)


@requirement("S8.4")
async def test_a_file_without_the_function_offers_nothing(folder: Path) -> None:
    (folder / "notes.py").write_text("ANSWER = 42")
    async with OutboundClient() as client:
        context = ToolContext(settings=Settings(model="scripted"), client=client)
        names = {tool.name for tool in builtin_tools(context)}
    assert names == {"fetch_url", "http_request", "think_tool"}
