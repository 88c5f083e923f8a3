"""What comes in below HTTP: halves, garbage and heads without end."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from dataagent_server import transport
from tests.waiting import WAIT_SECONDS

if TYPE_CHECKING:
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
