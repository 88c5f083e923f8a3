"""A server that has done much holds no more than one that has done little.

A thousand turns and three hundred clients that vanish: in the handshake, before they say who they
are, in the middle of a turn, in the middle of a stream. Descriptors, threads, memory and connection
slots are back where they were.
"""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import struct
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from websockets.exceptions import InvalidStatus

from tests.end_to_end.conftest import StartServer
from tests.end_to_end.server import KEY, Server, receive_until, send
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

pytestmark = pytest.mark.slow

SLOTS = 50
AT_ONCE = 20
QUIET_LOOKS = 20
MIB = 1024 * 1024
NO_LINGER = struct.pack("ii", 1, 0)  # close with a reset, without a goodbye


async def turns(server: Server, count: int) -> None:
    """Turns on one socket, one after another."""
    async with server.socket(str(uuid.uuid4())) as chat:
        await receive_until(chat, "connected")
        for number in range(count):
            await send(chat, "chat", message=f"turn {number}")
            await receive_until(chat, "done")


async def until_there_is_room(attempt: Callable[[], Awaitable[None]]) -> None:
    """Try until a slot is free: the server may still be freeing one."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            try:
                return await attempt()
            except InvalidStatus as refusal:
                if refusal.response.status_code != 503:
                    raise
            await asyncio.sleep(0.02)


async def leave_in_handshake(server: Server) -> None:
    """Half an upgrade request, then a reset."""
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    key = base64.b64encode(os.urandom(16)).decode()
    head = f"GET /ws/chat/{uuid.uuid4()} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
    writer.write(f"{head}Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n".encode())
    await writer.drain()
    await reset(writer)


async def leave_after_handshake(server: Server) -> None:
    """A whole upgrade request, and a reset before its answer is read."""
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    key = base64.b64encode(os.urandom(16)).decode()
    head = f"GET /ws/chat/{uuid.uuid4()} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
    rest = f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\nX-API-Key: {KEY}\r\n\r\n"
    writer.write(f"{head}Connection: Upgrade\r\n{rest}".encode())
    await writer.drain()
    await reset(writer)


async def reset(writer: asyncio.StreamWriter) -> None:
    """End a connection as a cable does."""
    raw: socket.socket = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()


async def leave_in_a_turn(server: Server) -> None:
    """A turn that has begun to answer, and nobody there any more."""

    async def attempt() -> None:
        async with server.socket(str(uuid.uuid4())) as chat:
            await receive_until(chat, "connected")
            await send(chat, "chat", message="!slow 20 5")
            await receive_until(chat, "text")
            chat.transport.abort()

    await until_there_is_room(attempt)


async def leave_a_stream(server: Server) -> None:
    """A stream of events, dropped after its first."""
    _, run = await server.post("/chat?wait=false", {"message": "!slow 20 5"})
    async with asyncio.timeout(WAIT_SECONDS), server.http() as http:
        while True:
            async with http.get(f"/api/v1/sessions/{run['session_id']}/events") as answer:
                if answer.status == 200:
                    await answer.content.readline()
                    answer.close()
                    return
                assert answer.status == 503, await answer.text()
            await asyncio.sleep(0.02)


WAYS = (leave_in_handshake, leave_after_handshake, leave_in_a_turn, leave_a_stream)


async def abrupt(server: Server, count: int) -> None:
    """So many clients that vanish, each in its way, some at once."""
    for first in range(0, count, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, count))
        await asyncio.gather(*(WAYS[number % len(WAYS)](server) for number in numbers))


def footprint(server: Server) -> tuple[int, int, int]:
    """Open descriptors, threads and memory of the server."""
    process = server.process
    return process.num_fds(), process.num_threads(), process.memory_info().rss


async def settled(server: Server) -> tuple[int, int, int]:
    """The footprint once the number of descriptors has stood still for a second."""
    last, still = -1, 0
    async with asyncio.timeout(WAIT_SECONDS):
        while still < QUIET_LOOKS:
            descriptors = server.process.num_fds()
            still = still + 1 if descriptors == last else 0
            last = descriptors
            await asyncio.sleep(0.05)
    return footprint(server)


async def all_slots_at_once(server: Server) -> None:
    """As many sockets as there are slots, open at the same moment: each gets in and is answered."""
    everyone = asyncio.Barrier(SLOTS)

    async def one() -> None:
        async with server.socket(str(uuid.uuid4())) as chat:
            await receive_until(chat, "connected")
            async with asyncio.timeout(WAIT_SECONDS):
                await everyone.wait()
            await send(chat, "ping")
            await receive_until(chat, "pong")

    await asyncio.gather(*(one() for _ in range(SLOTS)))


@requirement("G16", "R24.6", "P44")
async def test_a_thousand_turns_and_three_hundred_abrupt_ends_leave_nothing_behind(
    start_server: StartServer,
) -> None:
    server = await start_server(DATAAGENT_MAX_CONNECTIONS=str(SLOTS))
    await asyncio.gather(*(turns(server, 20) for _ in range(AT_ONCE)))
    await abrupt(server, 40)
    descriptors, threads, memory = await settled(server)
    await asyncio.gather(*(turns(server, 50) for _ in range(AT_ONCE)))
    await abrupt(server, 300)
    after = await settled(server)
    assert abs(after[0] - descriptors) <= 5
    assert after[1] <= threads + 2
    assert after[2] - memory < 50 * MIB
    await all_slots_at_once(server)
    assert footprint(server)[1] <= threads + 2
