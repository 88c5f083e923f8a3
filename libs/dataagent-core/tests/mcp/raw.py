"""A raw HTTP server for what no library would do: it answers with the bytes it is told to.

It speaks just enough MCP for a session of 2025-11-25, so that a connection to it becomes ready and
costs little; a test says what it does beyond that.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

EVENTS = b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n\r\n"
INFO = {"name": "raw", "version": "1"}
GREETING: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": INFO,
}
TOOL = {"name": "echo", "inputSchema": {"type": "object"}}


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> dict[str, Any]:
        return orjson.loads(self.body) if self.body else {}


Answer = Callable[[Asked, asyncio.StreamWriter], Awaitable[bool]]
"""Answers a request and returns True, or leaves it to the server."""


def response(status: int, body: bytes = b"", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def answered(message: dict[str, Any], result: dict[str, Any]) -> bytes:
    body = orjson.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result})
    return response(200, body, content_type="application/json")


@dataclass
class RawServer:
    """Listens on loopback and remembers what it was asked."""

    on_request: Answer | None = None
    tools: list[dict[str, Any]] = field(default_factory=lambda: [TOOL])
    asked: list[Asked] = field(default_factory=list[Asked])
    port: int = 0
    tls: ssl.SSLContext | None = None
    _server: asyncio.Server | None = None
    _writers: set[asyncio.StreamWriter] = field(default_factory=set[asyncio.StreamWriter])

    async def __aenter__(self) -> RawServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in list(self._writers):
            writer.close()
        await asyncio.sleep(0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def is_quiet(self) -> bool:
        return not self._writers

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                asked = await _read(reader)
                self.asked.append(asked)
                if self.on_request is None or not await self.on_request(asked, writer):
                    writer.write(self._answer(asked))
                await writer.drain()
        self._writers.discard(writer)
        writer.close()

    def _answer(self, asked: Asked) -> bytes:
        if asked.method != "POST":
            return response(405 if asked.method == "GET" else 200)
        message = asked.message
        if "id" not in message:
            return response(202)
        match message["method"]:
            case "initialize":
                return answered(message, GREETING)
            case "tools/list":
                return answered(message, {"tools": self.tools})
            case "ping":
                return answered(message, {})
            case "tools/call":
                return answered(message, {"content": [{"type": "text", "text": "raw"}]})
            case _:
                return response(400, b"what?")


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def peer(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncGenerator[int]:
    """Somebody on loopback, and their port; they are gone after the block, whatever they do."""
    tasks: list[asyncio.Task[None]] = []

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.transport.abort()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(asyncio.create_task(served(reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, target, headers, body)


def on_call(answer: bytes, *, closes: bool = False) -> Answer:
    """Answers calls so, the rest as usual."""

    async def handle(asked: Asked, writer: asyncio.StreamWriter) -> bool:
        if asked.method != "POST" or asked.message.get("method") != "tools/call":
            return False
        writer.write(answer)
        await writer.drain()
        if closes:
            writer.close()
        return True

    return handle


def sse_server(endpoint: str, big: bytes = b"") -> tuple[RawServer, dict[str, Any]]:
    """Answers on the event stream; a call gets the bytes given, then its answer."""
    state: dict[str, Any] = {}
    inner = RawServer()

    async def handle(asked: Asked, writer: asyncio.StreamWriter) -> bool:
        if asked.method == "GET":
            state["stream"] = writer
            writer.write(EVENTS + b"event: endpoint\ndata: " + endpoint.encode() + b"\n\n")
            return True
        writer.write(response(202))
        message = asked.message
        if "id" in message and message["method"] != "server/discover":
            if message["method"] == "tools/call" and message["params"]["arguments"].get("big"):
                state["stream"].write(big.replace(b"ID", str(message["id"]).encode()))
            else:
                body = inner._answer(asked).partition(b"\r\n\r\n")[2]
                state["stream"].write(b"event: message\ndata: " + body + b"\n\n")
        elif "id" in message:
            error = {"code": -32601, "message": "what?"}
            body = orjson.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error})
            state["stream"].write(b"data: " + body + b"\n\n")
        return True

    return RawServer(handle), state
