"""A shop's MCP server over SSE, in a thread: what it was asked is noted, and it breaks as told."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.end_to_end.server import free_port
from tests.waiting import WAIT_SECONDS

Json = dict[str, Any]
DETAIL, SEARCH = "mall4j.order.get_detail", "mall4j.product.search"
_ORDER = {"type": "object", "properties": {"orderId": {"type": "string"}}, "required": ["orderId"]}
_TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
_TOTAL = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}


@dataclass(frozen=True, slots=True)
class Called:
    """One call of a tool as it came."""

    tool: str
    arguments: Json
    meta: Json


def _tool(name: str, schema: Json, output: Json | None = None, *, reads: bool = True) -> Tool:
    given: Json = {
        "name": name,
        "description": f"What {name} does.",
        "inputSchema": schema,
        "annotations": {"readOnlyHint": reads},
    }
    return Tool.model_validate({**given, **({"outputSchema": output} if output else {})})


def _said(words: str, **more: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=words)], **more)


@dataclass
class Shop:
    """The server. `mark` is in all it says."""

    mark: str = "shop"
    token: str | None = None
    refusal: int | None = None
    """The status every request is refused with."""
    failures: int = 0
    """How many calls of `flaky` break before one works."""
    total: Any = 10
    """What `count` gives, whose total is an integer by its schema."""
    port: int = field(default_factory=free_port)
    calls: list[Called] = field(default_factory=list[Called])
    methods: list[str] = field(default_factory=list[str])
    """The methods of all requests, in order."""
    opened: list[Json] = field(default_factory=list[Json])
    """The headers of each GET that opened a stream."""
    attempts: int = 0
    """How often somebody tried to connect."""
    hold: threading.Event = field(default_factory=threading.Event)
    """Until it is set, `slow` does not answer."""
    changed: bool = False
    """Whether `mall4j.product.search` has another definition by now."""
    hangs: bool = False
    """Whether it takes requests without a word, from now on."""
    breaks: int = 0
    """How many calls of `flaky` came while it was broken."""
    loop: asyncio.AbstractEventLoop | None = None
    _server: uvicorn.Server | None = None
    _thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/sse"

    def called(self, tool: str) -> list[Called]:
        return [each for each in self.calls if each.tool == tool]

    def start(self) -> None:
        """Listen, and go on once that is so."""
        config = uvicorn.Config(
            _RequestRecorder(self, self._app()),
            host="127.0.0.1",
            port=self.port,
            log_level="critical",
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive(), "the shop did not open"
            self._thread.join(0.01)

    def stop(self) -> None:
        """Break all connections and listen no more."""
        self.hold.set()
        self.hangs = False
        server, thread, self._server = self._server, self._thread, None
        if server is None or thread is None:
            return
        server.should_exit = True
        for _ in range(int(WAIT_SECONDS / 0.02)):
            if self.loop is not None and not self.loop.is_closed():
                self.loop.call_soon_threadsafe(_cut, server)
            thread.join(0.02)
            if not thread.is_alive():
                return
        raise AssertionError("the shop did not close")

    def _tools(self) -> list[Tool]:
        search = _tool(SEARCH, _TEXT)
        if self.changed:
            search = search.model_copy(update={"description": "Does something else now."})
        return [
            _tool(DETAIL, _ORDER),
            search,
            _tool("count", _TEXT, _TOTAL),
            _tool("slow", _TEXT),
            _tool("flaky", _TEXT),
            _tool("fail", _TEXT),
        ]

    async def _list(self, _ctx: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult(tools=self._tools())

    async def _call(self, ctx: Any, params: Any) -> CallToolResult:
        self.calls.append(Called(params.name, params.arguments or {}, dict(ctx.meta or {})))
        match params.name:
            case "slow":
                while not self.hold.is_set():
                    await asyncio.sleep(0.01)
            case "fail":
                return _said("The order is locked.", is_error=True)
            case "count":
                return _said(str(self.total), structured_content={"total": self.total})
            case _:
                pass
        return _said(f"{self.mark}: {params.name}")

    def _app(self) -> ASGIApp:
        server: Server[Any] = Server(
            self.mark, version="1.0", on_list_tools=self._list, on_call_tool=self._call
        )
        transport = SseServerTransport("/messages/")

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["method"] == "GET" and scope["path"] == "/sse":
                async with transport.connect_sse(scope, receive, send) as (incoming, outgoing):
                    await server.run(incoming, outgoing, server.create_initialization_options())
            elif scope["method"] == "POST" and scope["path"].startswith("/messages"):
                await transport.handle_post_message(scope, receive, send)
            else:
                await PlainTextResponse("nothing here", 404)(scope, receive, send)

        return app


def _cut(server: uvicorn.Server) -> None:
    """Break all connections."""
    for connection in list(server.server_state.connections):
        connection.transport.abort()


class _RequestRecorder:
    """Notes requests, and refuses them as the shop says."""

    def __init__(self, shop: Shop, app: ASGIApp) -> None:
        self._shop = shop
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        shop = self._shop
        shop.loop = asyncio.get_running_loop()
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        shop.attempts += scope["method"] == "GET"
        if shop.refusal is not None:
            await PlainTextResponse("no", shop.refusal)(scope, receive, send)
            return
        if shop.token is not None and headers.get("authorization") != f"Bearer {shop.token}":
            await PlainTextResponse("no", 401)(scope, receive, send)
            return
        if scope["method"] == "GET":
            shop.opened.append({**headers, "path": scope["path"]})
            await self._app(scope, receive, send)
            return
        first = await receive()
        given = [first]
        message: Json = json.loads(first["body"])
        shop.methods.append(message.get("method", "answer"))
        while shop.hangs:
            await asyncio.sleep(0.01)
        if shop.failures and message.get("params", {}).get("name") == "flaky":
            shop.failures -= 1
            shop.breaks += 1
            await PlainTextResponse("The shop is closed for a moment.", 503)(scope, receive, send)
            return

        async def again() -> Message:
            return given.pop() if given else await receive()

        await self._app(scope, again, send)


@contextmanager
def shop(mark: str = "shop", **options: Any) -> Generator[Shop]:
    """A shop that is open while the block lasts, unless it is closed in it."""
    made = Shop(mark, **options)
    made.start()
    try:
        yield made
    finally:
        made.stop()
