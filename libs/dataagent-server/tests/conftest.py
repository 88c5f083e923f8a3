"""A real server on loopback for tests: uvicorn with our transport, in a thread of its own.

Tests talk to it over the network, as clients do. `live` is shared by a module; `start_server` makes
one with other settings.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import socket as sockets
import threading
import uuid
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from fastapi import FastAPI
from websockets.asyncio.client import ClientConnection, connect

from dataagent_core.identity.users import UserStore
from dataagent_server.config import ServerSettings
from dataagent_server.deps.container import Container
from dataagent_server.serve import make_server
from dataagent_server.ws.manager import ConnectionManager
from tests.homes import prepared_home
from tests.times import count_start
from tests.waiting import WAIT_SECONDS

T = TypeVar("T")
KEYS = {
    "alice": "alice-key-4f9a0c",
    "bob": "bob-key-77d1e2",
    "service": "service-key-0b1c2d",
    "root": "root-key-55aa33",
}


class _Greeting(io.StringIO):
    """Catches what the server prints and tells when it did."""

    def __init__(self) -> None:
        super().__init__()
        self.is_out = threading.Event()

    def flush(self) -> None:
        super().flush()
        if self.getvalue():
            self.is_out.set()


class LiveServer:
    """A running server."""

    def __init__(self, settings: ServerSettings) -> None:
        count_start("server")
        self.greeting = _Greeting()
        self._server = make_server(settings, out=self.greeting)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="live-server", daemon=True)
        self._thread.start()
        assert self.greeting.is_out.wait(WAIT_SECONDS), "the server did not start"
        self.url = self._server.address
        self.ws_url = self.url.replace("http", "ws", 1)

    def _run(self) -> None:
        runner = asyncio.Runner(loop_factory=self._server.config.get_loop_factory())
        with runner:
            self._loop = runner.get_loop()
            runner.run(self._server.serve())

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(WAIT_SECONDS * 2)
        assert not self._thread.is_alive(), "the server did not end"

    def hold_little(self) -> None:
        """Let the kernel hold little for new connections, so that who does not read is noticed."""
        listening = self._server.servers[0].sockets[0]
        with sockets.socket(fileno=os.dup(listening.fileno())) as same:
            same.setsockopt(sockets.SOL_SOCKET, sockets.SO_SNDBUF, 16 * 1024)

    def ask_to_stop(self) -> None:
        self._server.should_exit = True

    @property
    def app(self) -> FastAPI:
        app = self._server.config.app
        assert isinstance(app, FastAPI)
        return app

    @property
    def container(self) -> Container:
        return self.app.state.container

    @property
    def connections(self) -> ConnectionManager:
        return self.app.state.connections

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        return host, int(port)

    async def on_server(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the server's own loop."""
        assert self._loop is not None
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def until(self, is_true: Callable[[], bool]) -> None:
        """Wait, bounded, until something is true of the server, looked at on its loop."""

        async def look() -> None:
            while not is_true():
                await asyncio.sleep(0.005)

        await asyncio.wait_for(self.on_server(look()), WAIT_SECONDS)

    @asynccontextmanager
    async def http(
        self, user: str | None = "alice", headers: dict[str, str] | None = None
    ) -> AsyncGenerator[httpx.AsyncClient]:
        async with httpx.AsyncClient(
            base_url=self.url, headers={**_key(user), **(headers or {})}, timeout=WAIT_SECONDS
        ) as client:
            yield client

    @asynccontextmanager
    async def socket(
        self,
        session_id: str | None = None,
        *,
        user: str | None = "alice",
        after: int | str | None = None,
        headers: dict[str, str] | None = None,
        is_greeted: bool = True,
        **options: Any,
    ) -> AsyncGenerator[Socket]:
        session_id = session_id or str(uuid.uuid4())
        query = "" if after is None else f"?after={after}"
        async with connect(
            f"{self.ws_url}/ws/chat/{session_id}{query}",
            additional_headers={**_key(user), **(headers or {})},
            compression=None,
            max_size=None,
            **options,
        ) as connection:
            socket = Socket(connection, session_id)
            if is_greeted:
                socket.connected = await socket.next("connected")
            yield socket


class Socket:
    """A client's end of a chat socket."""

    def __init__(self, connection: ClientConnection, session_id: str) -> None:
        self.raw = connection
        self.session_id = session_id
        self.connected: dict[str, Any] = {}

    async def say(self, type: str, payload: dict[str, Any] | None = None) -> None:  # noqa: A002
        await self.raw.send(json.dumps({"type": type, "payload": payload or {}}))

    async def chat(self, message: str, **payload: Any) -> dict[str, Any]:
        """Send a message and return the `accepted` data."""
        await self.say("chat", {"message": message, **payload})
        return (await self.next("accepted"))["data"]

    async def receive(self) -> dict[str, Any]:
        return json.loads(await asyncio.wait_for(self.raw.recv(), WAIT_SECONDS))

    async def next(self, event_type: str) -> dict[str, Any]:
        """The next message, which has to be of this type."""
        message = await self.receive()
        assert message["event_type"] == event_type, message
        return message

    async def until(self, event_type: str) -> list[dict[str, Any]]:
        """All messages up to and with the first of this type."""
        messages = [await self.receive()]
        while messages[-1]["event_type"] != event_type:
            messages.append(await self.receive())
        return messages

    async def closed(self) -> int | None:
        """Wait for the end and return its close code."""
        await asyncio.wait_for(self.raw.wait_closed(), WAIT_SECONDS)
        return self.raw.close_code


def _key(user: str | None) -> dict[str, str]:
    return {} if user is None else {"X-API-Key": KEYS[user]}


def make_settings(home: Path, **overrides: Any) -> ServerSettings:
    values: dict[str, Any] = {
        "home": home,
        "agents_home": home / "agents",
        "model": "scripted",
        "host": "127.0.0.1",
        "port": 0,
        "api_keys": [f"alice:{KEYS['alice']}", f"bob:{KEYS['bob']}", KEYS["service"]],
        "admin_api_keys": [f"root:{KEYS['root']}"],
        "admin_password": "correct horse",
        "max_runs_per_user": 0,  # a test's few users stand for many
        "max_connections_per_user": 0,
        "rate_limit_per_minute": 0,
        **overrides,
    }
    # pydantic-settings takes it
    return ServerSettings(_env_file=None, **values)  # pyright: ignore[reportCallIssue]


@pytest.fixture(scope="module", autouse=True)
def quick_passwords() -> Iterator[None]:
    """Hash passwords at the least cost there is: each server makes an administrator's."""
    usual = UserStore.__init__.__kwdefaults__
    assert usual is not None
    rounds, usual["password_rounds"] = usual["password_rounds"], 4
    yield
    usual["password_rounds"] = rounds


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    server = LiveServer(make_settings(prepared_home(tmp_path_factory.mktemp("live") / "home")))
    yield server
    server.stop()


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., LiveServer]]:
    """Starts servers with settings of the test's own; they end with it."""
    servers: list[LiveServer] = []

    def start(**overrides: Any) -> LiveServer:
        home = overrides.pop("home", None) or prepared_home(tmp_path / f"home{len(servers)}")
        servers.append(LiveServer(make_settings(home, **overrides)))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def settings_for(tmp_path: Path) -> Callable[..., ServerSettings]:
    """Settings of a server that is not started."""

    def make(**overrides: Any) -> ServerSettings:
        return make_settings(tmp_path, **overrides)

    return make
