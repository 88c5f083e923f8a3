"""How many sockets there may be, and what happens to a reader that does not read."""

from __future__ import annotations

import asyncio
import socket as sockets
from typing import TYPE_CHECKING

import pytest
from websockets.exceptions import InvalidStatus

from dataagent_server import serve
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import LiveServer

ALICE_KEY = "alice-key-4f9a0c"


@requirement("P38", "G12", "R23.6")
async def test_over_the_limit_is_503_before_the_socket_exists_and_a_slot_comes_back(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(max_connections=2)
    async with server.socket() as first:
        async with server.socket(user="bob"):
            for _ in range(3):
                with pytest.raises(InvalidStatus) as refused:
                    async with server.socket():
                        pass
                response = refused.value.response
                assert response.status_code == 503
                assert int(response.headers["Retry-After"]) > 0
                assert b'"error_code":"too_many_connections"' in bytes(response.body)
                assert response.headers["X-Request-Id"]
            async with server.http() as client:
                stream = await client.get(f"/api/v1/sessions/{first.session_id}/events")
                assert stream.status_code == 503
                assert int(stream.headers["Retry-After"]) > 0
                chat = await client.post("/api/v1/chat", json={"message": "hi"})
                assert (chat.status_code, chat.json()["error_code"]) == (
                    503,
                    "too_many_connections",
                )
                assert (await client.get("/api/v1/health")).status_code == 200
        await server.until(lambda: server.connections.count == 1)
        async with server.socket(user="bob") as again:
            await again.say("ping")
            await again.next("pong")


@requirement("G12", "G13")
async def test_a_user_has_a_share_of_the_connections(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(max_connections_per_user=2)
    async with server.socket() as first, server.socket():
        async with server.socket(is_greeted=False) as third:
            refusal = (await third.next("error"))["data"]
            assert refusal["error_code"] == "user_limit"
            assert "2 connections" in refusal["error"]
            assert await third.closed() == 1013
        async with server.socket(user=None, is_greeted=False) as fourth:
            await fourth.say("auth", {"api_key": ALICE_KEY})
            assert (await fourth.next("error"))["data"]["error_code"] == "user_limit"
            assert await fourth.closed() == 1013
        async with server.http() as client:
            for request in (
                client.get(f"/api/v1/sessions/{first.session_id}/events"),
                client.post("/api/v1/chat", json={"message": "hi"}),
            ):
                answer = await request
                assert answer.status_code == 429
                assert int(answer.headers["Retry-After"]) > 0
                assert answer.json()["error_code"] == "user_limit"
                assert answer.json()["details"] == {"what": "connections", "limit": 2, "used": 2}
            assert (await client.get("/api/v1/sessions")).status_code == 200
        for person in ("one", "two"):  # a service key's are those of the user it acts for
            who = {"X-User-Id": person}
            async with (
                server.socket(user="service", headers=who),
                server.socket(user="service", headers=who),
                server.socket(user="service", headers=who, is_greeted=False) as too_many,
            ):
                assert await too_many.closed() == 1013
    await server.until(lambda: server.container.capacity.used == 0)
    async with server.socket(), server.socket() as again:
        await again.say("ping")
        await again.next("pong")


@requirement("P37", "P28", "R23.5")
async def test_many_sockets_that_come_and_go_at_once_leave_nothing_behind(
    live: LiveServer,
) -> None:
    async def visit(number: int) -> None:
        async with live.socket() as socket:
            if number % 3 == 0:
                socket.raw.transport.abort()

    for _ in range(3):
        await asyncio.gather(*(visit(number) for number in range(30)))
    await live.until(lambda: live.connections.count == 0 and live.container.capacity.used == 0)


@requirement("R23.1", "R23.2", "R23.4")
async def test_a_hundred_users_are_answered_at_once(
    start_server: Callable[..., LiveServer],
) -> None:
    """Every answer has begun before the first one ends."""
    server = start_server(max_connections=100, sample_data=False)
    begun: set[int] = set()
    all_begun = asyncio.Event()

    async def talk(number: int) -> str:
        who = {"X-User-Id": f"user-{number}"}
        async with server.socket(user="service", headers=who) as socket:
            await socket.chat(f"!echo I am {number}\n!slow 10000 50")
            said = (await socket.next("text"))["data"]["content"]
            begun.add(number)
            if len(begun) == 100:
                all_begun.set()
            await asyncio.wait_for(all_begun.wait(), WAIT_SECONDS)
            await socket.say("cancel")
            done = (await socket.until("done"))[-1]
            assert done["data"]["cancelled"] is True
            return said

    said = await asyncio.gather(*map(talk, range(100)))
    assert all(each.startswith(f"I am {number}") for number, each in enumerate(said))


@requirement("G12")
async def test_a_reader_that_stops_reading_is_cut_off_and_others_are_served(
    start_server: Callable[..., LiveServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serve, "STALL_SECONDS", 0.3)
    server = start_server()
    server.hold_little()
    big = "x" * 50_000
    async with server.socket() as watcher:
        for _ in range(10):
            await watcher.chat(f"!echo {big}")
            await watcher.until("done")
        raw = _tiny_socket(server)
        await asyncio.get_running_loop().run_in_executor(None, _replay, raw, watcher.session_id)
        await server.until(lambda: server.connections.count == 2)
        await server.until(lambda: server.connections.count == 1)
        raw.close()
        await watcher.chat("!echo fine")
        await watcher.until("done")


@pytest.mark.slow
@requirement("G12")
async def test_a_stream_that_is_not_read_is_cut_off(
    start_server: Callable[..., LiveServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serve, "STALL_SECONDS", 0.3)
    server = start_server()
    server.hold_little()
    big = "x" * 50_000
    async with server.socket() as watcher:
        for _ in range(10):
            await watcher.chat(f"!echo {big}")
            await watcher.until("done")
        raw = _tiny_socket(server)
        raw.sendall(
            f"GET /api/v1/sessions/{watcher.session_id}/events HTTP/1.1\r\nHost: x\r\n"
            "X-API-Key: alice-key-4f9a0c\r\n\r\n".encode()
        )
        await server.until(lambda: server.container.capacity.used == 2)
        await server.until(lambda: server.container.capacity.used == 1)
        raw.close()


def _tiny_socket(server: LiveServer) -> sockets.socket:
    """A connection that holds little, so that who does not read is noticed soon."""
    raw = sockets.socket()
    raw.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
    raw.connect(server.address)
    return raw


def _replay(raw: sockets.socket, session_id: str) -> None:
    """Ask for everything, read the handshake's answer, then never read again."""
    raw.sendall(
        f"GET /ws/chat/{session_id}?after=0 HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        "X-API-Key: alice-key-4f9a0c\r\n\r\n".encode()
    )
    assert raw.recv(12) == b"HTTP/1.1 101"
