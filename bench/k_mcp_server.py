"""A small MCP server with one tool: `python -m bench.k_mcp_server CORE stdio|PORT`."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import mcp_types as wire
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

_ECHO = wire.Tool(
    name="echo",
    description="Echoes its argument.",
    input_schema={
        "type": "object",
        "properties": {"text": {"type": "string"}, "times": {"type": "integer", "minimum": 0}},
        "required": ["text"],
        "additionalProperties": False,
    },
    annotations=wire.ToolAnnotations(read_only_hint=True),
)
Context = ServerRequestContext[Any, Any]


async def list_tools(_: Context, __: object) -> wire.ListToolsResult:
    return wire.ListToolsResult(tools=[_ECHO])


async def call_tool(_: Context, request: wire.CallToolRequestParams) -> wire.CallToolResult:
    return wire.CallToolResult(content=[wire.TextContent(text=(request.arguments or {})["text"])])


async def main(where: str) -> None:
    server = Server("bench", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    if where == "stdio":
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
        return
    app = server.streamable_http_app()
    config = uvicorn.Config(
        app, host="127.0.0.1", port=int(where), log_level="warning", timeout_keep_alive=60
    )
    await uvicorn.Server(config).serve()


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[1])})
    asyncio.run(main(sys.argv[2]))
