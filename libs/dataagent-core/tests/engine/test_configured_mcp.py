"""Tools of the MCP servers an agent's configuration names, over a stand-in for the connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool

from dataagent_core import mcp
from dataagent_core.engine import AgentConfig, AgentExecutor, AgentFactory
from dataagent_core.events import AnyEvent, ToolResultEvent
from dataagent_core.hitl import ActionRequest, Decision
from dataagent_core.identity import RunContext
from dataagent_core.identity.context import RunRules
from tests.requirements import requirement


class Servers:
    """As `MCPConnectionManager`: every user has a tool that says whose it is."""

    made: list[Servers]

    def __init__(self) -> None:
        self.connected: list[tuple[str, Any]] = []
        self.is_closed = False
        self.tools: dict[str, list[BaseTool]] = {}
        type(self).made.append(self)

    async def connect_user_servers(self, user_id: str, config: Any) -> list[BaseTool]:
        self.connected.append((user_id, config))
        if user_id == "unlucky":
            raise OSError("no such server")

        async def whose() -> str:
            return f"of {user_id}"

        tool = StructuredTool.from_function(
            coroutine=whose, name="whose", description="Whose server this is."
        )
        self.tools[user_id] = [tool]
        return [tool]

    async def get_user_tools(self, user_id: str) -> list[BaseTool]:
        return self.tools.get(user_id, [])

    async def disconnect_user(self, user_id: str) -> None:
        self.tools.pop(user_id, None)

    async def health_check(self, user_id: str) -> dict[str, str]:
        return {"one": "connected"}

    async def close(self) -> None:
        self.is_closed = True


class Answering:
    def __init__(self, decision: Decision) -> None:
        self.asked: list[ActionRequest] = []
        self._decision = decision

    async def request_approval(self, action_request: ActionRequest, session_id: str) -> Decision:
        self.asked.append(action_request)
        return self._decision


@pytest.fixture(autouse=True)
def servers(monkeypatch: pytest.MonkeyPatch) -> list[Servers]:
    """The managers that were made."""
    Servers.made = []
    monkeypatch.setattr(mcp, "MCPConnectionManager", Servers, raising=False)
    return Servers.made


@pytest.fixture
async def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[AgentFactory]:
    monkeypatch.setenv("DATAAGENT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DATAAGENT_MODEL", "scripted")
    async with AgentFactory() as factory:
        yield factory


async def run(agent: Any, text: str, handler: Any = None, **more: Any) -> list[AnyEvent]:
    executor = AgentExecutor(agent, hitl_handler=handler)
    return [event async for event in executor.execute(text, "s", **more)]


def results(events: list[AnyEvent]) -> list[tuple[Any, str]]:
    return [(e.result, e.status) for e in events if isinstance(e, ToolResultEvent)]


@requirement("R4.1", "R30.4", "P49")
async def test_each_user_has_the_tools_of_servers_of_their_own(
    library: AgentFactory, servers: list[Servers], listening: Callable[..., Any]
) -> None:
    config: Any = object()
    model = listening()
    agent, _ = library.create_agent(AgentConfig("x", model=model, mcp_config=config))
    assert servers == []  # nothing is connected before the first run
    for user in ("ann", "bob", "ann"):
        events = await run(agent, "!tool whose {}", context={"user_id": user})
        assert results(events) == [(f"of {user}", "success")]
    assert all("whose" in bound for bound in model.bound)
    assert [made.connected for made in servers] == [[("ann", config), ("bob", config)]]
    await library.aclose()
    assert servers[0].is_closed


@requirement("R29.5", "P48")
async def test_servers_that_do_not_answer_do_not_stop_an_agent(library: AgentFactory) -> None:
    config: Any = object()
    agent, _ = library.create_agent(AgentConfig("x", user_id="unlucky", mcp_config=config))
    assert results(await run(agent, '!tool ls {"path": "/"}'))[0][1] == "success"


@requirement("R3.4")
async def test_call_of_a_servers_tool_asks_first(library: AgentFactory) -> None:
    config: Any = object()
    agent, _ = library.create_agent(AgentConfig("x", mcp_config=config))
    handler = Answering(Decision("approve"))
    assert results(await run(agent, "!tool whose {}", handler)) == [("of default", "success")]
    assert [(each.name, each.args) for each in handler.asked] == [("whose", {})]
    assert "Whose server this is." in handler.asked[0].description
    events = await run(agent, "!tool whose {}", Answering(Decision("reject")))
    assert results(events) == []
    unasked = Answering(Decision("reject"))
    events = await run(agent, "!tool whose {}", unasked, context={"auto_approve": True})
    assert results(events) == [("of default", "success")]
    assert unasked.asked == []


async def test_plan_mode_refuses_a_servers_tool(library: AgentFactory) -> None:
    config: Any = object()
    agent, _ = library.create_agent(AgentConfig("x", mcp_config=config))
    planning = RunContext("ann", "s", "r", "x", rules=RunRules(is_plan=True))
    [(_, status)] = results(await run(agent, "!tool whose {}", context=planning))
    assert status == "denied"


async def test_agent_bound_to_some_tools_has_its_servers_all_the_same(
    library: AgentFactory,
) -> None:
    config: Any = object()
    bound = AgentConfig("x", mcp_config=config, tools=frozenset({"ls"}))
    agent, _ = library.create_agent(bound)
    assert results(await run(agent, "!tool whose {}")) == [("of default", "success")]


async def test_without_mcp_there_are_none(
    library: AgentFactory, servers: list[Servers], listening: Callable[..., Any]
) -> None:
    config: Any = object()
    model = listening()
    off = AgentConfig("x", model=model, mcp_config=config, enable_mcp=False)
    await run(library.create_agent(off)[0], "hi")
    assert "whose" not in model.bound[0]
    assert servers == []


def test_each_event_loop_has_connections_of_its_own(
    servers: list[Servers], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAAGENT_HOME", str(tmp_path / "home"))
    config: Any = object()
    factory = AgentFactory()
    scripted = AgentConfig("x", model="scripted", mcp_config=config)
    agent, _ = factory.create_agent(scripted)
    for _ in range(2):
        events = asyncio.run(run(agent, "!tool whose {}"))
        assert results(events) == [("of default", "success")]
    assert [made.is_closed for made in servers] == [True, True]
