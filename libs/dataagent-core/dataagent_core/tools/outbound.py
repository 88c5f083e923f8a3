"""The one HTTP client of tools: it reaches the open Internet and nothing behind it.

A model chooses the URLs, and whoever wrote what the model reads may have chosen them first. So
names are resolved here, every address is checked, and the connection goes to an address that was
checked. Each redirect is a new request with the same checks. No proxies or credentials from the
environment, no cookies, a size and a time limit. Above: the tools. Below: `address.py` holds the
rules.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from dataagent_core.errors import HostNotAllowed, ToolFailed
from dataagent_core.tools.address import Address, Target, is_public, parse_target

Lookup = Callable[[str, int], Sequence[str]]
"""All addresses of a name, as text; may block. Raises `OSError` if there are none."""

_MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OURS_TO_SET = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade"})
_CREDENTIALS = frozenset({"authorization", "cookie", "proxy-authorization"})


@dataclass(frozen=True, slots=True)
class Request:
    """What to send."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `is_cut` when the body is longer than what was read of it."""

    url: str
    status: int
    headers: dict[str, str]
    body: bytes
    is_cut: bool
    content_type: str
    charset: str

    def text(self) -> str:
        """The body as text."""
        try:
            return self.body.decode(self.charset, errors="replace")
        except LookupError:  # a charset nobody knows
            return self.body.decode(errors="replace")


class OutboundClient:
    """An async context manager; one object per process and event loop."""

    def __init__(
        self,
        *,
        allow_private_hosts: Sequence[str] = (),
        max_bytes: int = 5_000_000,
        timeout_seconds: float = 30.0,
        lookup: Lookup | None = None,
    ) -> None:
        """Let through, whatever their address, only the hosts named (`host` or `host:port`)."""
        self._allowed = frozenset(
            re.sub(r"[\[\]]", "", host.lower()) for host in allow_private_hosts
        )
        self._max_bytes = max_bytes
        self._timeout = timeout_seconds
        self._lookup = lookup or _getaddrinfo
        self._threads = ThreadPoolExecutor(8, thread_name_prefix="outbound")
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> OutboundClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close connections and threads."""
        if self._session is not None:
            await self._session.close()
            self._session = None
        self._threads.shutdown(wait=False, cancel_futures=True)

    def fresh(self) -> OutboundClient:
        """A client with the same rules and nothing open, for another event loop."""
        return OutboundClient(
            allow_private_hosts=tuple(self._allowed),
            max_bytes=self._max_bytes,
            timeout_seconds=self._timeout,
            lookup=self._lookup,
        )

    async def off_loop(self, work: Callable[[], str]) -> str:
        """Run parsing in a thread of ours."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def send(self, request: Request) -> Reply:
        """Send a request, follow its redirects, and read the answer.

        Raises:
            HostNotAllowed: the URL or a redirect leads where tools may not go.
            ToolFailed: no usable answer within the limits.
        """
        try:
            async with asyncio.timeout(self._timeout):
                return await self._follow(request)
        except TimeoutError as error:
            raise ToolFailed(f"No complete answer within {self._timeout:g} seconds.") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ToolFailed(f"The request failed: {_why(error)}.") from error

    async def _follow(self, request: Request) -> Reply:
        for _ in range(_MAX_REDIRECTS + 1):
            target = self._checked(request.url)
            outcome = await self._once(target, request)
            if isinstance(outcome, Reply):
                return outcome
            request = _redirected(request, target, outcome)
        raise ToolFailed(f"More than {_MAX_REDIRECTS} redirects.")

    async def _once(self, target: Target, request: Request) -> Reply | _Redirect:
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _OURS_TO_SET}
        async with self._open_session().request(
            request.method, target.url, headers=headers, data=request.body, allow_redirects=False
        ) as response:
            location = response.headers.get("Location")
            if response.status in _REDIRECTS and location:
                return _Redirect(response.status, location)
            body, is_cut = await _read(response, self._max_bytes)
            return Reply(
                url=str(target.url),
                status=response.status,
                headers={str(name): value for name, value in response.headers.items()},
                body=body,
                is_cut=is_cut,
                content_type=response.content_type,
                charset=response.charset or "utf-8",
            )

    def _checked(self, url: str) -> Target:
        target = parse_target(url)
        address = target.address
        if address is None or is_public(address) or self._is_allowed(target.host, target.port):
            return target
        raise _closed(target.host)

    def _is_allowed(self, host: str, port: int) -> bool:
        return host in self._allowed or f"{host}:{port}" in self._allowed

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            resolver = _CheckedResolver(self._lookup, self._is_allowed, self._threads)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(resolver=resolver, use_dns_cache=False),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
                headers={"User-Agent": "DataAgent"},
                trust_env=False,
            )
        return self._session


@dataclass(frozen=True, slots=True)
class _Redirect:
    status: int
    location: str


class _CheckedResolver(AbstractResolver):
    """Resolves a name and gives back its addresses only if every one of them is open."""

    def __init__(
        self, lookup: Lookup, is_allowed: Callable[[str, int], bool], threads: ThreadPoolExecutor
    ) -> None:
        self._lookup = lookup
        self._is_allowed = is_allowed
        self._threads = threads

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses to connect to.

        Raises:
            HostNotAllowed: one of them is closed to tools.
            OSError: there are none.
        """
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, self._lookup, host, port)
        addresses = [ipaddress.ip_address(text) for text in found]
        if not addresses:
            raise OSError("no address")
        name = host.lower().rstrip(".")
        if not self._is_allowed(name, port) and not all(map(is_public, addresses)):
            raise _closed(name)
        return [_result(host, port, address) for address in addresses]

    async def close(self) -> None:
        """Nothing to release."""


def _getaddrinfo(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]).partition("%")[0] for entry in found]


def _result(host: str, port: int, address: Address) -> ResolveResult:
    return ResolveResult(
        hostname=host,
        host=str(address),
        port=port,
        family=socket.AF_INET if address.version == 4 else socket.AF_INET6,
        proto=0,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )


def _redirected(request: Request, target: Target, redirect: _Redirect) -> Request:
    """The next request. Credentials stay behind when the origin changes."""
    try:
        url = str(target.url.join(URL(redirect.location)))
        is_same_origin = parse_target(url).origin == target.origin
    except ValueError as error:
        raise ToolFailed("The server redirects to something that is no URL.") from error
    dropped = frozenset[str]() if is_same_origin else _CREDENTIALS
    headers = {k: v for k, v in request.headers.items() if k.lower() not in dropped}
    becomes_get = redirect.status == 303 or (
        redirect.status in (301, 302) and request.method == "POST"
    )
    if becomes_get and request.method != "HEAD":
        return Request(url, "GET", headers)
    return Request(url, request.method, headers, request.body)


async def _read(response: aiohttp.ClientResponse, limit: int) -> tuple[bytes, bool]:
    body = bytearray()
    async for chunk in response.content.iter_chunked(65536):
        body += chunk
        if len(body) > limit:
            response.close()
            return bytes(body[:limit]), True
    return bytes(body), False


def _closed(host: str) -> HostNotAllowed:
    return HostNotAllowed(
        f"'{host[:200]}' is closed to tools: it is not an address of the open Internet. "
        "An operator can open a host with DATAAGENT_ALLOW_PRIVATE_HOSTS."
    )


def _why(error: Exception) -> str:
    """The kind of failure, without addresses or paths of ours."""
    match error:
        case aiohttp.ClientConnectorDNSError():
            return "the host name is unknown"
        case aiohttp.ClientSSLError():
            return "the server's certificate is not valid"
        case aiohttp.ClientConnectorError():
            return "the server cannot be reached"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError():
            return "the server broke off"
        case ValueError():
            return "a header or the method is not valid"
        case _:
            return type(error).__name__
