"""TCP streams for the HTTP client, to allowed addresses only.

The host's name is resolved once, here, by `HostPolicy`, and its answer is what is dialled: a name
that resolves differently the second time leads nowhere. The certificate is still checked against
the name.

The streams are asyncio's own, because `httpcore2.AnyIOBackend` takes several turns of the loop and
a cancel scope per read: with it fifty calls at once run at 0.8 of the rate (`bench/mcp.py`).
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Iterable
from typing import Any, cast

import httpcore2
from httpcore2 import AsyncNetworkBackend, AsyncNetworkStream

from dataagent_core.network import HostPolicy

_MAX_UNREAD = 256 * 1024
_MAX_ADDRESSES = 4
_KEEPALIVE_SECONDS = 60
SocketOption = (
    tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]
)


async def open_tcp_stream(
    host: str, port: int, timeout: float | None, options: Iterable[SocketOption]
) -> TcpStream:
    """Connect to an address.

    Raises:
        httpcore2.ConnectError: the connection fails.
        httpcore2.ConnectTimeout: it takes too long.
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(timeout):
            transport, protocol = await loop.create_connection(_StreamProtocol, host, port)
    except TimeoutError as error:
        raise httpcore2.ConnectTimeout("Connecting takes too long.") from error
    except OSError as error:
        raise httpcore2.ConnectError("The connection failed.") from error
    socket = transport.get_extra_info("socket")
    for option in options:
        socket.setsockopt(*option)
    return TcpStream(protocol)


class TcpStream(AsyncNetworkStream):
    """A TCP connection, read by one task at a time."""

    def __init__(self, protocol: _StreamProtocol) -> None:
        self._protocol = protocol

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return the next bytes, waiting for them; empty once the peer has closed.

        Raises:
            httpcore2.ReadTimeout: no bytes arrive in time.
            httpcore2.ReadError: the connection broke.
        """
        protocol = self._protocol
        try:
            while not protocol.is_readable:
                await protocol.wait_for_change(timeout)
        except TimeoutError as error:
            raise httpcore2.ReadTimeout("The peer sent nothing in time.") from error
        data = protocol.take(max_bytes)
        if not data and protocol.problem is not None:
            raise httpcore2.ReadError("The connection broke.") from protocol.problem
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write, waiting only while too much is buffered.

        Raises:
            httpcore2.WriteTimeout: the peer does not read.
            httpcore2.WriteError: the connection broke.
        """
        protocol = self._protocol
        if buffer and not protocol.is_over:
            protocol.transport.write(buffer)
        try:
            while protocol.is_full and not protocol.is_over:
                await protocol.wait_for_change(timeout)
        except TimeoutError as error:
            raise httpcore2.WriteTimeout("The peer does not read.") from error
        if protocol.is_over:
            raise httpcore2.WriteError("The connection broke.") from protocol.problem

    async def aclose(self) -> None:
        """Close, without waiting for the peer."""
        transport = self._protocol.transport
        transport.close()
        try:
            await asyncio.sleep(0)
        finally:
            transport.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> AsyncNetworkStream:
        """Encrypt the connection.

        Raises:
            httpcore2.ConnectError: the certificate is not valid, or the handshake fails.
            httpcore2.ConnectTimeout: it takes too long.
        """
        protocol = self._protocol
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                secret = await loop.start_tls(
                    protocol.transport, protocol, ssl_context, server_hostname=server_hostname
                )
        except TimeoutError as error:
            protocol.transport.abort()
            raise httpcore2.ConnectTimeout("Connecting takes too long.") from error
        except OSError as error:  # an `SSLError` is one
            protocol.transport.abort()
            raise httpcore2.ConnectError(str(error)) from error
        if secret is None:  # it was closed meanwhile
            raise httpcore2.ConnectError("The connection broke.")
        protocol.transport = secret
        return self

    def get_extra_info(self, info: str) -> Any:
        """Return information about the connection."""
        if info == "is_readable":
            return self._protocol.is_readable
        return self._protocol.transport.get_extra_info(_NAMES.get(info, info))


_NAMES = {"client_addr": "sockname", "server_addr": "peername"}


class _StreamProtocol(asyncio.Protocol):
    """The loop's end of a connection."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._parts: deque[bytes] = deque()
        self._size = 0
        self._is_paused = False
        self._waiting: set[asyncio.Future[None]] = set()
        self._has_ended = False
        self.is_over = False
        """Whether the connection is closed."""
        self.is_full = False
        """Whether the transport's buffer is full."""
        self.problem: Exception | None = None

    # -- for the stream -------------------------------------------------------------------

    @property
    def is_readable(self) -> bool:
        """Whether a read returns at once, be it with the end."""
        return bool(self._parts) or self._has_ended or self.is_over

    def take(self, most_bytes: int) -> bytes:
        """Return the next buffered bytes; empty if there are none."""
        if not self._parts:
            return b""
        data = self._parts.popleft()
        if len(data) > most_bytes:
            self._parts.appendleft(data[most_bytes:])
            data = data[:most_bytes]
        self._size -= len(data)
        if self._is_paused and self._size < _MAX_UNREAD and not self.is_over:
            self._is_paused = False
            self.transport.resume_reading()
        return data

    async def wait_for_change(self, timeout: float | None) -> None:
        """Wait until something changes.

        Raises:
            TimeoutError: nothing changes in time.
        """
        loop = asyncio.get_running_loop()
        change: asyncio.Future[None] = loop.create_future()
        timer = None if timeout is None else loop.call_later(timeout, _expire, change)
        self._waiting.add(change)
        try:
            await change
        finally:
            self._waiting.discard(change)
            if timer is not None:
                timer.cancel()

    # -- for the event loop --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's transport is no subclass

    def data_received(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        if self._size >= _MAX_UNREAD and not self._is_paused:
            self._is_paused = True
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._has_ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_over = True
        if not isinstance(exc, ssl.SSLError):  # a close without TLS notice is still a close
            self.problem = exc
        self._wake()

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        self._wake()

    def _wake(self) -> None:
        for change in self._waiting:
            if not change.done():
                change.set_result(None)


def _expire(change: asyncio.Future[None]) -> None:
    if not change.done():
        change.set_exception(TimeoutError())


class GuardedNetworkBackend(AsyncNetworkBackend):
    """Dials only the addresses that `HostPolicy` allows."""

    def __init__(self, hosts: HostPolicy) -> None:
        self._hosts = hosts

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> AsyncNetworkStream:
        """Connect to the first address that answers.

        Raises:
            HostNotAllowed: one of the host's addresses is not allowed.
            httpcore2.ConnectError: the connection fails.
        """
        try:
            addresses = await self._hosts.addresses(host, port)
        except OSError as error:
            raise httpcore2.ConnectError("The name cannot be resolved.") from error
        options = _keep_alive(socket_options)
        problem: Exception = httpcore2.ConnectError("The name has no address.")
        for address in addresses[:_MAX_ADDRESSES]:
            try:
                return await open_tcp_stream(str(address), port, timeout, options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                problem = error
        raise problem

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> AsyncNetworkStream:
        """Refuse: no server is reached through a socket of the file system.

        Raises:
            httpcore2.ConnectError: always.
        """
        raise httpcore2.ConnectError("Sockets of the file system are not allowed.")

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        await asyncio.sleep(seconds)


def _keep_alive(given: Iterable[SocketOption] | None) -> list[SocketOption]:
    """Enable keep-alive: a stream may be silent for hours, and a peer that is gone is noticed."""
    options = [*(given or ()), (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    if hasattr(socket, "TCP_KEEPIDLE"):
        options.append((socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_SECONDS))
    return options
