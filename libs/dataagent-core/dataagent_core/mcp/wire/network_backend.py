"""Opens the TCP connections of the HTTP client, to addresses that may be reached and no others.

The client asks for a host by name; the name is resolved once, here, by `HostPolicy`, and what it
gave is what is dialled: a name that answers differently the second time leads nowhere. The
certificate is still checked against the name.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable

import httpcore2
from httpcore2 import AsyncNetworkBackend, AsyncNetworkStream

from dataagent_core.mcp.wire.tcp import SocketOption, open_tcp_stream
from dataagent_core.network import HostPolicy

_MOST_ADDRESSES = 4
_QUIET_SECONDS = 60


class GuardedNetworkBackend(AsyncNetworkBackend):
    """Dials only what `HostPolicy` lets through."""

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
            HostNotAllowed: one of the host's addresses is closed.
            httpcore2.ConnectError: nobody answers.
        """
        try:
            addresses = await self._hosts.addresses(host, port)
        except OSError as error:
            raise httpcore2.ConnectError("The name cannot be resolved.") from error
        options = _keep_alive(socket_options)
        problem: Exception = httpcore2.ConnectError("There is no address.")
        for address in addresses[:_MOST_ADDRESSES]:
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
        """No server is reached this way.

        Raises:
            httpcore2.ConnectError: always.
        """
        raise httpcore2.ConnectError("Sockets of the file system are closed.")

    async def sleep(self, seconds: float) -> None:
        """As the client asks."""
        await asyncio.sleep(seconds)


def _keep_alive(given: Iterable[SocketOption] | None) -> list[SocketOption]:
    """A stream may be silent for hours: a peer that is gone is noticed all the same."""
    options = [*(given or ()), (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    if hasattr(socket, "TCP_KEEPIDLE"):
        options.append((socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _QUIET_SECONDS))
    return options
