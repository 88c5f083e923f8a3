"""A server of the tests' own, run as a program: any transport, either era, tools that misbehave.

`python own_server.py stdio|sse|http modern|legacy [PORT]`. `TOKEN_FILE`, if set, names a file with
the token that requests must bear; `REFUSE_FILE`, once it exists, holds the status that every
request is refused with; what the tools do is noted in `NOTES_FILE`.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import (
    METHOD_NOT_FOUND,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    ErrorData,
    InputRequiredResult,
    JSONRPCError,
    JSONRPCRequest,
    TextContent,
)
from pydantic import BaseModel
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

server = MCPServer("own", version="1.2.3")
NOTES = os.environ.get("NOTES_FILE", os.devnull)


def note(line: str) -> None:
    with open(NOTES, "a") as file:
        file.write(line + "\n")


class Colour(BaseModel):
    colour: str


@server.tool()
async def echo(text: str) -> str:
    """Says it again."""
    return text


@server.tool()
async def pid() -> int:
    """Who answers."""
    return os.getpid()


@server.tool()
async def environment() -> str:
    """All variables."""
    return json.dumps(dict(os.environ))


@server.tool()
async def slow(seconds: float, mark: str = "") -> str:
    """Takes its time."""
    note(f"started {mark}")
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        note(f"cancelled {mark}")
        raise
    note(f"finished {mark}")
    return "done"


@server.tool()
async def huge(size: int) -> CallToolResult:
    """A long answer."""
    return CallToolResult(content=[TextContent(text="x" * size)])


@server.tool()
async def steps(ctx: Context) -> str:
    """Tells how far it is."""
    for step in range(3):
        await ctx.report_progress(step + 1, 3, f"step {step + 1}")
    return "done"


@server.tool()
async def colour(ctx: Context) -> Any:
    """Asks the user."""
    if ctx.protocol_version == "2026-07-28":
        answers = ctx.input_responses
        if not answers:
            question = ElicitRequestFormParams(
                message="Which colour?", requested_schema=Colour.model_json_schema()
            )
            return InputRequiredResult(
                input_requests={"colour": ElicitRequest(params=question)}, request_state="s1"
            )
        answer = answers["colour"]
        assert isinstance(answer, ElicitResult)
        return f"{answer.action} {(answer.content or {}).get('colour')}"
    result = await ctx.elicit("Which colour?", Colour)
    return f"{result.action} {result.data.colour if result.action == 'accept' else None}"


@server.tool()
async def learn(name: str, ctx: Context) -> str:
    """Has one more tool from now on."""

    async def learned() -> str:
        return name

    server.add_tool(learned, name=name, description="learned")
    await ctx.notify_tools_changed()
    if ctx.protocol_version != "2026-07-28":
        await ctx.session.send_tool_list_changed()
    return "learned"


@server.tool()
async def headers(ctx: Context) -> str:
    """The headers of this very request."""
    return json.dumps(dict(ctx.headers or {}))


@server.tool()
async def spawn(mark: str) -> int:
    """Starts a process that outlives it, in a session of its own."""
    code = "import time; time.sleep(300)"
    return subprocess.Popen(
        [sys.executable, "-c", code, mark],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ).pid


@server.tool()
async def mutter(text: str) -> str:
    """Writes to stderr."""
    print(text, file=sys.stderr, flush=True)
    return "done"


@server.tool()
async def fail(text: str) -> str:
    """Fails."""
    raise RuntimeError(text)


# -- how it is reached --


class Door:
    """Refuses requests: without the token, as the file says, or of the newer era."""

    def __init__(self, app: ASGIApp, *, is_legacy: bool) -> None:
        self._app = app
        self._is_legacy = is_legacy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {k.decode(): v.decode() for k, v in scope["headers"]}
        refusal = os.environ.get("REFUSE_FILE")
        if refusal and Path(refusal).exists():
            status = int(Path(refusal).read_text())
            await PlainTextResponse("no", status_code=status)(scope, receive, send)
            return
        token = os.environ.get("TOKEN_FILE")
        if token and headers.get("authorization") != f"Bearer {Path(token).read_text()}":
            await JSONResponse({"error": "invalid_token"}, 401)(scope, receive, send)
            return
        if self._is_legacy and scope["method"] == "POST":
            first = await receive()
            if b'"server/discover"' in first.get("body", b""):
                await PlainTextResponse("what?", status_code=400)(scope, receive, send)
                return
            given = [first]

            async def again() -> Message:
                return given.pop() if given else await receive()

            await self._app(scope, again, send)
            return
        await self._app(scope, receive, send)


async def serve_http(app: ASGIApp, port: int, *, is_legacy: bool) -> None:
    config = uvicorn.Config(
        Door(app, is_legacy=is_legacy), host="127.0.0.1", port=port, log_level="error"
    )
    await uvicorn.Server(config).serve()


async def serve_stdio(*, is_legacy: bool) -> None:
    async with stdio_server() as (incoming, outgoing):
        send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)

        async def old() -> None:
            """A server that knows nothing of the newer era."""
            async with send:
                async for item in incoming:
                    message = item.message if isinstance(item, SessionMessage) else None
                    is_probe = (
                        isinstance(message, JSONRPCRequest) and message.method == "server/discover"
                    )
                    if is_legacy and is_probe:
                        error = ErrorData(code=METHOD_NOT_FOUND, message="what?")
                        asked: Any = message  # a probe: it has an id
                        reply = JSONRPCError(jsonrpc="2.0", id=asked.id, error=error)
                        await outgoing.send(SessionMessage(reply))
                    else:
                        await send.send(item)

        async with anyio.create_task_group() as group:
            group.start_soon(old)
            low = server._lowlevel_server
            await low.run(receive, outgoing, low.create_initialization_options())
            group.cancel_scope.cancel()


def main() -> None:
    transport, era = sys.argv[1:3]
    is_legacy = era == "legacy"
    if transport == "stdio":
        asyncio.run(serve_stdio(is_legacy=is_legacy))
        return
    app = server.sse_app() if transport == "sse" else server.streamable_http_app()
    asyncio.run(serve_http(app, int(sys.argv[3]), is_legacy=is_legacy))


if __name__ == "__main__":
    main()
