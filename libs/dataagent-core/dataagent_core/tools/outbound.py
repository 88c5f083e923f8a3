"""The HTTP client of tools, which reaches the open Internet and nothing behind it.

A model chooses the URLs, and a page that it read may have suggested them. So names are resolved
here, every address is checked, and the connection goes to an address that was checked. Each
redirect is a new request with the same checks. No proxies or credentials from the environment, no
cookies, a size and a time limit.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool
from pydantic import ConfigDict, Field
from yarl import URL

from dataagent_core.config.loop_shutdown import CloseHandle, close_with_loop
from dataagent_core.errors import DataAgentError, Misconfigured, ToolFailed
from dataagent_core.network import HostPolicy, Lookup, Target, parse_target
from dataagent_core.network.sites import is_on, is_same_site
from dataagent_core.workspace import run_context
from dataagent_core.workspace.workers import run_blocking

if TYPE_CHECKING:
    import aiohttp
else:
    from dataagent_core.config.lazy_modules import LazyModule

    aiohttp = LazyModule("aiohttp")


MayFollow = Callable[[str, str], bool]
"""Whether a redirect from the first address to the second may be followed."""

_MAX_REDIRECTS = 5
_MAX_SHOWN_URL = 2000
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_RESERVED_HEADERS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "upgrade"}
)
_SAFE_HEADERS = frozenset(  # any other header may be a key: each service has its own name for it
    {
        "accept",
        "accept-charset",
        "accept-encoding",
        "accept-language",
        "cache-control",
        "content-encoding",
        "content-language",
        "content-type",
        "if-modified-since",
        "if-none-match",
        "pragma",
        "range",
        "user-agent",
    }
)


@dataclass(frozen=True, slots=True)
class Request:
    """A request to send."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A response. `is_cut` when the body is longer than the part that was read."""

    url: str
    status: int
    headers: dict[str, str]
    body: bytes
    is_cut: bool
    content_type: str
    charset: str | None  # as the server says

    def text(self) -> str:
        """The body as text."""
        try:
            return self.body.decode(self.charset or "utf-8", errors="replace")
        except LookupError:  # an unknown charset
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
        self._hosts = HostPolicy(allow_private_hosts, lookup=lookup)
        self._max_bytes = max_bytes
        self._timeout = timeout_seconds
        self._session: aiohttp.ClientSession | None = None
        self._ending: CloseHandle | None = None

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
        """Close connections and what looks names up."""
        if self._ending is not None:
            await self._ending.aclose()
            self._session = self._ending = None
        self._hosts.close()

    def fresh(self) -> OutboundClient:
        """A client with the same rules and nothing open, for another event loop."""
        return OutboundClient(
            allow_private_hosts=tuple(self._hosts.allowed),
            max_bytes=self._max_bytes,
            timeout_seconds=self._timeout,
            lookup=self._hosts.lookup,
        )

    async def send(self, request: Request, may_follow: MayFollow | None = None) -> Reply:
        """Send a request, follow its redirects, and read the answer.

        A redirect that `may_follow` says no to is not followed; without it, any is.

        Raises:
            HostNotAllowed: the URL or a redirect leads where tools may not go.
            ToolFailed: no usable answer within the limits, or a redirect that is not followed.
        """
        try:
            async with asyncio.timeout(self._timeout):
                return await self._follow(request, may_follow)
        except TimeoutError as error:
            raise ToolFailed(f"No complete answer within {self._timeout:g} seconds.") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ToolFailed(f"The request failed: {_failure_reason(error)}.") from error

    async def _follow(self, request: Request, may_follow: MayFollow | None) -> Reply:
        for _ in range(_MAX_REDIRECTS + 1):
            target = self._hosts.check_url(request.url)
            outcome = await self._send_once(target, request)
            if isinstance(outcome, Reply):
                return outcome
            request = _next_request(request, target, outcome)
            if may_follow is not None and not may_follow(str(target.url), request.url):
                raise ToolFailed(
                    f"The server redirects to another one: {request.url[:_MAX_SHOWN_URL]} "
                    "Call the tool with that address if you need it."
                )
        raise ToolFailed(f"More than {_MAX_REDIRECTS} redirects.")

    async def _send_once(self, target: Target, request: Request) -> Reply | _Redirect:
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _RESERVED_HEADERS}
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
                charset=response.charset,
            )

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            from dataagent_core.network.resolver import CheckedResolver

            resolver = CheckedResolver(self._hosts)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(resolver=resolver, use_dns_cache=False),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
                headers={"User-Agent": "DataAgent"},
                trust_env=False,
            )
            self._ending = close_with_loop(self._session.close)
        return self._session


@dataclass(frozen=True, slots=True)
class _Redirect:
    status: int
    location: str


def _next_request(request: Request, target: Target, redirect: _Redirect) -> Request:
    """The next request, without headers that may be credentials if the origin changes."""
    try:
        url = str(target.url.join(URL(redirect.location)))
        is_same_origin = parse_target(url).origin == target.origin
    except ValueError as error:
        raise ToolFailed("The server redirects to something that is no URL.") from error
    headers = {
        name: value
        for name, value in request.headers.items()
        if is_same_origin or name.lower() in _SAFE_HEADERS
    }
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


def _failure_reason(error: Exception) -> str:
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


class OutboundTool(BaseTool):
    """A tool over the outbound client; subclasses implement `work`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: OutboundClient = Field(exclude=True)
    is_standalone: bool = False
    """Whether a failure is returned as the result, because no middleware does that."""

    @abstractmethod
    async def work(self, client: OutboundClient, **arguments: Any) -> str:
        """Do the tool's work with this client."""

    async def _arun(self, **arguments: Any) -> str:
        return await self._run_with(self.client, arguments)

    async def _run_with(self, client: OutboundClient, arguments: dict[str, Any]) -> str:
        try:
            return await self.work(client, **arguments)
        except DataAgentError as error:
            if self.is_standalone:
                return f"Error: {error.message}"
            raise

    def _run(self, **arguments: Any) -> str:
        return run_blocking(self._run_standalone(arguments))

    async def _run_standalone(self, arguments: dict[str, Any]) -> str:
        async with self.client.fresh() as client:
            return await self._run_with(client, arguments)


def redirect_policy(tool_name: str, allowed_hosts: Sequence[str] = ()) -> MayFollow | None:
    """Which redirects a tool follows in this run; None: all of them.

    A person approved a request to one server. So another one is reached only if it is an allowed
    host, or if the run asks no one about the tool.
    """
    try:
        context = run_context()
    except Misconfigured:  # outside of a run no one is asked
        return None
    if context.auto_approve or context.rules.allows(tool_name):
        return None
    return lambda here, there: is_same_site(here, there) or is_on(there, allowed_hosts)


def truncate(text: str, limit: int) -> str:
    """The text, or its beginning and how much is missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[cut: {limit} of {len(text)} characters shown]"
