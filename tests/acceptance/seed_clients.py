"""Two clients as the requirement documents describe them, made of httpx and websockets alone.

`FrontEnd` is what the web application's document has a browser do; `ChatClient` speaks the
WebSocket protocol of the server's design. Neither knows anything of ours.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
from websockets.sync.client import ClientConnection, connect

Json = dict[str, Any]


@dataclass
class Answer:
    """What `useChat` keeps of an answer while it streams."""

    text: str = ""
    thinking: list[str] = field(default_factory=list[str])
    calls: dict[str, Json] = field(default_factory=dict[str, Json])
    error: str | None = None
    is_done: bool = False
    events: list[tuple[str, Json]] = field(default_factory=list[tuple[str, Json]])

    def take(self, event: str, data: Json) -> None:
        """Handle one event of the stream, as the document lists them."""
        self.events.append((event, data))
        match event:
            case "text_delta":
                self.text += data["text"]
            case "tool_call_start":
                self.calls[data["id"]] = {"name": data["name"], "args": data["args"]}
            case "tool_call_result":
                self.calls[data["id"]] |= {"status": data["status"], "output": data["output"]}
            case "thinking":
                self.thinking.append(data["content"])
            case "error":
                self.error = data["message"]
            case "done":
                self.is_done = True
            case _:
                pass


class FrontEnd:
    """A browser with the web application's front end in it."""

    def __init__(self, url: str, seconds: float) -> None:
        # a browser names the page that a request comes from by itself
        self.http = httpx.Client(base_url=url, headers={"Origin": url}, timeout=seconds)

    @classmethod
    @contextmanager
    def opened(cls, url: str, seconds: float) -> Generator[FrontEnd]:
        """A browser that is closed in the end."""
        page = cls(url, seconds)
        with page.http:
            yield page

    def login(self, username: str, password: str) -> Json:
        """`useAuth.login`: the cookie is the browser's to keep."""
        body = {"username": username, "password": password}
        return self._json(self.http.post("/api/auth/login", json=body))

    def logout(self) -> None:
        """`useAuth.logout`."""
        self.http.post("/api/auth/logout").raise_for_status()

    def me(self) -> Json | None:
        """The user, or None: then the login page is shown."""
        answer = self.http.get("/api/auth/me")
        return None if answer.status_code == 401 else self._json(answer)

    def create(self, title: str | None = None) -> Json:
        """`useConversations.create`."""
        body = {} if title is None else {"title": title}
        return self._json(self.http.post("/api/conversations", json=body))

    def rename(self, conversation_id: str, title: str) -> Json:
        """`useConversations.update`."""
        url = f"/api/conversations/{conversation_id}"
        return self._json(self.http.patch(url, json={"title": title}))

    def remove(self, conversation_id: str) -> None:
        """`useConversations.remove`."""
        self.http.delete(f"/api/conversations/{conversation_id}").raise_for_status()

    def conversations(self) -> list[Json]:
        """The list in the side bar."""
        return self._json(self.http.get("/api/conversations"))["items"]

    def upload(self, name: str, content: bytes) -> str:
        """The `+` button: the id of the file."""
        answer = self.http.post("/api/files/upload", files={"file": (name, content)})
        return self._json(answer)["file_id"]

    def chat(
        self,
        thread_id: str,
        message: str,
        *,
        agent: str | None = None,
        file_ids: Sequence[str] = (),
    ) -> Answer:
        """`useChat.sendMessage`: the whole answer."""
        body: Json = {"thread_id": thread_id, "message": message}
        body |= {} if agent is None else {"agent": agent}
        body |= {"file_ids": list(file_ids)} if file_ids else {}
        answer = Answer()
        with self.http.stream("POST", "/api/chat", json=body) as stream:
            stream.raise_for_status()
            for event, data in _sent(stream):
                answer.take(event, data)
        return answer

    def history(self, thread_id: str) -> list[Json]:
        """`useChat.loadHistory`."""
        return self._json(self.http.get(f"/api/threads/{thread_id}/history"))["messages"]

    @staticmethod
    def _json(answer: httpx.Response) -> Any:
        assert answer.is_success, answer.text
        return answer.json()


def _sent(stream: httpx.Response) -> Generator[tuple[str, Json]]:
    """The server-sent events of a response."""
    event, data = "", ""
    for line in stream.iter_lines():
        name, _, value = line.partition(": ")
        if name == "event":
            event = value
        elif name == "data":
            data += value
        elif not line and event:
            yield event, json.loads(data)
            event, data = "", ""


class ChatClient:
    """One socket on one session."""

    def __init__(self, socket: ClientConnection, session_id: str, seconds: float) -> None:
        self._socket = socket
        self._seconds = seconds
        self.session_id = session_id

    @classmethod
    @contextmanager
    def connected(cls, url: str, api_key: str, seconds: float) -> Generator[ChatClient]:
        """A client on a session of its own."""
        session_id = str(uuid4())
        address = f"{url.replace('http', 'ws', 1)}/ws/chat/{session_id}"
        headers = {"X-API-Key": api_key}
        with connect(address, additional_headers=headers, open_timeout=seconds) as socket:
            yield cls(socket, session_id, seconds)

    def send(self, type: str, payload: Json) -> None:  # noqa: A002 the field's name
        """Send a message."""
        self._socket.send(json.dumps({"type": type, "payload": payload}))

    def receive(self) -> Json:
        """The next message; each has the fields of the protocol."""
        message: Json = json.loads(self._socket.recv(timeout=self._seconds))
        assert {"event_type", "data", "timestamp"} <= message.keys()
        assert isinstance(message["timestamp"], float)
        return message

    def until(self, event_type: str) -> list[Json]:
        """All messages up to and with the first of a type."""
        messages = [self.receive()]
        while messages[-1]["event_type"] != event_type:
            messages.append(self.receive())
        return messages
