"""A shop's MCP server, run as a program: `python shop_server.py stdio` or `… http PORT`.

`MARK` tells servers apart in what they answer. Its tools say of themselves what a test needs: read
only or not, with an output schema that they keep to or not.
"""

from __future__ import annotations

import asyncio
import base64
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    ImageContent,
    InputRequiredResult,
    ListToolsResult,
    TextContent,
    Tool,
)

MARK = os.environ.get("MARK", "shop")
READ = {"readOnlyHint": True}
ORDER = {"type": "object", "properties": {"orderId": {"type": "string"}}, "required": ["orderId"]}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
ANY: dict[str, Any] = {"type": "object", "properties": {}}
NUMBER = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}
SLOW = {"seconds": {"type": "number"}, "started": {"type": "string"}}  # a file: it is made first
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 32).decode()


def tool(name: str, schema: dict[str, Any] = ANY, *, output: Any = None, hints: Any = READ) -> Tool:
    given = {"name": name, "inputSchema": schema, "annotations": hints, "description": f"{name}."}
    return Tool.model_validate({**given, **({"outputSchema": output} if output else {})})


TOOLS = [
    tool("mall4j.order.get_detail", ORDER),
    tool("mall4j.product.search", TEXT),
    tool("order.cancel", ORDER, hints={"destructiveHint": True}),
    tool("slow", {"type": "object", "properties": SLOW}),
    tool("wrong_total", output=NUMBER),
    tool("right_total", output=NUMBER),
    tool("picture"),
    tool("long", {"type": "object", "properties": {"size": {"type": "integer"}}}),
    tool("fail", TEXT),
    tool("env"),
    tool("colour"),
    tool("steps"),
    tool("die"),
]
FORM = {
    "type": "object",
    "properties": {"colour": {"type": "string", "title": "Colour"}},
    "required": ["colour"],
}


def said(text: str, **more: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], **more)


async def list_tools(_ctx: Any, _params: Any) -> ListToolsResult:
    return ListToolsResult(tools=TOOLS)


async def call_tool(ctx: Any, params: Any) -> CallToolResult | InputRequiredResult:
    given: dict[str, Any] = params.arguments or {}
    if params.name in ANSWERS:
        return ANSWERS[params.name](given)
    match params.name:
        case "slow":
            if started := given.get("started"):
                Path(started).touch()
            await asyncio.sleep(given.get("seconds", 60))
        case "colour":
            return await asked(ctx, params)
        case "steps":
            for step in range(1, 4):
                await ctx.session.report_progress(step, 3, f"step {step}")
        case "die":
            os._exit(1)
        case _:
            return said(f"{MARK}: {params.name} {sorted(given)}")
    return said("done")


def picture(_given: dict[str, Any]) -> CallToolResult:
    dot = ImageContent(data=PIXEL, mime_type="image/png")
    return CallToolResult(content=[TextContent(text="A dot."), dot])


ANSWERS: dict[str, Callable[[dict[str, Any]], CallToolResult]] = {
    "wrong_total": lambda _: said("about ten", structured_content={"total": "about ten"}),
    "right_total": lambda _: said("10", structured_content={"total": 10}),
    "picture": picture,
    "long": lambda given: said("x" * given["size"]),
    "fail": lambda given: said(f"cannot do {given.get('text')}", is_error=True),
    "env": lambda _: said(" ".join(f"{k}={v}" for k, v in os.environ.items())),
}


async def asked(ctx: Any, params: Any) -> CallToolResult | InputRequiredResult:
    answers = params.input_responses
    if not answers:
        question = ElicitRequestFormParams(message="Which colour?", requested_schema=FORM)
        return InputRequiredResult(
            input_requests={"colour": ElicitRequest(params=question)}, request_state="s1"
        )
    answer = answers["colour"]
    assert isinstance(answer, ElicitResult)
    return said(f"{answer.action} {(answer.content or {}).get('colour')}")


server: Server[Any] = Server(MARK, version="1", on_list_tools=list_tools, on_call_tool=call_tool)


async def serve() -> None:
    if sys.argv[1] == "stdio":
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
        return
    app = server.streamable_http_app()
    config = uvicorn.Config(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error")
    await uvicorn.Server(config).serve()


if __name__ == "__main__":
    asyncio.run(serve())
