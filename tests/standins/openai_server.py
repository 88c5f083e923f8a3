"""A stand-in for an OpenAI-compatible endpoint: a real server on loopback that plays a script.

For tests, end-to-end runs and benchmarks. It plays replies in order, the last one for ever:

    async with openai_server(Status(429, headers={"Retry-After": "0"}), text("Hello")) as server:
        model = LeanChatModel(model="any", base_url=server.base_url)

and records its requests (`server.requests`) and those still open (`server.open_requests`).
It is no model: it does not read the conversation. A function `request body -> reply` may stand in
place of a reply. By hand:

    python -m tests.standins.openai_server --port 8099 --chunks 50 --delay-ms 20
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import orjson
from aiohttp import web

from tests.waiting import WAIT_SECONDS

Json: TypeAlias = dict[str, Any]
USAGE: Json = {
    "prompt_tokens": 11,
    "completion_tokens": 7,
    "total_tokens": 18,
    "prompt_tokens_details": {"cached_tokens": 3, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 2, "audio_tokens": 0},
}
DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Stream:
    """Pieces of an event stream, each written by itself, `delay_seconds` before each."""

    pieces: Sequence[bytes]
    delay_seconds: float = 0.0
    drops: bool = False
    """Whether the connection breaks after the last piece instead of ending well."""
    holds_after: int | None = None
    """After so many pieces, wait until `server.release` is set (or the client disconnects)."""
    content_type: str = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Status:
    """An answer with a status and a body, not streamed."""

    status: int
    body: Json | str = field(default_factory=dict[str, Any])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Drop:
    """The connection breaks before anything is answered."""


Reply: TypeAlias = Stream | Status | Drop
Script: TypeAlias = Reply | Callable[[Json], Reply]


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One request as it came."""

    body: Json
    headers: Mapping[str, str]


def event(payload: Json) -> bytes:
    """One event of a stream."""
    return b"data: " + orjson.dumps(payload) + b"\n\n"


def delta(content: Json | None, *, finish_reason: str | None = None, **fields: Any) -> bytes:
    """An event with one change to the first choice."""
    choice = {"index": 0, "delta": content or {}, "finish_reason": finish_reason}
    return event({**_frame(), "choices": [choice], **fields})


def usage_event(usage: Json = USAGE) -> bytes:
    """The event that closes a stream when usage was requested."""
    return event({**_frame(), "choices": [], "usage": usage})


def ending(finish_reason: str = "stop", usage: Json | None = USAGE) -> list[bytes]:
    """How a good stream ends."""
    counted = [usage_event(usage)] if usage else []
    return [delta({}, finish_reason=finish_reason), *counted, DONE]


def text(
    *chunks: str, delay_seconds: float = 0.0, reasoning: Sequence[str] = (), **options: Any
) -> Stream:
    """A stream of text, after reasoning if there is some."""
    pieces = [delta({"role": "assistant", "content": ""})]
    pieces += [delta({"reasoning_content": thought}) for thought in reasoning]
    pieces += [delta({"content": chunk}) for chunk in chunks]
    return Stream([*pieces, *ending()], delay_seconds, **options)


def tool_calls(*calls: tuple[str, str], cut: int = 4) -> Stream:
    """A stream that calls tools: `(name, arguments as JSON)`, the arguments in pieces of `cut`."""
    pieces = [delta({"role": "assistant", "content": None})]
    for index, (name, arguments) in enumerate(calls):
        start = {"index": index, "id": f"call_{index}", "type": "function"}
        pieces.append(
            delta({"tool_calls": [{**start, "function": {"name": name, "arguments": ""}}]})
        )
        for at in range(0, len(arguments), cut):
            more = {"index": index, "function": {"arguments": arguments[at : at + cut]}}
            pieces.append(delta({"tool_calls": [more]}))
    return Stream([*pieces, *ending("tool_calls")])


def numbered(chunks: int, delay_seconds: float = 0.0) -> Stream:
    """`chunk0 chunk1 …`; without delay in one write."""
    reply = text(*(f"chunk{number} " for number in range(chunks)), delay_seconds=delay_seconds)
    return reply if delay_seconds else Stream([b"".join(reply.pieces)])


def _frame() -> Json:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "stand-in-1",
        "system_fingerprint": "fp_1",
    }


class StandIn:
    """The running server, as a test sees it."""

    def __init__(self, replies: Sequence[Script]) -> None:
        self.base_url = ""
        self.requests: list[ReceivedRequest] = []
        self.open_requests = 0
        self.connections = 0
        self.release = asyncio.Event()
        self.held = asyncio.Event()
        self._replies = list(replies)
        self._changed = asyncio.Condition()
        self._peers: set[object] = set()

    async def until_idle(self) -> None:
        """Wait until no request is being answered; five seconds at most."""
        async with asyncio.timeout(WAIT_SECONDS), self._changed:
            await self._changed.wait_for(lambda: self.open_requests == 0)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Handle one `POST /v1/chat/completions`."""
        body: Json = orjson.loads(await request.read())
        self.requests.append(ReceivedRequest(body, request.headers))
        if request.transport is not None:
            self._peers.add(request.transport.get_extra_info("peername"))
            self.connections = len(self._peers)
        await self._count(1)
        try:
            return await self._play(request, self._next(body))
        finally:
            await asyncio.shield(self._count(-1))

    def _next(self, body: Json) -> Reply:
        script = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        return script if isinstance(script, Stream | Status | Drop) else script(body)

    async def _count(self, change: int) -> None:
        async with self._changed:
            self.open_requests += change
            self._changed.notify_all()

    async def _play(self, request: web.Request, reply: Reply) -> web.StreamResponse:
        if isinstance(reply, Drop):
            _abort(request)
            return web.Response()
        if isinstance(reply, Status):
            encoded = reply.body.encode() if isinstance(reply.body, str) else _encoded(reply.body)
            headers = {"Content-Type": "application/json", **reply.headers}
            return web.Response(status=reply.status, body=encoded, headers=headers)
        response = web.StreamResponse(headers={"Content-Type": reply.content_type})
        await response.prepare(request)
        loop = asyncio.get_running_loop()
        started = loop.time()
        for number, piece in enumerate(reply.pieces):
            if reply.delay_seconds:
                due = started + (number + 1) * reply.delay_seconds
                await asyncio.sleep(max(0.0, due - loop.time()))
            await self._hold(reply, number)
            await response.write(piece)
        await self._hold(reply, len(reply.pieces))
        if reply.drops:
            _abort(request)
        else:
            await response.write_eof()
        return response

    async def _hold(self, reply: Stream, sent: int) -> None:
        if reply.holds_after == sent:
            self.held.set()
            await self.release.wait()


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _encoded(body: Json) -> bytes:
    return orjson.dumps(body)


@asynccontextmanager
async def openai_server(*replies: Script, port: int = 0) -> AsyncGenerator[StandIn]:
    """Run the stand-in on loopback while the block lasts."""
    server = StandIn(replies or [text("Hello.")])
    app = web.Application(client_max_size=64 * 1024**2)
    app.router.add_post("/v1/chat/completions", server.answer)
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    try:
        await site.start()
        server.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        yield server
    finally:
        await runner.cleanup()


async def _serve(port: int, chunks: int, delay_seconds: float) -> None:
    async with openai_server(numbered(chunks, delay_seconds), port=port) as server:
        print(server.base_url, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Serve until interrupted; the address is the first line of output."""
    options = argparse.ArgumentParser(description="A stand-in for an OpenAI-compatible endpoint.")
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--chunks", type=int, default=50)
    options.add_argument("--delay-ms", type=float, default=0.0)
    given = options.parse_args()
    try:
        asyncio.run(_serve(given.port, given.chunks, given.delay_ms / 1000))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
