"""The HTTP client of one session: the server's headers, shared TLS context, checked addresses.

It is `httpx2`, because the SDK's transports take nothing else; the rest of the core uses `aiohttp`,
and the client library `httpx`. A failed request is answered with a JSON-RPC error of one of our
codes, so that the SDK fails that request and not the session. Responses have a limit in bytes;
compressed ones are refused, since their size is unknown before they are unpacked. Sessions never
share a client, so headers of two users cannot mix.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from functools import cache

import httpcore2
import httpx2
import orjson

from dataagent_core.errors import HostNotAllowed
from dataagent_core.mcp.types import ServerSpec
from dataagent_core.mcp.wire import failures
from dataagent_core.mcp.wire.interface import SessionSignals, WireLimits
from dataagent_core.mcp.wire.tcp import GuardedNetworkBackend
from dataagent_core.network import HostPolicy

_EVENTS = b"text/event-stream"
_BREAKS = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException)
_CANCELLED = b'"notifications/cancelled"'
_MOST_REFUSAL = 64 * 1024
_NOTICE_SECONDS = 5.0
_CLOSE_SECONDS = 1.0
_SPARE_CONNECTIONS = 4
_STATUS: dict[int, tuple[int, str]] = {
    401: (failures.UNAUTHORIZED, "The server wants other credentials (401)."),
    403: (failures.FORBIDDEN, "The server refuses these credentials (403)."),
    429: (failures.RATE_LIMITED, "The server takes no more calls for now (429)."),
}


@cache
def tls_context() -> ssl.SSLContext:
    """Return the TLS context of the process: creating one costs 27 ms and a megabyte."""
    return httpx2.create_ssl_context()


def http_client(
    spec: ServerSpec, *, hosts: HostPolicy, signals: SessionSignals, limits: WireLimits
) -> tuple[httpx2.AsyncClient, ServerTransport]:
    """Return a client for one session, and its transport."""
    transport = ServerTransport(_pool(spec, hosts), signals, limits)
    headers = {name: value.get_secret_value() for name, value in spec.headers.items()}
    seconds = spec.connect_timeout_seconds
    longest = max(300.0, spec.call_timeout_seconds + 60.0)
    client = httpx2.AsyncClient(
        transport=transport,
        headers={"accept-encoding": "identity", **headers},
        timeout=httpx2.Timeout(seconds, read=longest),
        trust_env=False,
        follow_redirects=False,
    )
    return client, transport


def _pool(spec: ServerSpec, hosts: HostPolicy) -> httpcore2.AsyncConnectionPool:
    connections = spec.max_concurrency + _SPARE_CONNECTIONS
    dialler = GuardedNetworkBackend(hosts)
    if spec.proxy_url is None:
        return httpcore2.AsyncConnectionPool(
            ssl_context=tls_context(),
            max_connections=connections,
            max_keepalive_connections=connections,
            keepalive_expiry=30.0,
            network_backend=dialler,
        )
    proxy = httpx2.Proxy(spec.proxy_url)
    return httpcore2.AsyncHTTPProxy(
        proxy_url=httpcore2.URL(
            scheme=proxy.url.raw_scheme,
            host=proxy.url.raw_host,
            port=proxy.url.port,
            target=b"/",
        ),
        proxy_auth=proxy.raw_auth,
        ssl_context=tls_context(),
        proxy_ssl_context=tls_context() if proxy.url.scheme == "https" else None,
        max_connections=connections,
        max_keepalive_connections=connections,
        keepalive_expiry=30.0,
        network_backend=dialler,
    )


class ServerTransport(httpx2.AsyncBaseTransport):
    """Sends one server's requests and turns failures into responses."""

    def __init__(
        self, pool: httpcore2.AsyncConnectionPool, signals: SessionSignals, limits: WireLimits
    ) -> None:
        self._pool = pool
        self._signals = signals
        self._limits = limits
        self._background: set[asyncio.Task[httpx2.Response]] = set()
        self.last_refusal: int | None = None
        """The last status of 400 or more."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; never raises for what the network or the server does."""
        await request.aread()  # one that follows a redirect comes with its content unread
        has_id = _has_id(request)
        _set_timeouts(request, has_id=has_id)
        if request.method == "POST" and not has_id and _CANCELLED in request.content[:256]:
            self._send_in_background(request)
            return httpx2.Response(202)
        return await self._request(request)

    def _send_in_background(self, request: httpx2.Request) -> None:
        """Send a cancellation without waiting: a hung server would delay what follows."""
        task = asyncio.create_task(self._request(request))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self._send(request)
        except HostNotAllowed as error:
            return _json_response(failures.NOT_OPEN, str(error))
        except (httpcore2.ConnectError, httpcore2.ConnectTimeout, httpcore2.PoolTimeout):
            self._signals.note_suspect()
            return _json_response(failures.UNREACHABLE, "The server cannot be reached.")
        except (httpcore2.ProxyError, httpcore2.UnsupportedProtocol):
            return _json_response(
                failures.UNREACHABLE, "The proxy does not let the request through."
            )
        except _BREAKS:
            self._signals.note_suspect()
            return _json_response(failures.BROKEN, "The server broke the connection off.")
        return await self._check_response(request, response)

    async def _send(self, request: httpx2.Request) -> httpcore2.Response:
        url = request.url
        return await self._pool.handle_async_request(
            httpcore2.Request(
                method=request.method,
                url=httpcore2.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )

    async def _check_response(
        self, request: httpx2.Request, answer: httpcore2.Response
    ) -> httpx2.Response:
        stream = _WatchedStream(answer, self._signals.note_suspect)
        if _header(answer, b"content-encoding", b"identity") != b"identity":
            await stream.aclose()
            return _json_response(
                failures.HTTP_ERROR, "The server compresses though it was asked not to."
            )
        if answer.status >= 400:
            self.last_refusal = answer.status
            return await _error_response(request, answer.status, stream)
        if request.method != "POST" or _header(answer, b"content-type").startswith(_EVENTS):
            return httpx2.Response(answer.status, headers=answer.headers, stream=stream)
        return await self._read_whole(answer, stream)

    async def _read_whole(
        self, answer: httpcore2.Response, stream: _WatchedStream
    ) -> httpx2.Response:
        """Read a response that is not a stream, up to the limit."""
        try:
            body = await stream.read(self._limits.max_message_bytes)
        except httpx2.StreamError:
            return _json_response(failures.BROKEN, "The server broke its answer off.")
        if body is None:
            return _json_response(failures.TOO_LARGE, "The server's answer is larger than allowed.")
        headers = [(k, v) for k, v in answer.headers if k.lower() not in _BODY_HEADERS]
        return httpx2.Response(answer.status, headers=headers, content=body)

    async def aclose(self) -> None:
        """Close all connections."""
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self._pool.aclose()


_BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding"})


class _WatchedStream(httpx2.AsyncByteStream):
    """A response's bytes; a broken connection is signalled to the session's owner."""

    def __init__(self, answer: httpcore2.Response, on_break: Callable[[], None]) -> None:
        self._answer = answer
        self._on_break = on_break

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._answer.aiter_stream():
                yield part
        except _BREAKS:
            self._on_break()
            raise httpx2.StreamError("The server broke its answer off.") from None

    async def read(self, most_bytes: int) -> bytes | None:
        """Read the whole response; None if it is too large."""
        parts: list[bytes] = []
        size = 0
        try:
            async for part in self._answer.aiter_stream():
                size += len(part)
                if size > most_bytes:
                    return None
                parts.append(part)
        except _BREAKS:
            self._on_break()
            raise httpx2.StreamError("The server broke its answer off.") from None
        finally:
            await self.aclose()
        return b"".join(parts)

    async def aclose(self) -> None:
        await self._answer.aclose()


def _set_timeouts(request: httpx2.Request, *, has_id: bool) -> None:
    """Set the timeouts: streams may be silent for long, notifications must not block."""
    timeout = dict(request.extensions.get("timeout") or {})
    if request.method == "GET" or request.headers.get("mcp-method") == "subscriptions/listen":
        timeout["read"] = None
    elif request.method == "DELETE":  # the end of a session, which is not waited for
        timeout = dict.fromkeys(timeout, _CLOSE_SECONDS)
    elif request.method == "POST" and not has_id:
        timeout["read"] = _NOTICE_SECONDS
    request.extensions = {**request.extensions, "timeout": timeout}


def _has_id(request: httpx2.Request) -> bool:
    """Whether the message expects a response; the SDK writes id and method before arguments."""
    return b'"id":' in request.content[:256]


def _header(answer: httpcore2.Response, name: bytes, otherwise: bytes = b"") -> bytes:
    """Return a header's value in lower case."""
    found = [value for key, value in answer.headers if key.lower() == name]
    return b", ".join(found).strip().lower() or otherwise


async def _error_response(
    request: httpx2.Request, status: int, stream: _WatchedStream
) -> httpx2.Response:
    """Return a refusal as a JSON-RPC error: the server's own, or else ours."""
    try:
        body = await stream.read(_MOST_REFUSAL)
    except httpx2.StreamError:
        body = None
    if status in _STATUS:
        return _json_response(*_STATUS[status], status=status)
    if body is not None and _is_error(body):
        kept = {"content-type": "application/json"}
        return httpx2.Response(status, headers=kept, content=body)
    if status == 404 and "mcp-session-id" in request.headers:
        return _json_response(
            failures.SESSION_GONE, "The server forgot the session.", status=status
        )
    return _json_response(
        failures.HTTP_ERROR, f"The server answered with HTTP {status}.", status=status
    )


def _is_error(body: bytes) -> bool:
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    match message:
        case {"error": {}}:
            return True
        case _:
            return False


def _json_response(code: int, message: str, *, status: int = 503) -> httpx2.Response:
    return httpx2.Response(
        status,
        headers={"content-type": "application/json"},
        content=orjson.dumps(failures.error_body(code, message)),
    )
