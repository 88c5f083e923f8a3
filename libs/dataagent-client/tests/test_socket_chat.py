"""Chat over a WebSocket that is lost at every possible moment.

The server here keeps a ledger and cuts connections on purpose, on real sockets, and counts runs: a
test sees whether a lost connection lost an event or made a second run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from dataagent_client import (
    ApiError,
    Backoff,
    ConflictError,
    ConnectionFailed,
    DataAgentClient,
    DeniedError,
    EventsLost,
    NotAuthenticatedError,
    NotFoundError,
    Received,
    UnavailableError,
)
from dataagent_protocol.events import AnyEvent, DoneEvent, TextEvent, event_to_wire
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

QUICK = Backoff(first_seconds=0.001, most_seconds=0.002, attempts=5)


@dataclass
class FakeServer:
    """One session. `cuts` says after how many frames each connection in turn is cut."""

    cuts: list[int] = field(default_factory=list[int])
    refusals: list[int] = field(default_factory=list[int])
    history: int = 2
    chunks: int = 6
    runs: dict[str, str] = field(default_factory=dict[str, str])
    ledger: list[bytes] = field(default_factory=list[bytes])
    sent: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    url: str = ""
    connections: int = 0

    def __post_init__(self) -> None:
        for _ in range(self.history):
            self.append("earlier", TextEvent(content="old"))

    def append(self, run_id: str, event: AnyEvent) -> None:
        self.ledger.append(event_to_wire(event, seq=len(self.ledger) + 1, run_id=run_id))

    def start(self, client_message_id: str) -> str:
        if client_message_id not in self.runs:
            run_id = self.runs[client_message_id] = f"run-{len(self.runs) + 1}"
            for number in range(self.chunks):
                self.append(run_id, TextEvent(content=str(number)))
            self.append(run_id, DoneEvent())
        return self.runs[client_message_id]

    async def handle(self, socket: ServerConnection) -> None:
        self.connections += 1
        budget = self.cuts.pop(0) if self.cuts else 1_000_000
        query = parse_qs(urlsplit(socket.request.path if socket.request else "").query)
        after = int(query["after"][0]) if "after" in query else len(self.ledger)
        last_seq = len(self.ledger)
        data = {"session_id": "s", "last_seq": last_seq, "active_run": None}
        frames = [orjson.dumps({"event_type": "connected", "data": data})]
        frames += self.ledger[after:last_seq]
        if not await self._send(socket, frames, budget):
            return
        budget -= len(frames)
        async for raw in socket:
            message = orjson.loads(raw)
            self.sent.append(message)
            run_id = self.start(message["payload"]["client_message_id"])
            accepted = {"event_type": "accepted", "data": {"run_id": run_id, "message_id": "m"}}
            frames = [orjson.dumps(accepted), *self.ledger[max(last_seq, after) :]]
            last_seq = len(self.ledger)
            if not await self._send(socket, frames, budget):
                return

    async def _send(self, socket: ServerConnection, frames: list[bytes], budget: int) -> bool:
        """Send up to `budget` frames; False, and the line is dead, if there were more."""
        for frame in frames[:budget]:
            await socket.send(frame.decode())
        if len(frames) > budget:
            socket.transport.close()  # what was sent arrives; there is no goodbye
            return False
        return True

    def refuse(self, connection: ServerConnection, request: Request) -> Response | None:
        if not self.refusals:
            return None
        status = HTTPStatus(self.refusals.pop(0))
        response = connection.respond(status, '{"error_code": "nope", "message": "Not now."}')
        response.headers["Retry-After"] = "0"
        response.headers["X-Request-Id"] = "req-1"
        return response


@asynccontextmanager
async def serve_fake(fake: FakeServer) -> AsyncGenerator[FakeServer]:
    async with serve(fake.handle, "127.0.0.1", 0, process_request=fake.refuse) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        fake.url = f"http://127.0.0.1:{port}"
        yield fake


async def ask(fake: FakeServer, **options: Any) -> list[Received]:
    async with (
        asyncio.timeout(WAIT_SECONDS),
        DataAgentClient(fake.url, "key", backoff=QUICK) as client,
    ):
        return [item async for item in client.chat("hi", "s", **options)]


def texts(items: list[Received]) -> list[str]:
    return [item.event.content for item in items if isinstance(item.event, TextEvent)]


@requirement("G4")
async def test_a_chat_gives_the_events_of_its_own_run_to_the_end() -> None:
    async with serve_fake(FakeServer()) as fake:
        items = await ask(fake, assistant_id="sql", client_message_id="m1")
    assert texts(items) == ["0", "1", "2", "3", "4", "5"]
    assert [item.seq for item in items] == list(range(3, 10))
    assert {item.run_id for item in items} == {"run-1"}
    assert isinstance(items[-1].event, DoneEvent)
    assert fake.sent == [
        {
            "type": "chat",
            "payload": {"message": "hi", "assistant_id": "sql", "client_message_id": "m1"},
        }
    ]


@requirement("G4", "G15")
@pytest.mark.parametrize("cut", range(9))
async def test_a_connection_lost_after_any_frame_loses_and_doubles_nothing(cut: int) -> None:
    async with serve_fake(FakeServer(cuts=[cut])) as fake:
        items = await ask(fake)
    assert texts(items) == ["0", "1", "2", "3", "4", "5"]
    assert len(fake.runs) == 1, "a lost acknowledgement makes no second run"
    assert fake.connections == 2


@requirement("G4", "G15")
async def test_a_connection_lost_again_and_again_gets_there() -> None:
    async with serve_fake(FakeServer(cuts=[1, 0, 1, 2, 3, 2, 2, 3])) as fake:
        items = await ask(fake)
    assert texts(items) == ["0", "1", "2", "3", "4", "5"]
    assert len(fake.runs) == 1


async def test_a_line_that_stays_dead_is_given_up() -> None:
    async with serve_fake(FakeServer(cuts=[0] * 20)) as fake:
        with pytest.raises(ConnectionFailed):
            await ask(fake)
    assert fake.connections == QUICK.attempts


async def test_a_server_that_is_not_there_is_said_to_be_so() -> None:
    async with serve_fake(FakeServer()) as fake:
        pass
    with pytest.raises(ConnectionFailed, match="lost"):
        await ask(fake)


async def test_a_full_server_is_asked_again() -> None:
    async with serve_fake(FakeServer(refusals=[503, 503])) as fake:
        assert len(await ask(fake)) == 7


async def test_a_server_that_stays_full_is_an_error_with_its_words() -> None:
    async with serve_fake(FakeServer(refusals=[503] * 9)) as fake:
        with pytest.raises(UnavailableError, match="Not now") as refused:
            await ask(fake)
    assert refused.value.status == 503
    assert refused.value.error_code == "nope"
    assert refused.value.request_id == "req-1"


@pytest.mark.parametrize(("status", "kind"), [(401, NotAuthenticatedError), (404, NotFoundError)])
async def test_a_refused_handshake_is_not_tried_again(status: int, kind: type[ApiError]) -> None:
    fake = FakeServer(refusals=[status] * 3)
    async with serve_fake(fake):
        with pytest.raises(kind):
            await ask(fake)
    assert len(fake.refusals) == 2


@asynccontextmanager
async def saying(*frames: dict[str, Any], close: int = 1000) -> AsyncGenerator[FakeServer]:
    """A server that says only this, whatever it is told."""

    async def handle(socket: ServerConnection) -> None:
        for frame in frames:
            await socket.send(orjson.dumps(frame).decode())
        if close != 1000:
            await socket.close(close, "why")
        await socket.wait_closed()

    async with serve(handle, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield FakeServer(url=f"http://127.0.0.1:{port}")


CONNECTED = {"event_type": "connected", "data": {"session_id": "s", "last_seq": 0}}


async def test_a_busy_session_is_a_conflict() -> None:
    busy = {"event_type": "error", "data": {"error": "Busy.", "error_code": "session_busy"}}
    async with saying(CONNECTED, busy) as fake:
        with pytest.raises(ConflictError, match="Busy") as refused:
            await ask(fake)
    assert (refused.value.status, refused.value.error_code) == (409, "session_busy")


@pytest.mark.parametrize(
    ("code", "kind"),
    [(4401, NotAuthenticatedError), (4403, DeniedError), (4404, NotFoundError)],
)
async def test_close_codes_are_errors_of_their_kind(code: int, kind: type[ApiError]) -> None:
    async with saying(close=code) as fake:
        with pytest.raises(kind, match="why"):
            await ask(fake)


@requirement("G4")
async def test_events_that_are_gone_are_never_passed_over_in_silence() -> None:
    gap = {"event_type": "gap", "data": {"from": 3, "to": 9, "snapshot": {"text": "so far"}}}
    async with saying(CONNECTED, gap) as fake:
        with pytest.raises(EventsLost) as lost:
            await ask(fake)
    assert (lost.value.first_seq, lost.value.last_seq) == (3, 9)
    assert lost.value.snapshot == {"text": "so far"}


async def test_an_event_of_a_newer_server_is_passed_over() -> None:
    accepted = {"event_type": "accepted", "data": {"run_id": "r", "message_id": "m"}}
    newer: dict[str, Any] = {"event_type": "hologram", "data": {}, "seq": 1, "run_id": "r"}
    done: dict[str, Any] = {"event_type": "done", "data": {}, "seq": 2, "run_id": "r"}
    async with saying(CONNECTED, accepted, newer, done) as fake:
        assert [item.seq for item in await ask(fake)] == [2]
