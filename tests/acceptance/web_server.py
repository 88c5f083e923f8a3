"""A running server as the web application's browser sees it: logins by cookie, and event streams.

The server is a process of its own, started from environment variables as an operator starts it.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.end_to_end.server import Server
from tests.homes import prepared_home
from tests.standins.openai_server import ReceivedRequest, Script, openai_server
from tests.waiting import WAIT_SECONDS, until

Json = dict[str, Any]
ADMIN, PASSWORD = "chief", "correct horse"
ROOT_KEY = "root-key"
USUAL = {
    "DATAAGENT_API_KEYS": "carl:carl-key",
    "DATAAGENT_ADMIN_API_KEYS": f"root:{ROOT_KEY}",
    "DATAAGENT_ALLOW_PRIVATE_HOSTS": "127.0.0.1",
    "ADMIN_USERNAME": ADMIN,
    "ADMIN_PASSWORD": PASSWORD,
}


@dataclass(frozen=True, slots=True)
class Sent:
    """One server-sent event: its name, its data and its id."""

    event: str
    data: Json
    id: str


@dataclass
class Web:
    """A running server."""

    server: Server
    _people: dict[str, httpx.Client] = field(default_factory=dict[str, httpx.Client])

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def home(self) -> Path:
        """Its data directory."""
        return self.server.home / "data"

    def client(self, **headers: str) -> httpx.Client:
        """A browser that is not logged in: it says which page it is on, as browsers do."""
        return httpx.Client(
            base_url=self.url, headers={"Origin": self.url, **headers}, timeout=WAIT_SECONDS
        )

    def log_in(self, username: str, password: str = PASSWORD) -> httpx.Client:
        """A new browser, logged in."""
        client = self.client()
        answer = client.post("/api/auth/login", json={"username": username, "password": password})
        assert answer.status_code == 200, answer.text
        return client

    @property
    def admin(self) -> httpx.Client:
        """The administrator's browser."""
        return self._kept(ADMIN)

    @property
    def stranger(self) -> httpx.Client:
        """A browser that nobody logs in with."""
        if "" not in self._people:
            self._people[""] = self.client()
        return self._people[""]

    def person(self, username: str) -> httpx.Client:
        """The browser of a user, who gets an account if there is none."""
        if username not in self._people:
            body = {"username": username, "password": PASSWORD, "role": "user"}
            answer = self.admin.post("/api/users", json=body)
            assert answer.status_code in {200, 201}, answer.text
        return self._kept(username)

    def _kept(self, username: str) -> httpx.Client:
        if username not in self._people:
            self._people[username] = self.log_in(username)
        return self._people[username]

    def key(self, key: str = ROOT_KEY) -> httpx.Client:
        """A program with a key; the administrator's unless another is named."""
        headers = {"X-API-Key": key}
        return httpx.Client(base_url=self.url, headers=headers, timeout=WAIT_SECONDS)

    def select(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows of the server's SQLite database."""
        with sqlite3.connect(f"file:{self.home / 'dataagent.db'}?mode=ro", uri=True) as found:
            return found.execute(statement, values).fetchall()

    def log(self) -> str:
        """What the server has written so far."""
        return self.server.log.read_text(encoding="utf-8")

    def start(self) -> None:
        """Start it (again, on what it left)."""
        asyncio.run(self.server.start())

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it, and wait for its end."""
        asyncio.run(self.server.signal(number))

    def close(self) -> None:
        """End it for good."""
        for client in self._people.values():
            client.close()
        self.stop(signal.SIGKILL)


@contextmanager
def running(folder: Path, **settings: str) -> Generator[Web]:
    """A server on a home with tables and sample in it, with settings beside the usual ones."""
    prepared_home(folder / "data")
    with first_start(folder, **settings) as web:
        yield web


@contextmanager
def first_start(folder: Path, **settings: str) -> Generator[Web]:
    """A server on an empty home, unless there is something in it already."""
    folder.mkdir(exist_ok=True)
    agents = {"DATAAGENT_AGENTS_HOME": str(folder / "agents")}
    web = Web(Server(folder, **{**agents, **USUAL, **settings}))
    web.start()
    try:
        yield web
    finally:
        web.close()


def wait_until(is_so: Callable[[], object]) -> None:
    """Wait for something that only looking tells; a hung test ends."""
    asyncio.run(until(is_so))


def ok(answer: httpx.Response, *statuses: int) -> Any:
    """The JSON of an answer that must be a success."""
    assert answer.status_code in (statuses or (200, 201)), f"{answer.status_code} {answer.text}"
    return answer.json()


def items(answer: httpx.Response) -> list[Json]:
    """The items of a list that must be a success."""
    return ok(answer)["items"]


def conversation(client: httpx.Client, **fields: Any) -> Json:
    """A new conversation."""
    return ok(client.post("/api/conversations", json=fields))


def chat(
    client: httpx.Client, message: str, thread_id: str | None = None, **fields: Any
) -> list[Sent]:
    """A message over `/api/chat`, in a conversation of its own unless one is named; its events."""
    thread_id = thread_id or conversation(client)["thread_id"]
    body = {"thread_id": thread_id, "message": message, **fields}
    with client.stream("POST", "/api/chat", json=body) as answer:
        if answer.status_code != 200:
            answer.read()
        assert answer.status_code == 200, answer.text
        return list(sent_events(answer))


def sent_events(answer: httpx.Response) -> Generator[Sent]:
    """The events of a stream, as they come."""
    fields: dict[str, str] = {}
    for line in answer.iter_lines():
        if line:
            name, _, value = line.partition(":")
            fields[name] = fields.get(name, "") + value.removeprefix(" ")
        elif "data" in fields:
            yield Sent(fields.get("event", "message"), json.loads(fields["data"]), fields["id"])
            fields = {}
        else:
            fields = {}


def named(events: Sequence[Sent], event: str) -> list[Json]:
    """The data of the events of one name."""
    return [each.data for each in events if each.event == event]


def text(events: Sequence[Sent]) -> str:
    """What was said."""
    return "".join(each["text"] for each in named(events, "text_delta"))


def outputs(events: Sequence[Sent], tool: str) -> list[Json]:
    """What came of the calls of one tool."""
    return [each for each in named(events, "tool_call_result") if each["name"] == tool]


def call(tool: str, **arguments: Any) -> str:
    """A line that makes the scripted model call a tool."""
    return f"!tool {tool} {json.dumps(arguments)}"


class Endpoint:
    """An OpenAI-compatible endpoint that plays replies and remembers what it was asked."""

    def __init__(self) -> None:
        self.base_url = ""
        self.requests: list[ReceivedRequest] = []

    @property
    def settings(self) -> dict[str, str]:
        """What has a server use it as its model."""
        return {
            "DATAAGENT_MODEL": "openai:stand-in",
            "OPENAI_BASE_URL": self.base_url,
            "OPENAI_API_KEY": "not-checked",
        }

    @property
    def seen(self) -> list[Json]:
        """The bodies of the requests, the oldest first."""
        return [each.body for each in self.requests]


def words_of(body: Json, *roles: str) -> str:
    """What a request tells the model in messages of these roles (all if none is named)."""
    found: list[str] = []
    for message in body["messages"]:
        if not roles or message["role"] in roles:
            content = message.get("content") or ""
            parts = [{"text": content}] if isinstance(content, str) else content
            found += [part.get("text", "") for part in parts]
    return "\n".join(found)


def offered(body: Json) -> dict[str, Json]:
    """The tools a request offers the model, by name."""
    return {each["function"]["name"]: each["function"] for each in body.get("tools", [])}


@contextmanager
def endpoint(reply: Callable[[Json], Any] | Script) -> Generator[Endpoint]:
    """Run such an endpoint in a thread of its own; a function answers each request's body."""
    told = Endpoint()
    is_up, is_over = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        async with openai_server(reply) as standin:
            told.base_url, told.requests = standin.base_url, standin.requests
            is_up.set()
            await is_over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert is_up.wait(WAIT_SECONDS), "the endpoint did not start"
    try:
        yield told
    finally:
        loops[0].call_soon_threadsafe(is_over.set)
        thread.join(WAIT_SECONDS)
