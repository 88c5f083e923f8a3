"""What comes in below HTTP: halves, garbage and heads without end."""

from __future__ import annotations

import asyncio
import json
import os
import resource
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from dataagent_server import transport
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import LiveServer


async def answer_to(live: LiveServer, *pieces: bytes) -> bytes:
    """All the server says to these bytes before it closes."""
    reader, writer = await asyncio.open_connection(*live.address)
    for piece in pieces:
        writer.write(piece)
    answer = await asyncio.wait_for(reader.read(), WAIT_SECONDS)
    writer.close()
    return answer


@pytest.mark.parametrize(
    "garbage",
    [b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nbad header\r\n\r\n"],
)
async def test_what_is_not_http_is_refused_in_the_envelope(
    live: LiveServer, garbage: bytes
) -> None:
    head, _, body = (await answer_to(live, garbage)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert json.loads(body)["error_code"] == "bad_input"


async def test_a_head_without_end_is_ended(live: LiveServer) -> None:
    reader, writer = await asyncio.open_connection(*live.address)
    writer.write(b"GET / HTTP/1.1\r\nX-Long: ")
    with suppress(ConnectionError):  # who still sends may see a reset instead of the answer
        while not reader.at_eof() and not writer.is_closing():
            writer.write(b"x" * 65_536)
            await asyncio.wait_for(writer.drain(), WAIT_SECONDS)
        assert (await reader.read()).startswith(b"HTTP/1.1 400")
    writer.close()


async def test_half_a_request_is_closed_after_a_while(
    live: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "_HEAD_SECONDS", 0.1)
    assert await answer_to(live, b"") == b""
    assert await answer_to(live, b"GET /api/v1/health HTTP/1.1\r\nHo") == b""


async def test_a_connection_is_kept_for_the_next_request(live: LiveServer) -> None:
    reader, writer = await asyncio.open_connection(*live.address)
    for _ in range(3):
        writer.write(b"GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n")
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), WAIT_SECONDS)
        assert head.startswith(b"HTTP/1.1 200")
        await reader.readuntil(b"}")
    writer.close()


async def test_an_upgrade_that_is_no_websocket_handshake_is_refused(live: LiveServer) -> None:
    answer = await answer_to(
        live,
        b"GET /ws/chat/x HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    )
    assert answer.startswith(b"HTTP/1.1 4")


@requirement("G12")
async def test_a_connection_that_would_take_the_last_descriptors_is_503(
    start_server: Callable[..., LiveServer],
) -> None:
    """The limit is what the system says when the server starts; here few are left below it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
    try:
        server = start_server()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    reserved_from = 512 - 128
    async with server.http() as before:
        assert (await before.get("/api/v1/health")).status_code == 200
        with ExitStack() as stack:
            while (held := stack.enter_context(open(os.devnull))).fileno() < reserved_from:
                continue
            async with server.http() as client:
                refused = await client.post("/api/v1/chat", json={"message": "x" * 500_000})
                assert refused.status_code == 503
                assert int(refused.headers["Retry-After"]) > 0
                assert refused.json()["error_code"] == "too_many_connections"
            with pytest.raises(InvalidStatus) as handshake:
                async with server.socket():
                    pass
            assert handshake.value.response.status_code == 503
            assert int(handshake.value.response.headers["Retry-After"]) > 0
            assert (await before.get("/api/v1/health")).status_code == 200
            while held.fileno() < 512:
                held = stack.enter_context(open(os.devnull))
            async with server.http() as client:
                with pytest.raises(httpx.TransportError):
                    await client.get("/api/v1/health")
            assert (await before.get("/api/v1/health")).status_code == 200
        async with server.http() as client:
            assert (await client.get("/api/v1/health")).status_code == 200
