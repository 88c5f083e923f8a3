"""A server's doors on loopback: what Harbor says arrives over the network and is written down.

How it answers is the test's to say: at once, with the message itself, or not at all. A run that is
silent for as long as a test wants, or half a year of use, cannot be had from the server we ship,
against which Harbor runs in `tests/end_to_end`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from dataagent_protocol.events import AnyEvent, DoneEvent, DoneReason, TextEvent, event_to_wire

RUN = "r1"


class FakeServer:
    """Takes messages. Says them back (over the WebSocket), or never a word if it is silent."""

    def __init__(self, *, is_silent: bool) -> None:
        self.url = ""
        self.reason: DoneReason = "completed"  # how the runs end
        self.is_silent = is_silent
        self.days: list[dict[str, Any]] = []  # what was used, the newest first
        self.is_asked = asyncio.Event()
        self.is_stopped = asyncio.Event()
        self.stopped: list[str] = []  # sessions

    async def talk(self, request: web.Request) -> web.WebSocketResponse:
        """`/ws/chat/{session_id}`."""
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        session_id = request.match_info["session_id"]
        connected = {"session_id": session_id, "last_seq": 0, "active_run": None}
        await socket.send_json({"event_type": "connected", "data": connected})
        async for frame in socket:
            said = frame.json()
            if said["type"] == "cancel":
                self._stop(session_id)
                continue
            self.is_asked.set()
            if not self.is_silent:
                await _say_back(socket, said["payload"]["message"], self.reason)
        return socket

    async def chat(self, request: web.Request) -> web.Response:
        """`POST /chat`: who does not wait is told the run, and reads what comes of it."""
        if request.query.get("wait") != "false":
            return await self.hold(request)
        session_id = (await request.json())["session_id"]
        return web.json_response({"session_id": session_id, "run_id": RUN, "status": "queued"})

    async def hold(self, request: web.Request) -> web.Response:
        """Says nothing for as long as somebody waits."""
        self.is_asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def cancel(self, request: web.Request) -> web.Response:
        """`POST /chat/{session_id}/cancel`."""
        session_id = request.match_info["session_id"]
        self._stop(session_id)
        return web.json_response({"session_id": session_id, "run_id": RUN, "status": "cancelled"})

    async def usage(self, request: web.Request) -> web.Response:
        """`GET /usage`, whose pages are as long as they were asked for."""
        since = request.query.get("from", "")
        found = [each for each in self.days if each["day"] >= since]
        page = found[: int(request.query["limit"])]
        return web.json_response({"items": page, "total": len(found)})

    async def sessions(self, request: web.Request) -> web.Response:
        """`GET /sessions`: there are none."""
        return web.json_response({"items": [], "total": 0})

    async def health(self, request: web.Request) -> web.Response:
        """`GET /health`."""
        return web.json_response({"status": "ok", "version": "1", "uptime": 1.0})

    def _stop(self, session_id: str) -> None:
        self.stopped.append(session_id)
        self.is_stopped.set()


async def _say_back(socket: web.WebSocketResponse, message: str, reason: DoneReason) -> None:
    accepted = {"run_id": RUN, "message_id": "m"}
    await socket.send_json({"event_type": "accepted", "data": accepted})
    events: tuple[AnyEvent, ...] = (TextEvent(content=message), DoneEvent(reason=reason))
    for seq, event in enumerate(events, start=1):
        await socket.send_str(event_to_wire(event, seq=seq, run_id=RUN).decode())


@asynccontextmanager
async def serve_fake(*, is_silent: bool = True) -> AsyncGenerator[FakeServer]:
    """A server while the block lasts."""
    fake_server = FakeServer(is_silent=is_silent)
    app = web.Application()
    app.router.add_get("/ws/chat/{session_id}", fake_server.talk)
    app.router.add_post("/api/v1/chat", fake_server.chat)
    app.router.add_post("/api/v1/chat/{session_id}/cancel", fake_server.cancel)
    app.router.add_get("/api/v1/runs/{run_id}/events", fake_server.hold)
    app.router.add_get("/api/v1/usage", fake_server.usage)
    app.router.add_get("/api/v1/sessions", fake_server.sessions)
    app.router.add_get("/api/v1/health", fake_server.health)
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    try:
        await site.start()
        fake_server.url = site.name
        yield fake_server
    finally:
        await runner.cleanup()
