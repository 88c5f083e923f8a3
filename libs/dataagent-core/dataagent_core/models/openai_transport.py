"""One POST to a model's endpoint, whose answer is read as it arrives.

Connections are shared by all calls on an event loop. A request is repeated only while nothing of
its answer has arrived. Leaving the block closes the answer, so a cancelled call leaves no request
open.
Errors are translated into ours and never contain the key.
"""

from __future__ import annotations

import asyncio
import email.utils
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

import aiohttp
import orjson
from yarl import URL

from dataagent_core.config.loop_shutdown import CloseHandle, close_with_loop
from dataagent_core.errors import DataAgentError, ModelRefused, ModelUnavailable
from dataagent_core.models.failures import is_retryable, refusal
from dataagent_protocol.backoff import backoff_seconds

_LONGEST_WAIT: Final = 60.0
"""A server that wants a longer pause than this is not waited for."""
_LONGEST_BACKOFF: Final = 8.0
_END_GRACE: Final = 0.25
"""How long a finished answer may take to close, so that its connection can be kept."""
_ERROR_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is and how patient we are with it. Times are in seconds."""

    url: URL
    headers: Mapping[str, str] = field(repr=False)
    connect_timeout: float
    idle_timeout: float
    max_retries: int
    retry_base: float
    trusts_env: bool

    @property
    def name(self) -> str:
        """The address without path or login, for messages."""
        return str(self.url.origin())


class Transport:
    """Sends requests to one endpoint; one pool of connections for each event loop."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._proxy, self._proxy_auth = _proxy_for(endpoint)
        self._sessions: WeakKeyDictionary[
            asyncio.AbstractEventLoop, tuple[aiohttp.ClientSession, CloseHandle]
        ] = WeakKeyDictionary()

    async def aclose(self) -> None:
        """Close this loop's connections. The next call opens new ones."""
        opened = self._sessions.pop(asyncio.get_running_loop(), None)
        if opened is not None:
            _session, ending = opened
            await ending.aclose()

    @asynccontextmanager
    async def post(self, body: bytes) -> AsyncGenerator[aiohttp.ClientResponse]:
        """Send `body`; the answer is open, with a good status, within this block.

        Raises:
            ModelUnavailable: no connection, or a status that may change, after all retries.
            ModelRefused: any other status.
        """
        response = await self._accepted(body)
        try:
            yield response
            await _finish(response)
        finally:
            response.close()

    async def read(self, response: aiohttp.ClientResponse) -> bytes:
        """What has arrived since the last read, waiting for it; empty at the end.

        Raises:
            ModelUnavailable: the connection broke, or nothing came for too long.
        """
        try:
            return await response.content.readany()
        except aiohttp.SocketTimeoutError as error:
            raise self._silent() from error
        except (aiohttp.ClientError, OSError) as error:
            raise ModelUnavailable(
                f"The connection to the model at {self._endpoint.name} broke in mid-answer."
            ) from error

    async def _accepted(self, body: bytes) -> aiohttp.ClientResponse:
        attempt = 0
        while True:
            outcome = await self._attempt(body)
            if isinstance(outcome, aiohttp.ClientResponse):
                return outcome
            if not outcome.may_retry or attempt >= self._endpoint.max_retries:
                raise outcome.error from outcome.cause
            pause = backoff_seconds(
                attempt + 1,
                first_seconds=self._endpoint.retry_base,
                max_seconds=_LONGEST_BACKOFF,
            )
            await asyncio.sleep(outcome.wait_seconds or pause)
            attempt += 1

    async def _attempt(self, body: bytes) -> aiohttp.ClientResponse | _Failure:
        try:
            response = await self._session().post(
                self._endpoint.url,
                data=body,
                headers=self._endpoint.headers,
                allow_redirects=False,
                proxy=self._proxy,
                proxy_auth=self._proxy_auth,
            )
        except aiohttp.SocketTimeoutError as error:
            return _Failure(self._silent(), cause=error)
        except (aiohttp.ClientError, OSError) as error:
            return _Failure(self._unreachable(error), may_retry=True, cause=error)
        if response.status < 300:
            return response
        try:
            return await self._refused(response)
        finally:
            response.close()

    async def _refused(self, response: aiohttp.ClientResponse) -> _Failure:
        if response.status < 400:
            return _Failure(
                ModelRefused(
                    f"The model's address {self._endpoint.name} redirects to another "
                    f"(HTTP {response.status}). Set the provider's base URL to where it leads."
                )
            )
        try:
            said = _error_text(await response.content.read(_ERROR_BYTES))
        except (aiohttp.ClientError, OSError):
            said = ""
        error = refusal(response.status, said)
        wait = _retry_after(response.headers)
        may_retry = isinstance(error, ModelUnavailable) and is_retryable(response.status)
        return _Failure(error, may_retry=may_retry and wait <= _LONGEST_WAIT, wait_seconds=wait)

    def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        opened = self._sessions.get(loop)
        if opened is None or opened[0].closed:
            session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
                timeout=aiohttp.ClientTimeout(
                    sock_connect=self._endpoint.connect_timeout,
                    sock_read=self._endpoint.idle_timeout,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
            opened = self._sessions[loop] = (session, close_with_loop(session.close))
        return opened[0]

    def _silent(self) -> ModelUnavailable:
        return ModelUnavailable(
            f"The model at {self._endpoint.name} sent nothing for "
            f"{self._endpoint.idle_timeout:g} seconds (DATAAGENT_MODEL_TIMEOUT)."
        )

    def _unreachable(self, error: Exception) -> ModelUnavailable:
        return ModelUnavailable(
            f"Cannot reach the model at {self._endpoint.name} ({type(error).__name__}). "
            "Check the address, the network and whether the server is running."
        )


@dataclass(frozen=True, slots=True)
class _Failure:
    """A request that got no answer, and whether it may get one if sent again."""

    error: DataAgentError
    may_retry: bool = False
    wait_seconds: float = 0.0
    cause: Exception | None = None


async def _finish(response: aiohttp.ClientResponse) -> None:
    """Read to the end of a finished answer, so that its connection can be used again."""
    try:
        async with asyncio.timeout(_END_GRACE):
            await response.read()
    except (TimeoutError, aiohttp.ClientError, OSError):
        return
    response.release()


def _error_text(body: bytes) -> str:
    """What an error's body says: the message and code of its JSON, or the body itself."""
    try:
        error = orjson.loads(body)["error"]
        return f"{error['message']} {error.get('code') or ''}".strip()
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return body.decode("utf-8", "replace")


def _retry_after(headers: Mapping[str, str]) -> float:
    """Seconds the server asks us to wait; 0 if it does not say."""
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    asked = headers.get("Retry-After")
    if (seconds := _number(asked)) is not None:
        return seconds
    date = email.utils.parsedate_tz(asked) if asked else None
    return max(0.0, email.utils.mktime_tz(date) - time.time()) if date else 0.0


def _number(text: str | None) -> float | None:
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        return None


def _proxy_for(endpoint: Endpoint) -> tuple[URL | None, aiohttp.BasicAuth | None]:
    """The proxy the environment names for this address; never one for this machine itself."""
    host = endpoint.url.host or ""
    if not endpoint.trusts_env or host in ("localhost", "127.0.0.1", "::1"):
        return None, None
    named = getproxies().get(endpoint.url.scheme)
    if not named or proxy_bypass(host):
        return None, None
    proxy = URL(named)
    login = aiohttp.BasicAuth(proxy.user, proxy.password or "") if proxy.user else None
    return proxy.with_user(None), login
