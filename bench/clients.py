"""A light client of each transport: it sends a message and looks for the end of the turn.

`BenchClient.turn` returns when the turn is over and passes each text event to `on_text`, if given.
The yardstick has a client too. They check that turns end well and nothing else.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import orjson
from aiohttp import (
    ClientResponse,
    ClientSession,
    ClientTimeout,
    ClientWebSocketResponse,
    TCPConnector,
    WSMsgType,
)

from bench.processes import KEY

OnText = Callable[[str], None]
HEADERS = {"X-API-Key": KEY, "Content-Type": "application/json"}
_DONE = '{"event_type":"done"'
_TEXT = '{"event_type":"text"'
_ERROR = '{"event_type":"error"'
_AT_ONCE = 50
V = TypeVar("V", bound="BenchClient")


class TurnFailed(RuntimeError):
    """A turn did not end as it should; the measurement means nothing."""


class BenchClient(ABC):
    """One session's client."""

    def __init__(self, http: ClientSession, url: str, session_id: str | None = None) -> None:
        self._http = http
        self._url = url
        self._session_id = session_id or str(uuid.uuid4())

    async def connect(self) -> None:
        """Open what stays open between turns."""
        return

    @abstractmethod
    async def turn(self, message: str, on_text: OnText | None = None) -> None:
        """Send a message and wait for the end of its turn."""

    async def close(self) -> None:
        """Close what `connect` opened."""
        return

    async def _post_chat(self, message: str) -> bytes:
        body = orjson.dumps({"message": message, "session_id": self._session_id})
        url = f"{self._url}/api/v1/chat"
        async with self._http.post(url, data=body, headers=HEADERS) as response:
            return await _body(response)


class SocketClient(BenchClient):
    """`/ws/chat/{session_id}`."""

    _socket: ClientWebSocketResponse

    async def connect(self) -> None:
        """Connect and wait for the greeting."""
        url = f"{self._url}/ws/chat/{self._session_id}"
        self._socket = await self._http.ws_connect(url, headers=HEADERS, max_msg_size=0)
        await self._socket.receive()

    async def turn(self, message: str, on_text: OnText | None = None) -> None:
        """One chat message, events until `done`."""
        await self.say(message)
        while True:
            event = await self._socket.receive()
            if event.type is not WSMsgType.TEXT:
                raise TurnFailed(f"The socket closed: {event}")
            data: str = event.data
            if data.startswith(_DONE):
                return
            if data.startswith(_ERROR):
                raise TurnFailed(data)
            if on_text is not None and data.startswith(_TEXT):
                on_text(data)

    async def say(self, message: str) -> None:
        """Send a message without waiting for anything."""
        body = {"type": "chat", "payload": {"message": message}}
        await self._socket.send_str(orjson.dumps(body).decode())

    async def close(self) -> None:
        """Disconnect."""
        await self._socket.close()


class RestClient(BenchClient):
    """`POST /api/v1/chat`, which answers when the turn is over."""

    async def turn(self, message: str, on_text: OnText | None = None) -> None:
        """One request."""
        answer = (await self._post_chat(message)).decode()
        if _DONE not in answer or _ERROR in answer:
            raise TurnFailed(answer)
        if on_text is not None:
            on_text(answer)


class SseClient(BenchClient):
    """`GET /sessions/{id}/events` held open; messages go in by `POST /chat`."""

    _stream: ClientResponse

    async def connect(self) -> None:
        """Create the session and follow its events."""
        url = f"{self._url}/api/v1/sessions"
        async with self._http.post(url, data=b"{}", headers=HEADERS) as response:
            self._session_id = orjson.loads(await _body(response))["session_id"]
        self._stream = await self._http.get(f"{url}/{self._session_id}/events", headers=HEADERS)

    async def turn(self, message: str, on_text: OnText | None = None) -> None:
        """One request; the turn is over when both its answer and the stream say so."""
        answer = await self._post_chat(message)
        if _ERROR.encode() in answer:
            raise TurnFailed(answer.decode())
        while line := await self._stream.content.readline():
            if on_text is not None and line.startswith(b"data: " + _TEXT.encode()):
                on_text(line.decode())
            if line.startswith(b"event: done"):
                return
        raise TurnFailed("The stream ended before the turn did.")

    async def close(self) -> None:
        """Stop following."""
        self._stream.close()


class YardstickClient(BenchClient):
    """The yardstick's `POST /chat`, which answers with a stream that ends with the turn."""

    async def turn(self, message: str, on_text: OnText | None = None) -> None:
        """One request."""
        body = orjson.dumps({"message": message, "thread_id": self._session_id})
        async with self._http.post(f"{self._url}/chat", data=body, headers=HEADERS) as response:
            answer = (await _body(response)).decode()
        if not answer.endswith("data: [DONE]\n\n"):
            raise TurnFailed(answer)
        if on_text is not None:
            on_text(answer)


CLIENTS: dict[str, type[BenchClient]] = {
    "ws": SocketClient,
    "sse": SseClient,
    "rest": RestClient,
    "yardstick": YardstickClient,
}


def groups(clients: Sequence[V]) -> Iterator[Sequence[V]]:
    """The clients in groups that may connect at once."""
    return (clients[at : at + _AT_ONCE] for at in range(0, len(clients), _AT_ONCE))


async def _body(response: ClientResponse) -> bytes:
    body = await response.read()
    if response.status >= 400:
        raise TurnFailed(f"{response.status}: {body[:500]!r}")
    return body


def client_options() -> dict[str, Any]:
    """Options of the `ClientSession` that these clients need."""
    return {"connector": TCPConnector(limit=0), "timeout": ClientTimeout(total=None)}
