"""Resolves names to addresses that may be reached, and refuses all others.

Every address that is not public unicast is refused, however it is written or wrapped, unless an
operator allows the host. Connect to the address returned here: a name that is resolved a second
time may lead elsewhere.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from yarl import URL

from dataagent_core.errors import HostNotAllowed

Address = IPv4Address | IPv6Address

_PUBLIC_V6 = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_CLOSED_V4 = (
    ipaddress.IPv4Network("100.64.0.0/10"),  # carrier NAT, and a cloud's metadata service
    ipaddress.IPv4Network("192.0.0.0/24"),  # protocol assignments, and a cloud's metadata service
    ipaddress.IPv4Network("192.88.99.0/24"),  # 6to4 relays
)
_CLOSED_V6 = (
    ipaddress.IPv6Network("2001::/23"),  # Teredo and other protocol assignments
    ipaddress.IPv6Network("2001:db8::/32"),
    ipaddress.IPv6Network("3fff::/20"),  # documentation
)
_MAX_URL = 8192
_ODD = re.compile(r"[\x00-\x20\x7f\\]")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")
_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?")


@dataclass(frozen=True, slots=True)
class Target:
    """A URL of valid form; whether its host may be reached depends on its addresses."""

    url: URL
    host: str
    port: int
    address: Address | None  # set when the host is written as an address

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port, which credentials belong to."""
        return (self.url.scheme, self.host, self.port)


def parse_target(text: str) -> Target:
    """Parse a URL and check its form.

    Raises:
        HostNotAllowed: not http(s), or spelled in a way that programs read differently.
    """
    if len(text) > _MAX_URL or _ODD.search(text):
        raise HostNotAllowed("The URL is too long or has characters that do not belong in one.")
    try:
        url = URL(text)
        host, port = url.raw_host, url.port
    except ValueError as error:
        raise HostNotAllowed("The URL cannot be understood.") from error
    if url.scheme not in ("http", "https") or not host or not port:
        raise HostNotAllowed("Only http:// and https:// URLs with a host can be reached.")
    if "@" in re.split(r"[/?#]", text.partition("//")[2], maxsplit=1)[0]:
        raise HostNotAllowed("URLs with a user name are refused. Put credentials in a header.")
    host = host.lower().rstrip(".")
    address = _literal(host)
    return Target(url.with_host(host), host, port, address)


def _literal(host: str) -> Address | None:
    """Return the address a host spells, or None for a name.

    Raises:
        HostNotAllowed: it is neither a plain address nor a plain name.
    """
    if ":" in host:
        if "%" in host:
            raise HostNotAllowed("Addresses with a zone are refused.")
        return _address(host)
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):  # browsers read any such host as an IPv4 address
        return _address(host)
    if len(host) > 253 or not all(_NAME.fullmatch(label) for label in labels):
        raise HostNotAllowed("The host is not a plain name.")
    return None


def _address(text: str) -> Address:
    try:
        return ipaddress.ip_address(text)
    except ValueError as error:
        raise HostNotAllowed("The host is an address in an unusual spelling.") from error


def is_public(address: Address) -> bool:
    """Whether an address is public, also after unwrapping."""
    if isinstance(address, IPv6Address):
        inner = _inner(address)
        if inner is not None:
            return is_public(inner)
        if address not in _PUBLIC_V6 or any(address in network for network in _CLOSED_V6):
            return False
    elif any(address in network for network in _CLOSED_V4):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _inner(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address inside a mapped, 6to4 or NAT64 one."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


Lookup = Callable[[str, int], Sequence[str]]
"""All addresses of a name, as text; may block. Raises `OSError` if there are none."""


class HostPolicy:
    """Decides which hosts may be reached. Owns threads; close it."""

    def __init__(
        self,
        allow_private_hosts: Sequence[str] = (),
        *,
        allow_all: bool = False,
        lookup: Lookup | None = None,
    ) -> None:
        """The hosts named (`host` or `host:port`) are allowed whatever their address.

        `allow_all` lets everything through: for a user's own machine.
        """
        self.allowed = frozenset(
            re.sub(r"[\[\]]", "", host.lower()) for host in allow_private_hosts
        )
        self.lookup = lookup or _getaddrinfo
        self._is_anything_open = allow_all
        self._threads = ThreadPoolExecutor(8, thread_name_prefix="names")

    def close(self) -> None:
        """Stop the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def check_url(self, url: str) -> Target:
        """Check a URL's form, and its host if that is an address.

        Raises:
            HostNotAllowed: it is not.
        """
        target = parse_target(url)
        address = target.address
        if address is None or is_public(address) or self.is_allowed(target.host, target.port):
            return target
        raise _closed(target.host)

    def is_allowed(self, host: str, port: int) -> bool:
        """Whether an operator allows the host whatever its address."""
        named = host.lower().rstrip(".")
        return self._is_anything_open or named in self.allowed or f"{named}:{port}" in self.allowed

    async def addresses(self, host: str, port: int) -> list[Address]:
        """Resolve a host to the addresses to connect to.

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
