"""A server process of our own: start it, talk to it, kill it."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import signal
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import psutil
from websockets.asyncio.client import ClientConnection, connect

from tests.programs import Program, programs
from tests.waiting import WAIT_SECONDS

KEY = "end-to-end-key"
USER = "alice"


class Server:
    """One data directory and the server that runs on it, through all its deaths."""

    def __init__(self, home: Path, **settings: str) -> None:
        self.home = home
        self.log = home / "server.log"
        self.port = free_port()
        self._program: Program | None = None
        self._on_behalf: dict[str, str] = {}
        self._env = {
            "DATAAGENT_HOME": str(home / "data"),
            "DATAAGENT_PORT": str(self.port),
            "DATAAGENT_HOST": "127.0.0.1",
            "DATAAGENT_MODEL": "scripted",
            "DATAAGENT_SAMPLE_DATA": "false",
            "DATAAGENT_API_KEYS": f"{USER}:{KEY},bob:bobs-key",
            "DATAAGENT_LOG_LEVEL": "WARNING",
            "DATAAGENT_MAX_RUNS_PER_USER": "0",  # a test's few users stand for many
            "DATAAGENT_MAX_CONNECTIONS_PER_USER": "0",
            "DATAAGENT_RATE_LIMIT_PER_MINUTE": "0",
            **settings,
        }

    def set(self, **settings: str) -> None:
        """Change settings for the next start."""
        self._env |= settings

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start it and wait until it is ready."""
        self._program = run_server("serve", self._env, self.log)
        await self.wait_ready()

    async def wait_ready(self) -> None:
        """Wait until it can take work."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not await self._is_ready():
                assert self.is_alive, self.log.read_text()
                await asyncio.sleep(0.02)

    async def _is_ready(self) -> bool:
        try:
            async with (
                aiohttp.ClientSession() as http,
                http.get(f"{self.url}/api/v1/health/ready") as answer,
            ):
                return answer.status == 200
        except aiohttp.ClientError:
            return False

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._program is not None and self._program.is_alive

    @property
    def pid(self) -> int:
        """Of the process that was started last."""
        assert self._program is not None
        return self._program.pid

    @property
    def process(self) -> psutil.Process:
        """The process, to look at."""
        return psutil.Process(self.pid)

    async def signal(self, number: int = signal.SIGKILL) -> None:
        """Send a signal and wait for the end."""
        if self._program is not None:
            await end(self._program, number)

    def on_behalf_of(self, user_id: str) -> Server:
        """The same server, asked for a user by a key that has none."""
        asked = copy.copy(self)
        asked._on_behalf = {"X-User-Id": user_id}
        return asked

    @asynccontextmanager
    async def http(self, key: str = KEY) -> AsyncGenerator[aiohttp.ClientSession]:
        """A client with a key."""
        headers = {"X-API-Key": key, **self._on_behalf}
        async with aiohttp.ClientSession(base_url=self.url, headers=headers) as http:
            yield http

    async def get(self, path: str) -> Any:
        """A JSON answer that must be 200."""
        async with self.http() as http, http.get(f"/api/v1{path}") as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()

    async def post(self, path: str, body: Any = None) -> tuple[int, Any]:
        """A JSON answer with its status."""
        async with self.http() as http, http.post(f"/api/v1{path}", json=body) as answer:
            return answer.status, await answer.json()

    def socket(self, session_id: str, after: int | None = None) -> connect:
        """A WebSocket of the session, as an async context manager."""
        query = "" if after is None else f"?after={after}"
        return connect(
            f"ws://127.0.0.1:{self.port}/ws/chat/{session_id}{query}",
            additional_headers={"X-API-Key": KEY, **self._on_behalf},
            max_size=None,
            compression=None,
        )


def run_server(command: str, settings: dict[str, str], log: Path) -> Program:
    """Start a server, or another command of it, with settings beside the environment's."""
    return programs().start(["dataagent-server", command], env={**os.environ, **settings}, log=log)


async def end(program: Program, number: int = signal.SIGKILL) -> None:
    """Send a signal and wait for the end."""
    program.send_signal(number)
    async with asyncio.timeout(WAIT_SECONDS):
        while program.is_alive:
            await asyncio.sleep(0.01)


async def send(socket: ClientConnection, kind: str, **payload: Any) -> None:
    """Send one client message."""
    await socket.send(json.dumps({"type": kind, "payload": payload}))


async def receive(socket: ClientConnection) -> dict[str, Any]:
    """The next message, within five seconds."""
    async with asyncio.timeout(WAIT_SECONDS):
        return json.loads(await socket.recv())


async def receive_until(socket: ClientConnection, event_type: str) -> list[dict[str, Any]]:
    """All messages up to one of a type, each within five seconds of the last."""
    messages: list[dict[str, Any]] = []
    while not messages or messages[-1]["event_type"] != event_type:
        messages.append(await receive(socket))
    return messages


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
