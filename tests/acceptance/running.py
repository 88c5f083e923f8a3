"""A running server for a module of acceptance tests: HTTP, sockets, and its log.

The server is a process of its own, started from environment variables as an operator starts it.
"""

from __future__ import annotations

import asyncio
import json
import signal
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import ClientConnection, connect

from tests.end_to_end.server import Server
from tests.homes import prepared_home
from tests.waiting import WAIT_SECONDS

KEYS = {"alice": "alice-key", "bob": "bob-key", "service": "service-key", "root": "root-key"}
USUAL = {
    "DATAAGENT_API_KEYS": "alice:alice-key,bob:bob-key,service-key",
    "DATAAGENT_ADMIN_API_KEYS": "root:root-key",
    "ADMIN_PASSWORD": "correct horse",
}
WRITE = (
    '!tool write_file {"file_path": "/files/note.txt", "content": "one\\ntwo\\n"}\n!echo Written.'
)
"""A message that makes the scripted model call a tool that asks first."""


class Running:
    """A server that runs, and its clients."""

    def __init__(self, server: Server) -> None:
        self.process = server
        self.url = server.url

    def http(self, user: str | None = "alice", **headers: str) -> httpx.Client:
        """A client with the user's key."""
        key = {} if user is None else {"X-API-Key": KEYS[user]}
        return httpx.Client(base_url=self.url, headers={**key, **headers}, timeout=WAIT_SECONDS)

    def get(self, path: str, user: str | None = "alice", **query: Any) -> httpx.Response:
        """Ask for one thing."""
        with self.http(user) as client:
            return client.get(path, params=query)

    def post(self, path: str, body: Any = None, user: str | None = "alice") -> httpx.Response:
        """Send one thing."""
        with self.http(user) as client:
            return client.post(path, json=body)

    def send(self, method: str, path: str, body: Any = None, user: str = "alice") -> httpx.Response:
        """Any other request."""
        with self.http(user) as client:
            return client.request(method, path, json=body)

    def chat(self, message: str, user: str = "alice", **fields: Any) -> dict[str, Any]:
        """A message over REST, and its answer."""
        answer = self.post("/api/v1/chat", {"message": message, **fields}, user)
        assert answer.status_code == 200, answer.text
        return answer.json()

    @contextmanager
    def socket(
        self, session_id: str | None = None, user: str | None = "alice", **headers: str
    ) -> Generator[Socket]:
        """A chat socket; a fresh session without an id."""
        session_id = session_id or str(uuid.uuid4())
        key = {} if user is None else {"X-API-Key": KEYS[user]}
        with connect(
            f"{self.url.replace('http', 'ws', 1)}/ws/chat/{session_id}",
            additional_headers={**key, **headers},
            compression=None,
            max_size=None,
            open_timeout=WAIT_SECONDS,
        ) as raw:
            yield Socket(raw, session_id)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End the process and wait for its end."""
        asyncio.run(self.process.signal(number))

    def start(self) -> None:
        """Start it again, on what it left."""
        asyncio.run(self.process.start())

    def log(self) -> str:
        """What it has written so far."""
        return self.process.log.read_text(encoding="utf-8")


class Socket:
    """A client's end of a chat socket."""

    def __init__(self, raw: ClientConnection, session_id: str) -> None:
        self.raw = raw
        self.session_id = session_id

    def say(self, type: str, payload: dict[str, Any] | None = None) -> None:  # noqa: A002
        """Send `{"type", "payload"}`."""
        self.raw.send(json.dumps({"type": type, "payload": payload or {}}))

    def receive(self) -> dict[str, Any]:
        """The next message."""
        return json.loads(self.raw.recv(timeout=WAIT_SECONDS))

    def until(self, *event_types: str) -> list[dict[str, Any]]:
        """All messages up to and with the first of these types."""
        messages = [self.receive()]
        while messages[-1]["event_type"] not in event_types:
            messages.append(self.receive())
        return messages

    def chat(self, message: str, **fields: Any) -> list[dict[str, Any]]:
        """Send a message; all up to its `done`."""
        self.say("chat", {"message": message, **fields})
        return self.until("done")


@contextmanager
def running(folder: Path, **settings: str) -> Generator[Running]:
    """A server on a home of its own, with settings beside the usual ones."""
    prepared_home(folder / "data")
    server = Server(folder, **{**USUAL, **settings})
    started = Running(server)
    started.start()
    try:
        yield started
    finally:
        started.stop(signal.SIGKILL)


def of_type(messages: list[dict[str, Any]], event_type: str) -> list[dict[str, Any]]:
    """Those of one `event_type`."""
    return [each for each in messages if each["event_type"] == event_type]


def said(messages: list[dict[str, Any]]) -> str:
    """The text of an answer."""
    return "".join(each["data"]["content"] for each in of_type(messages, "text"))
