"""Resolves names and gives back their addresses only if every one of them may be reached.

Whoever connects must connect to an address it got here: a name that is resolved a second time may
lead elsewhere. Above: `tools/outbound.py`, `mcp/`. Below: `address.py` holds the rules.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from dataagent_core.errors import HostNotAllowed
from dataagent_core.network.address import Address, Target, is_public, parse_target

Lookup = Callable[[str, int], Sequence[str]]
"""All addresses of a name, as text; may block. Raises `OSError` if there are none."""


class HostPolicy:
    """Which hosts may be reached. Holds threads; close it when done."""

    def __init__(
        self,
        allow_private_hosts: Sequence[str] = (),
        *,
        allow_all: bool = False,
        lookup: Lookup | None = None,
    ) -> None:
        """Let through, whatever their address, only the hosts named (`host` or `host:port`).

        `allow_all` lets everything through: for a user's own machine.
        """
        self.allowed = frozenset(
            re.sub(r"[\[\]]", "", host.lower()) for host in allow_private_hosts
        )
        self.lookup = lookup or _getaddrinfo
        self._is_anything_open = allow_all
        self._threads = ThreadPoolExecutor(8, thread_name_prefix="names")

    def close(self) -> None:
        """Let the threads go."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def check_url(self, url: str) -> Target:
        """A URL that may be tried: of a good form, and not an address that is closed.

        Raises:
            HostNotAllowed: it is not.
        """
        target = parse_target(url)
        address = target.address
        if address is None or is_public(address) or self.is_allowed(target.host, target.port):
            return target
        raise _closed(target.host)

    def is_allowed(self, host: str, port: int) -> bool:
        """Whether an operator lets the host through whatever its address."""
        named = host.lower().rstrip(".")
        return self._is_anything_open or named in self.allowed or f"{named}:{port}" in self.allowed

    async def addresses(self, host: str, port: int) -> list[Address]:
        """The addresses to connect to.

        Raises:
            HostNotAllowed: one of them is closed.
            OSError: there are none.
        """
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, self.lookup, host, port)
        addresses = [ipaddress.ip_address(text) for text in found]
        if not addresses:
            raise OSError("no address")
        if not self.is_allowed(host, port) and not all(map(is_public, addresses)):
            raise _closed(host.lower().rstrip("."))
        return addresses


def _getaddrinfo(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]).partition("%")[0] for entry in found]


def _closed(host: str) -> HostNotAllowed:
    return HostNotAllowed(
        f"'{host[:200]}' is closed to tools: it is not an address of the open Internet. "
        "An operator can open a host with DATAAGENT_ALLOW_PRIVATE_HOSTS."
    )
