"""People at a site: each has a door, asks message after message, and notes what was acknowledged.

A refusal or a lost connection is part of the day: they try again, as the same message. What they
saw is theirs to compare with the books: the runs they were told of, and the files they were told
are kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import uuid
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import ClassVar

import aiohttp

from dataagent_client import ApiError, ClientError, DataAgentClient, Received
from dataagent_client.http import Backoff
from dataagent_core.events import DoneEvent, HITLRequestEvent
from dataagent_core.hitl import Decision
from tests.end_to_end.server import KEY, Server

MESSAGES = (
    "!echo {mark}",
    "!slow 20 10\n!echo {mark}",
    "!think hm\n!slow 5 20\n!echo {mark}",
    '!tool execute_python {{"code": "print(6 * 7)"}}\n!echo {mark}',
    '!tool site__add {{"a": 2, "b": 3}}\n!echo {mark}',
    '!tool task {{"description": "!slow 5 10", "subagent_type": "general-purpose"}}\n!echo {mark}',
)
_GATED = (
    '!tool site__keep {{"note": "{mark}"}}\n!echo {mark}',
    '!tool write_file {{"file_path": "/files/{mark}.txt", "content": "{mark}"}}\n!echo {mark}',
)
_MESSAGES_EACH = 20  # of a conversation; then the person begins another
_PATIENCE = Backoff(most_seconds=2.0, attempts=40)


@dataclass
class Notes:
    """What one person was told in one conversation."""

    session_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    runs: dict[str, str] = field(default_factory=dict[str, str])  # run to its message's mark
    files: dict[str, str] = field(default_factory=dict[str, str])  # file to its bytes' hash
    told: Counter[str] = field(default_factory=Counter[str])
    faults: list[str] = field(default_factory=list[str])

    def hear(self, item: Received, mark: str, last_seq: int) -> int:
        """Take note of an event; a `seq` that is missing or comes twice is a fault."""
        if last_seq and item.seq != last_seq + 1:
            self.faults.append(f"seq {item.seq} after {last_seq} in run {item.run_id}")
        self.runs[item.run_id] = mark
        return item.seq


class SoakUser(ABC):
    """Someone with a door of their own."""

    messages: ClassVar[Sequence[str]] = MESSAGES

    def __init__(self, servers: Sequence[Server], user_id: str, seed: int) -> None:
        self.user_id = user_id
        self.notes = Notes()
        self.all_notes = [self.notes]
        self._servers = servers
        self._chance = random.Random(seed)

    async def run(self, is_over: asyncio.Event) -> None:
        """Ask until it is over, in one conversation after another."""
        while not is_over.is_set():
            if self.notes.told["asked"] >= _MESSAGES_EACH:
                self.notes = Notes()
                self.all_notes.append(self.notes)
            mark = f"m{uuid.uuid4().hex[:12]}"
            message = self._chance.choice(self.messages).format(mark=mark)
            try:
                async with asyncio.timeout(120):
                    await self._try(message, mark)
                self.notes.told["asked"] += 1
            except TimeoutError:
                self.notes.faults.append(f"no end within two minutes: {message!r}")
            await asyncio.sleep(self._chance.uniform(0.0, 0.3))

    async def _try(self, message: str, mark: str) -> None:
        """Ask until the message is taken, as the same message each time."""
        while True:
            server = self._chance.choice(self._servers)
            try:
                async with DataAgentClient(
                    server.url, KEY, user_id=self.user_id, backoff=_PATIENCE
                ) as client:
                    return await self.ask(client, message, mark)
            except (ClientError, aiohttp.ClientError, OSError) as error:
                if isinstance(error, ApiError) and error.status not in (409, 429, 503):
                    self.notes.faults.append(f"{message!r}: {error}")
                    return None
                self.notes.told[type(error).__name__] += 1
            await asyncio.sleep(0.2)

    @abstractmethod
    async def ask(self, client: DataAgentClient, message: str, mark: str) -> None:
        """Ask once and listen to the end."""

    async def listen(self, events: AsyncIterator[Received], mark: str) -> None:
        """Hear a run to its end."""
        last_seq = 0
        async for item in events:
            last_seq = self.notes.hear(item, mark, last_seq)
            if isinstance(item.event, DoneEvent):
                self.notes.told["ended"] += 1


class WebSocketSoakUser(SoakUser):
    """Over a WebSocket."""

    async def ask(self, client: DataAgentClient, message: str, mark: str) -> None:
        events = client.chat(message, self.notes.session_id, client_message_id=mark)
        async with aclosing(events):
            await self.listen(events, mark)


class SseSoakUser(SoakUser):
    """Over REST and server-sent events."""

    async def ask(self, client: DataAgentClient, message: str, mark: str) -> None:
        accepted = await client.start(message, self.notes.session_id, client_message_id=mark)
        events = client.run_events(accepted.run_id)
        async with aclosing(events):
            await self.listen(events, mark)


class RestSoakUser(SoakUser):
    """Over REST, waiting for the whole answer."""

    async def ask(self, client: DataAgentClient, message: str, mark: str) -> None:
        found = await client.chat_sync(message, self.notes.session_id, client_message_id=mark)
        self.notes.runs[found.run_id] = mark
        self.notes.told["ended"] += 1


class BrowserUser(SoakUser):
    """Over the web app's door; a stream that breaks is not taken up again."""

    async def ask(self, client: DataAgentClient, message: str, mark: str) -> None:
        server = self._chance.choice(self._servers)
        conversation = self.notes.session_id
        async with server.on_behalf_of(self.user_id).http() as http:
            if not self.notes.runs:
                self.notes.session_id = conversation = await self._begun(http)
            body = {"message": message, "thread_id": await self._thread(http, conversation)}
            async with http.post("/api/chat", json=body) as answer:
                if answer.status != 200:
                    raise aiohttp.ClientError(f"{answer.status}: {await answer.text()}")
                async for line in answer.content:
                    if line.startswith(b"data:") and b'"run_id"' in line:
                        run_id = line.partition(b'"run_id":')[2].split(b'"')[1].decode()
                        self.notes.runs[run_id] = mark
        self.notes.told["ended"] += 1

    async def _begun(self, http: aiohttp.ClientSession) -> str:
        async with http.post("/api/conversations", json={}) as answer:
            if answer.status != 201:
                raise aiohttp.ClientError(f"{answer.status}: {await answer.text()}")
            return (await answer.json())["id"]

    async def _thread(self, http: aiohttp.ClientSession, conversation: str) -> str:
        async with http.get(f"/api/conversations/{conversation}") as answer:
            if answer.status != 200:
                raise aiohttp.ClientError(f"{answer.status}: {await answer.text()}")
            return (await answer.json())["thread_id"]


class CancellingUser(SoakUser):
    """Asks for something long and stops it, through another process."""

    messages = ("!slow 2000 20\n!echo {mark}",)

    async def ask(self, client: DataAgentClient, message: str, mark: str) -> None:
        accepted = await client.start(message, self.notes.session_id, client_message_id=mark)
        self.notes.runs[accepted.run_id] = mark
        await asyncio.sleep(self._chance.uniform(0.1, 1.0))
        other = self._chance.choice(self._servers)
        async with DataAgentClient(
            other.url, KEY, user_id=self.user_id, backoff=_PATIENCE
        ) as second:
            await second.cancel_run(accepted.run_id)
        events = client.run_events(accepted.run_id)
        async with aclosing(events):
            await self.listen(events, mark)


class ApprovingUser(SoakUser):
    """Is asked before a call is made, and says yes or no."""

    messages = _GATED

    async def ask(self, client: DataAgentClient, message: str, mark: str) -> None:
        async def decide(request: HITLRequestEvent) -> Decision:
            return Decision(self._chance.choice(["approve", "reject"]))

        events = client.chat(
            message, self.notes.session_id, client_message_id=mark, on_approval=decide
        )
        async with aclosing(events):
            await self.listen(events, mark)


class UploadingUser(SoakUser):
    """Hands files in, and asks about them."""

    async def ask(self, client: DataAgentClient, message: str, mark: str) -> None:
        server = self._chance.choice(self._servers)
        content = (f"{mark}\n" * self._chance.randint(1, 2000)).encode()
        form = aiohttp.FormData()
        form.add_field("file", content, filename=f"{mark}.txt", content_type="text/plain")
        async with (
            server.on_behalf_of(self.user_id).http() as http,
            http.post("/api/files/upload", data=form) as answer,
        ):
            if answer.status not in (200, 201):
                raise aiohttp.ClientError(f"{answer.status}: {await answer.text()}")
            file_id = (await answer.json())["file_id"]
        self.notes.files[file_id] = hashlib.sha256(content).hexdigest()
        found = await client.chat_sync(
            message, self.notes.session_id, client_message_id=mark, file_ids=[file_id]
        )
        self.notes.runs[found.run_id] = mark
        self.notes.told["ended"] += 1


ALL_USERS: tuple[type[SoakUser], ...] = (
    WebSocketSoakUser,
    SseSoakUser,
    RestSoakUser,
    BrowserUser,
    CancellingUser,
    ApprovingUser,
    UploadingUser,
)
