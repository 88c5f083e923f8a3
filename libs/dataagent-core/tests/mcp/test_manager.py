"""MCP in a program of one's own: a configuration, its servers connected, their tools called."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

# its saver is open
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool

from dataagent_core.mcp import MCPConfig, MCPConnectionManager, MCPServerConfig
from dataagent_core.models.rule_based import Call
from dataagent_core.models.scripted import ScriptedChatModel
from tests.programs import quick
from tests.requirements import requirement
from tests.standins.mcp_server import PROGRAM, HttpServer, http_server
from tests.waiting import WAIT_SECONDS, until

from .raw import Asked, RawServer, answered
from .running import PROGRAM as OWN
from .running import alive


@pytest.fixture
async def manager() -> AsyncGenerator[MCPConnectionManager]:
    async with MCPConnectionManager() as manager:
        yield manager


@pytest.fixture(scope="module")
def site() -> Generator[HttpServer]:
    with http_server() as server:
        yield server


@contextmanager
def silent_port() -> Generator[str]:
    """The address of a server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"


def calc(name: str = "calc", **more: Any) -> MCPServerConfig:
    """A server that adds, as a program."""
    return MCPServerConfig(name, quick("python"), [PROGRAM, "stdio"], **more)


def at(url: str, name: str = "site", **more: Any) -> MCPServerConfig:
    return MCPServerConfig(name, None, url=url, **more)


def own(name: str = "own", **more: Any) -> MCPServerConfig:
    """A server with tools that misbehave."""
    return MCPServerConfig(name, quick("python"), [str(OWN), "stdio", "modern"], **more)


def named(tools: list[BaseTool]) -> dict[str, BaseTool]:
    return {tool.name: tool for tool in tools}


async def called(tool: BaseTool, **arguments: Any) -> ToolMessage:
    """The message of a model's call."""
    call = ToolCall(name=tool.name, args=arguments, id="call-7", type="tool_call")
    return await asyncio.wait_for(tool.ainvoke(call), WAIT_SECONDS)


def warnings(caplog: pytest.LogCaptureFixture) -> str:
    found = [each for each in caplog.records if each.levelno >= logging.WARNING]
    return "\n".join(each.getMessage() for each in found)


# -- tools ----------------------------------------------------------------------------------------


@requirement("R29.3", "R30.4")
async def test_the_tools_of_a_configuration_are_langchain_tools_that_call_their_servers(
    manager: MCPConnectionManager, site: HttpServer
) -> None:
    config = MCPConfig([calc(), at(site.url)])
    tools = named(await manager.connect_user_servers("anna", config))
    assert sorted(tools) == [
        f"{server}__{tool}" for server in ("calc", "site") for tool in ("add", "keep", "whose")
    ]
    for name in ("calc__add", "site__add"):
        assert isinstance(tools[name], BaseTool)
        assert tools[name].description == "Adds two numbers."
        assert tools[name].args.keys() == {"a", "b"}
        assert await tools[name].ainvoke({"a": 19, "b": 23}) == "42"
    message = await called(tools["calc__add"], a=1, b=2)
    assert (message.content, message.tool_call_id, message.status) == ("3", "call-7", "success")
    assert message.artifact == {"structured_content": {"result": 3}}
    assert await manager.get_user_tools("anna") == [*tools.values()]
    assert await manager.health_check("anna") == {"calc": "connected", "site": "connected"}


async def test_any_langchain_agent_uses_the_tools(manager: MCPConnectionManager) -> None:
    tools = await manager.connect_user_servers("anna", MCPConfig([calc()]))
    model = ScriptedChatModel([Call("calc__add", {"a": 2, "b": 5}), "done"])
    # its saver is open
    graph: Any = create_agent(model, tools)  # pyright: ignore[reportUnknownVariableType]
    state = await graph.ainvoke({"messages": [("user", "add")]})
    [result] = [each for each in state["messages"] if isinstance(each, ToolMessage)]
    assert (result.content, result.status) == ("7", "success")


@requirement("M3.1", "M4.1")
async def test_a_failed_call_is_a_message_a_model_can_act_on(
    manager: MCPConnectionManager,
) -> None:
    config = MCPConfig([calc(), own(call_timeout=0.2)])
    tools = named(await manager.connect_user_servers("anna", config))
    invalid = await called(tools["calc__add"], a=1)
    slow = await called(tools["own__slow"], seconds=60)
    statuses = [(each.status, each.additional_kwargs["status"]) for each in (invalid, slow)]
    assert statuses == [("error", "error"), ("error", "timeout")]
    codes = [json.loads(str(each.content))["error"]["code"] for each in (invalid, slow)]
    assert codes == ["MCP_INVALID_ARGUMENT", "MCP_TIMEOUT"]
    assert "MCP_INVALID_ARGUMENT" in await tools["calc__add"].ainvoke({})
    assert (await called(tools["calc__add"], a=1, b=1)).status == "success"


async def test_files_in_a_result_come_beside_its_text(manager: MCPConnectionManager) -> None:
    async def picture(asked: Asked, writer: asyncio.StreamWriter) -> bool:
        if asked.message.get("method") != "tools/call":
            return False
        image = {"type": "image", "data": "YWJj", "mimeType": "image/png"}
        content = [{"type": "text", "text": "Here."}, image]
        writer.write(answered(asked.message, {"content": content}))
        return True

    async with RawServer(on_request=picture) as server:
        [tool] = await manager.connect_user_servers("anna", MCPConfig([at(server.url)]))
        message = await called(tool)
        await manager.disconnect_user("anna")
    assert message.content == "Here.\n[file site__echo-1.png, 3 bytes]"
    assert message.artifact == {"files": {"site__echo-1.png": b"abc"}}


# -- servers that fail ----------------------------------------------------------------------------


@requirement("P48", "R29.5")
async def test_servers_that_fail_are_named_in_the_log_and_cost_the_others_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    config = MCPConfig(
        [
            MCPServerConfig("nowhere", "no-such-program"),
            at("http://127.0.0.1:9/mcp", "refused"),
            MCPServerConfig("neither", None),
            MCPServerConfig("never", "x", timeout="soon"),  # type: ignore[arg-type] on purpose
            calc(),
            calc(),
        ]
    )
    async with MCPConnectionManager(max_servers_per_user=6) as manager:
        tools = await manager.connect_user_servers("anna", config)
        assert {tool.name.partition("__")[0] for tool in tools} == {"calc"}
        assert await manager.health_check("anna") == {
            "nowhere": "error",
            "refused": "error",
            "neither": "error",
            "never": "error",
            "calc": "connected",
        }
    told = warnings(caplog)
    for sentence in (
        "MCP server nowhere of user anna (file:anna/nowhere) is not reached",
        "MCP server refused of user anna (file:anna/refused) is not reached",
        "MCP server neither is left out: Server 'neither' needs a command or a url",
        "MCP server never is left out: could not convert string to float",
        "MCP server calc is left out: There is one of that name before it.",
    ):
        assert sentence in told


@requirement("P48", "R31.5", "R31.6")
@pytest.mark.parametrize("limits", [{"whole": 0.3}, {"own": 0.3}])
async def test_a_server_that_does_not_answer_in_time_is_named_and_not_waited_for(
    limits: dict[str, float], caplog: pytest.LogCaptureFixture
) -> None:
    with silent_port() as url:
        async with MCPConnectionManager(connection_timeout=limits.get("whole", 600)) as manager:
            late = at(url, "late", timeout=limits.get("own", 600))
            async with asyncio.timeout(WAIT_SECONDS):
                assert await manager.connect_user_servers("anna", MCPConfig([late])) == []
            assert await manager.health_check("anna") in (
                {"late": "disconnected"},
                {"late": "error"},
            )
    assert "MCP server late of user anna (file:anna/late) is not" in warnings(caplog)


@requirement("R31.4")
async def test_a_server_that_ends_is_in_error_until_it_is_back(
    manager: MCPConnectionManager,
) -> None:
    with http_server() as server:
        tools = named(await manager.connect_user_servers("anna", MCPConfig([at(server.url)])))
        server.stop()
        assert await manager.health_check("anna") == {"site": "error"}
        lost = await called(tools["site__add"], a=1, b=2)
        assert json.loads(str(lost.content))["error"]["code"] == "MCP_SERVER_UNAVAILABLE"
        server.start()

        async def is_back() -> bool:
            return (await called(tools["site__add"], a=1, b=2)).content == "3"

        async with asyncio.timeout(WAIT_SECONDS):
            while not await is_back():
                await asyncio.sleep(0.05)
        assert await manager.health_check("anna") == {"site": "connected"}
        assert named(await manager.get_user_tools("anna")).keys() == tools.keys()


# -- which servers --------------------------------------------------------------------------------


@requirement("R31.2")
async def test_disabled_servers_and_those_beyond_the_limit_are_left_out(
    site: HttpServer, caplog: pytest.LogCaptureFixture
) -> None:
    off = at(site.url, "off", disabled=True)
    config = MCPConfig([off, *(at(site.url, name) for name in ("one", "two", "three", "four"))])
    async with MCPConnectionManager(max_servers_per_user=2) as manager:
        tools = await manager.connect_user_servers("anna", config)
        assert {tool.name.partition("__")[0] for tool in tools} == {"one", "two"}
        assert await manager.health_check("anna") == {
            "off": "disconnected",
            "one": "connected",
            "two": "connected",
            "three": "disconnected",
            "four": "disconnected",
        }
        assert len(await manager.connect_user_servers("bob", config)) == len(tools)
    assert "user anna may have 2 MCP servers; left out: three, four" in warnings(caplog)


async def test_connecting_again_replaces_the_servers_and_restarts_changed_ones(
    manager: MCPConnectionManager,
) -> None:
    async with RawServer() as server:
        first = MCPConfig([at(server.url, "kept"), at(server.url, "other"), calc()])
        assert len(await manager.connect_user_servers("anna", first)) == 5
        greeted = _greetings(server)
        changed = MCPConfig([at(server.url, "kept"), at(server.url, "other", call_timeout=7)])
        tools = await manager.connect_user_servers("anna", changed)
        assert sorted(named(tools)) == ["kept__echo", "other__echo"]
        assert _greetings(server) - greeted == 1
        assert [(await called(tool)).content for tool in tools] == ["raw", "raw"]
        assert await manager.connect_user_servers("anna", MCPConfig()) == []
        assert await manager.health_check("anna") == {}
        await until(lambda: server.is_quiet)


def _greetings(server: RawServer) -> int:
    return sum(asked.message.get("method") == "initialize" for asked in server.asked)


@requirement("P49", "R31.1")
async def test_users_are_separate(manager: MCPConnectionManager) -> None:
    annas, bobs = MCPConfig([own("mine")]), MCPConfig([own("mine"), calc()])
    both = await asyncio.gather(
        manager.connect_user_servers("anna", annas), manager.connect_user_servers("bob", bobs)
    )
    pids = [await named(tools)["mine__pid"].ainvoke({}) for tools in both]
    assert pids[0] != pids[1]
    await manager.connect_user_servers("anna", MCPConfig())
    assert await manager.get_user_tools("anna") == []
    gone = await called(named(both[0])["mine__pid"])
    assert json.loads(str(gone.content))["error"]["code"] == "MCP_TOOL_NOT_FOUND"
    assert await named(await manager.get_user_tools("bob"))["mine__pid"].ainvoke({}) == pids[1]
    assert await manager.health_check("bob") == {"mine": "connected", "calc": "connected"}
    assert await manager.get_user_tools("carl") == []
    assert await manager.health_check("carl") == {}


@requirement("P50", "R31.3")
@pytest.mark.parametrize("how", ["disconnected", "replaced", "closed"])
async def test_the_end_of_a_user_ends_their_servers_processes(how: str) -> None:
    async with MCPConnectionManager() as manager:
        tools = named(await manager.connect_user_servers("anna", MCPConfig([own()])))
        pid = int(await tools["own__pid"].ainvoke({}))
        assert alive(pid)
        match how:
            case "disconnected":
                await manager.disconnect_user("anna")
                await manager.disconnect_user("nobody")
            case "replaced":
                await manager.connect_user_servers("anna", MCPConfig())
            case _:
                await manager.close()
        assert not alive(pid)
        assert await manager.get_user_tools("anna") == []
        assert manager._tools._numbers == {} or how == "closed"


async def test_a_server_with_new_tools_has_them_and_the_others_stay_the_same_objects(
    manager: MCPConnectionManager,
) -> None:
    tools = named(await manager.connect_user_servers("anna", MCPConfig([own()])))
    await tools["own__learn"].ainvoke({"name": "sing"})
    async with asyncio.timeout(WAIT_SECONDS):
        while "own__sing" not in (now := named(await manager.get_user_tools("anna"))):
            await asyncio.sleep(0.02)
    assert all(now[name] is tool for name, tool in tools.items())


async def test_secrets_of_a_configuration_reach_the_server_and_no_log(
    manager: MCPConnectionManager, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    canary = "c4n4ry-7be1"
    config = MCPConfig(
        [own(env={"CANARY": canary}), at("http://127.0.0.1:9/", headers={"X": canary})]
    )
    tools = named(await manager.connect_user_servers("anna", config))
    seen = json.loads(await tools["own__environment"].ainvoke({}))
    assert seen["CANARY"] != canary  # taken out of what the server answers
    assert "••••" in seen["CANARY"]
    assert canary not in caplog.text
    assert canary not in repr(config)


async def test_a_file_of_servers_is_connected(
    manager: MCPConnectionManager, tmp_path: Path
) -> None:
    path = tmp_path / "mcp.json"
    MCPConfig([calc()]).to_file(path)
    tools = await manager.connect_user_servers("anna", MCPConfig.from_file(path))
    assert len(tools) == 3
