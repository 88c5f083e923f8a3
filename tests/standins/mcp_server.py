"""A small MCP server on the official SDK, as a program: over stdio, or over streamable HTTP.

    python tests/standins/mcp_server.py stdio
    python tests/standins/mcp_server.py http --token SECRET --words FILE

It has `add` (read only) and `keep` (not), and `whose`, which names the owner of the credential of a
call, not the credential. `--words FILE`: the description of `add` is that file's text, read
each time the program starts. With `--token` a request without it is answered with 401. With
`--otlp URL` it sends spans there, as any server that traces does, and has two tools more: `fail`,
and `given`, which answers with the `_meta` of its call. Imports nothing of ours, so that it can be
started from anywhere.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAM = str(Path(__file__).resolve())


def stdio_command(*args: str) -> dict[str, Any]:
    """The `command` and `args` that start it over stdio."""
    from tests.programs import quick

    return {"command": quick("python"), "args": [PROGRAM, "stdio", *args]}


def digest(secret: str) -> str:
    """What `whose` says of a credential."""
    return hashlib.sha256(secret.encode()).hexdigest()[:12]


@dataclass
class HttpServer:
    """A running server; it can be ended and started again at the same address."""

    port: int
    args: tuple[str, ...]
    _process: subprocess.Popen[str] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def start(self) -> None:
        from tests.programs import quick

        words = [quick("python"), PROGRAM, "http", "--port", str(self.port), *self.args]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()  # until its output is closed: then its port is free


@contextmanager
def http_server(*args: str) -> Generator[HttpServer]:
    """Run the program over HTTP for as long as the block lasts."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    server = HttpServer(port, args)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _server(words: Path | None) -> Any:  # Any: the SDK is imported where the program runs
    from mcp.server import MCPServer
    from mcp.types import ToolAnnotations

    server = MCPServer("standin", version="1.0", log_level="ERROR")
    described = words.read_text() if words is not None else "Adds two numbers."

    @server.tool(description=described, annotations=ToolAnnotations(read_only_hint=True))
    def add(a: int, b: int) -> int:  # pyright: ignore[reportUnusedFunction] a tool
        return a + b

    @server.tool(description="Keeps a note.")
    def keep(note: str) -> str:  # pyright: ignore[reportUnusedFunction] a tool
        return f"kept {len(note)} characters"

    @server.tool(description="Whose call it is.", annotations=ToolAnnotations(read_only_hint=True))
    def whose() -> str:  # pyright: ignore[reportUnusedFunction] a tool
        return digest(os.environ.get("STANDIN_TOKEN", ""))

    return server


def _add_traced(server: Any) -> None:
    from mcp.server.mcpserver import Context
    from mcp.types import ToolAnnotations

    @server.tool(description="Fails.", annotations=ToolAnnotations(read_only_hint=True))
    def fail(why: str) -> str:  # pyright: ignore[reportUnusedFunction] a tool
        raise ValueError(why)

    def given(context: Any) -> list[str]:
        return sorted(dict(context.request_context.meta or {}))

    given.__annotations__["context"] = Context  # read as it is: a name would not be found
    about = {
        "description": "What came with it.",
        "annotations": ToolAnnotations(read_only_hint=True),
    }
    server.tool(**about)(given)


def _send_spans(url: str) -> None:
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    provider = TracerProvider(resource=Resource.create({"service.name": "standin"}))
    exporter = OTLPSpanExporter(endpoint=f"{url}/v1/traces")
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)


def _serve_http(server: Any, port: int, token: str | None) -> None:
    import uvicorn
    from starlette.responses import PlainTextResponse

    inner = server.streamable_http_app()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and token is not None:
            given = dict(scope["headers"]).get(b"authorization", b"").decode()
            if given != f"Bearer {token}":
                await PlainTextResponse("no", status_code=401)(scope, receive, send)
                return
        await inner(scope, receive, send)

    class Announcing(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            sys.stdout.write("ready\n")
            sys.stdout.flush()

    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error")
    Announcing(config).run()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("transport", choices=["stdio", "http"])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token")
    parser.add_argument("--words", type=Path)
    parser.add_argument("--otlp")
    options = parser.parse_args()
    server = _server(options.words)
    if options.otlp is not None:
        _send_spans(options.otlp)
        _add_traced(server)
    if options.transport == "stdio":
        server.run("stdio")
    else:
        _serve_http(server, options.port, options.token)


if __name__ == "__main__":
    main()
