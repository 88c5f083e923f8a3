"""Our hub as the conformance suite's client.

The suite starts a program for each scenario, all at once. That program is `scenario_launcher.py`,
which only passes on its arguments: the scenario's name, what it needs to know, the address of the
suite's server. Here one hub plays all scenarios, each for a user with a server of their own,
through `McpHub` and its `ToolGateway` as an agent's run does. Nothing here knows the MCP library.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from dataagent_core.mcp.hub import McpHub
from dataagent_core.mcp.types import Elicitation, ElicitationAnswer, JsonObject
from tests.mcp.kit.hub import Owner, open_hub, owner_of
from tests.waiting import WAIT_SECONDS

Context = dict[str, Any]
Scenario = Callable[[Owner, Context], Awaitable[None]]
_BY_TYPE: dict[str, Any] = {
    "string": "x",
    "integer": 0,
    "number": 0,
    "boolean": False,
    "object": {},
    "array": [],
    "null": None,
}


class Failed(Exception):
    """The scenario cannot be played to its end."""


async def fill_in(request: Elicitation) -> ElicitationAnswer:
    """Accept a form as it is filled in already."""
    fields: dict[str, JsonObject] = request.schema.get("properties", {})
    content = {name: field["default"] for name, field in fields.items() if "default" in field}
    return ElicitationAnswer("accept", content)


async def confirm(_: Elicitation) -> ElicitationAnswer:
    """Agree."""
    return ElicitationAnswer("accept", {"confirmed": True})


async def only_list(owner: Owner, _: Context) -> None:
    """Connect and find the tools."""
    await owner.visible()


async def add_numbers(owner: Owner, _: Context) -> None:
    """Call the one tool there is, if it is there: with `auth/` scenarios after a login."""
    tools = await owner.visible(WAIT_SECONDS)
    if "add_numbers" in tools:
        await called(owner, "add_numbers", {"a": 5, "b": 3})
    elif "test-tool" in tools:
        await called(owner, "test-tool", {})
    else:
        raise Failed(f"not ready: {(await owner.status()).reason}")


async def reconnect(owner: Owner, _: Context) -> None:
    """Call a tool whose stream ends before its answer."""
    await called(owner, "test_reconnection", {})


async def every_tool(owner: Owner, _: Context) -> None:
    """Call every tool that came through."""
    for name, tool in (await owner.visible()).items():
        schema = tool.definition.input_schema
        fields: dict[str, JsonObject] = schema.get("properties", {})
        required: list[str] = schema.get("required", [])
        wanted = {
            each: _BY_TYPE.get(fields.get(each, {}).get("type", ""), "x") for each in required
        }
        await called(owner, name, wanted, is_expected=False)


async def replay(owner: Owner, context: Context) -> None:
    """Make the calls the suite wants."""
    wanted: list[dict[str, Any]] = context.get("toolCalls", [])
    tools = await owner.visible()
    for each in wanted:
        if each["name"] in tools:
            await called(owner, each["name"], each.get("arguments") or {}, is_expected=False)


async def defaults(owner: Owner, _: Context) -> None:
    """Answer a form with what is in it."""
    tools = await owner.visible()
    tool = tools["test_client_elicitation_defaults"]
    await owner.call(tool, {}, on_elicit=fill_in)


async def request_state(owner: Owner, _: Context) -> None:
    """Answer questions in the middle of calls, each to its own call."""
    tools = await owner.visible()
    for name in ("echo_state", "unrelated", "no_state", "no_result_type"):
        await owner.call(tools[f"test_mrtr_{name}"], {}, on_elicit=confirm)


async def echo_schema(owner: Owner, _: Context) -> None:
    """Give a tool's schema back as it came."""
    tools = await owner.visible()
    schema = tools["json_schema_2020_12_tool"].definition.input_schema
    await called(owner, "json_schema_echo", {"schema": schema})


SCENARIOS: dict[str, Scenario] = {
    "initialize": only_list,
    "json-schema-ref-no-deref": only_list,
    "json-schema-2020-12-preservation": echo_schema,
    "sse-retry": reconnect,
    "http-invalid-tool-headers": every_tool,
    "http-custom-headers": replay,
    "elicitation-sep1034-client-defaults": defaults,
    "sep-2322-client-request-state": request_state,
}


async def called(
    owner: Owner, name: str, arguments: JsonObject, *, is_expected: bool = True
) -> None:
    """Call a tool; a failure ends the scenario unless it may be."""
    tools = await owner.visible()
    outcome = await owner.call(tools[name], arguments, on_elicit=fill_in)
    if outcome.failure is not None and is_expected:
        raise Failed(f"{name}: {outcome.failure.code} {outcome.failure.message}")


async def play(hub: McpHub, order: dict[str, str]) -> str:
    """Play one scenario; what went wrong, or nothing."""
    act = SCENARIOS.get(order["scenario"], add_numbers)
    owner = await owner_of(hub, "suite", transport="streamable_http", url=order["url"])
    try:
        await act(owner, json.loads(order["context"] or "{}"))
    except (Failed, KeyError) as error:
        return f"{order['scenario']}: {error!r}"
    finally:
        await owner.leave()
    return ""


@asynccontextmanager
async def playing(socket: Path) -> AsyncGenerator[None]:
    """Play the scenarios that are requested at the socket."""
    async with open_hub() as hub:

        async def serve_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            problem = await play(hub, json.loads(await reader.readline()))
            writer.write(problem.encode())
            await writer.drain()
            writer.close()

        server = await asyncio.start_unix_server(serve_request, socket)
        async with server:
            yield
