"""One TCP connection: its timeouts, its end and its back-pressure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from socket import SO_LINGER, SOL_SOCKET
from struct import pack

import httpcore2
import pytest

from dataagent_core.mcp.wire.tcp import TcpStream, open_tcp_stream
from tests.waiting import WAIT_SECONDS, until

from ..raw import Serve, peer

MUCH = 32 * 1024 * 1024


@asynccontextmanager
async def to(serve: Serve) -> AsyncGenerator[TcpStream]:
    """A connection to a peer."""
    async with peer(serve) as port:
        stream = await open_tcp_stream("127.0.0.1", port, 5, ())
        try:
            yield stream
        finally:
            await stream.aclose()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    del reader, writer
    await asyncio.Event().wait()


async def test_a_refused_connection_is_an_error() -> None:
    async with peer(silent) as port:
        pass
    with pytest.raises(httpcore2.ConnectError):
        await open_tcp_stream("127.0.0.1", port, 5, ())


async def test_a_silent_peer_times_out_reads_and_writes() -> None:
    async with to(silent) as stream:
        with pytest.raises(httpcore2.ReadTimeout):
            await stream.read(100, timeout=0.05)
        with pytest.raises(httpcore2.WriteTimeout):
            await stream.write(b"x" * MUCH, timeout=0.05)


async def test_a_closed_connection_is_noticed_before_a_read() -> None:
    """So that an idle connection is not reused for a request."""
    goes = asyncio.Event()

    async def leave(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await goes.wait()
        writer.close()

    async with to(leave) as stream:
        assert stream.get_extra_info("is_readable") is False
        goes.set()
        await until(lambda: stream.get_extra_info("is_readable"))
        assert await stream.read(100, timeout=WAIT_SECONDS) == b""
        # no public attribute says so
        await until(lambda: stream._protocol.is_over)  # pyright: ignore[reportPrivateUsage]
        with pytest.raises(httpcore2.WriteError):
            await stream.write(b"x", timeout=WAIT_SECONDS)


async def test_a_broken_connection_is_a_read_error() -> None:
    async def break_off(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        socket = writer.get_extra_info("socket")
        socket.setsockopt(SOL_SOCKET, SO_LINGER, pack("ii", 1, 0))  # a reset instead of a goodbye
        writer.transport.abort()

    async with to(break_off) as stream:
        with pytest.raises(httpcore2.ReadError):
            await stream.read(100, timeout=WAIT_SECONDS)


async def test_unread_data_waits_at_the_peer_and_arrives_whole() -> None:
    sent = asyncio.Event()

    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(bytes(range(256)) * (MUCH // 256))
        await writer.drain()
        sent.set()

    async with to(flood) as stream:
        # no public attribute says so
        await until(lambda: stream._protocol._is_paused)  # pyright: ignore[reportPrivateUsage]
        assert not sent.is_set()
        size = 0
        while size < MUCH:
            data = await stream.read(10_000, timeout=WAIT_SECONDS)
            assert 0 < len(data) <= 10_000
            assert data[0] == size % 256
            size += len(data)
        await asyncio.wait_for(sent.wait(), WAIT_SECONDS)
