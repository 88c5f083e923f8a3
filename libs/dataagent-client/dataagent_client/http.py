"""Requests to the REST API, their retries and errors; httpx's exceptions are translated here.

Only requests that are safe to send twice are repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import IO, Any, Literal
from urllib.parse import quote, urlsplit

import httpx
import orjson

from dataagent_client.errors import (
    ApiError,
    ClientError,
    ConnectionFailed,
    ProtocolError,
    TimedOut,
    UnavailableError,
    error_from_response,
)
from dataagent_client.wire import encode_body
from dataagent_protocol.backoff import backoff_seconds


@dataclass(frozen=True, slots=True)
class Backoff:
    """Growing pauses with jitter; `attempts` failures in a row and it is over."""

    first_seconds: float = 0.2
    factor: float = 2.0
    most_seconds: float = 10.0
    attempts: int = 8

    def pause(self, failures: int, *, retry_after: float | None = None) -> float | None:
        """Seconds to wait after the n-th failure in a row; None when it is time to give up.

        What the server asks for (`Retry-After`) is the least that is waited.
        """
        if failures >= self.attempts:
            return None
        seconds = backoff_seconds(
            failures,
            first_seconds=self.first_seconds,
            max_seconds=self.most_seconds,
            factor=self.factor,
        )
        return max(seconds, retry_after or 0.0)


_API_PREFIX = "v1/"
_CREDENTIALS = ("X-API-Key", "Authorization")
_Field = tuple[str | None, bytes | IO[bytes]]  # its file's name, and what it has
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file of a form."""

    filename: str
    content: bytes | IO[bytes]


class Http:
    """A connection pool to one server, with the caller's credentials."""

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str],
        timeout_seconds: float,
        backoff: Backoff,
    ) -> None:
        """Prepare the pool. `ClientError` if `base_url` is no http(s) address."""
        self._client = httpx.AsyncClient(
            base_url=_address(base_url).rstrip("/") + "/api/",
            headers=dict(headers),
            timeout=timeout_seconds,
        )
        self._given = dict(headers)
        self._origin = "{0.scheme}://{0.netloc}".format(urlsplit(base_url))
        self._backoff = backoff

    async def aclose(self) -> None:
        """Close the pool."""
        await self._client.aclose()

    def credentials(self) -> dict[str, str]:
        """The headers that say who asks. A login's cookie counts with the page it comes from."""
        login = "; ".join(f"{each.name}={each.value}" for each in self._client.cookies.jar)
        return self._given | ({"Cookie": login, "Origin": self._origin} if login else {})

    def refuse_two_credentials(self) -> None:
        """Raise `ClientError` if a login would not count, because a key or a token does."""
        if any(name in self._given for name in _CREDENTIALS):
            raise ClientError("The client has a key or a token. Log in with one that has neither.")

    async def request(
        self,
        method: Method,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        is_repeatable: bool | None = None,
        has_time: bool = False,
        is_web: bool = False,
    ) -> Any:
        """The response's JSON, None for an empty one. `is_web` uses the web app's API.

        `is_repeatable` says that sending it twice does no harm (by default only for GET); such a
        request is sent again when the connection fails or the server is not available. With
        `has_time` the answer may take as long as it takes.

        Raises:
            ApiError: the server refused.
            ConnectionFailed: the server cannot be reached.
        """
        repeatable = method == "GET" if is_repeatable is None else is_repeatable
        failures = 0
        path = path if is_web else f"{_API_PREFIX}{path}"
        while True:
            try:
                return await self._send_once(method, path, body, params, has_time=has_time)
            except (ConnectionFailed, UnavailableError) as error:
                failures += 1
                retry_after = error.retry_after if isinstance(error, ApiError) else None
                pause = self._backoff.pause(failures, retry_after=retry_after)
                if not repeatable or pause is None:
                    raise
                await asyncio.sleep(pause)

    async def _send_once(
        self,
        method: Method,
        path: str,
        body: Mapping[str, Any] | None,
        params: Mapping[str, Any] | None,
        *,
        has_time: bool,
    ) -> Any:
        request = self._request(method, path, body=body, params=params)
        if has_time:
            request.extensions["timeout"]["read"] = None
        return await self._answer(request)

    async def send_form(
        self,
        path: str,
        parts: Sequence[FilePart],
        *,
        fields: Mapping[str, str | Sequence[str] | None] | None = None,
        is_web: bool = False,
    ) -> Any:
        """Send files, each in a field `file`; the answer's JSON. Never sent twice.

        Raises:
            ApiError: the server refused.
            ConnectionFailed: the server cannot be reached.
        """
        files: list[tuple[str, _Field]] = [
            ("file", (part.filename, part.content)) for part in parts
        ]
        request = self._client.build_request(
            "POST",
            path if is_web else f"{_API_PREFIX}{path}",
            files=[*_form_fields(fields or {}), *files],
            headers=self.credentials(),
        )
        return await self._answer(request)

    async def _answer(self, request: httpx.Request) -> Any:
        with _TranslateErrors():
            response = await self._client.send(request)
        if not response.is_success:
            raise error_from_response(response.status_code, response.headers, response.content)
        return _json(response.content)

    def _request(
        self,
        method: Method,
        path: str,
        *,
        body: Mapping[str, Any] | None,
        params: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Request:
        content = None if body is None else encode_body(_without_none(body))
        kind = {} if content is None else {"content-type": "application/json"}
        return self._client.build_request(
            method,
            path,
            content=content,
            params=_without_none(params or {}),
            headers=self.credentials() | kind | dict(headers or {}),
        )

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        *,
        method: Method = "GET",
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        is_web: bool = False,
    ) -> AsyncGenerator[AsyncGenerator[bytes]]:
        """The bytes of a long answer, as they arrive: a file, or server-sent events.

        Raises:
            ApiError: the server refused.
            ConnectionFailed: the server cannot be reached, or the connection broke.
        """
        path = path if is_web else f"{_API_PREFIX}{path}"
        request = self._request(method, path, body=body, params=params, headers=headers)
        with _TranslateErrors():
            response = await self._client.send(request, stream=True)
        try:
            if not response.is_success:
                with _TranslateErrors():
                    refusal = await response.aread()
                raise error_from_response(response.status_code, response.headers, refusal)
            async with aclosing(_chunks(response)) as chunks:
                yield chunks
        finally:
            await response.aclose()


def _address(base_url: str) -> str:
    try:
        address = httpx.URL(base_url)
        is_one = address.scheme in ("http", "https") and bool(urlsplit(base_url).hostname)
    except (httpx.InvalidURL, ValueError):
        is_one = False
    if not is_one:
        raise ClientError(f"{base_url!r} is no server address. Use http:// or https://.")
    return base_url


def child_path(path: str, name: str) -> str:
    """One of a list, whatever is in its name."""
    return f"{path}/{quote(name, safe='')}"


async def _chunks(response: httpx.Response) -> AsyncGenerator[bytes]:
    with _TranslateErrors():
        async for chunk in response.aiter_bytes():
            yield chunk


class _TranslateErrors:
    """Turns httpx's errors into ours; those of the transport are `ConnectionFailed`."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol):
            raise ClientError("The request cannot be sent as it is.") from error
        if isinstance(error, httpx.DecodingError):
            raise ProtocolError(f"The server's answer cannot be unpacked: {error}.") from error
        if isinstance(error, httpx.TimeoutException):
            raise TimedOut("The server did not answer in time.") from error
        if isinstance(error, httpx.TransportError):
            reason = str(error) or type(error).__name__
            raise ConnectionFailed(f"The server cannot be reached: {reason}.") from error


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """What is not None: an option that was not given is not sent."""
    return {name: value for name, value in values.items() if value is not None}


def _form_fields(fields: Mapping[str, str | Sequence[str] | None]) -> list[tuple[str, _Field]]:
    """The fields of a form that are no files; a list is a field for each."""
    given = _without_none(fields).items()
    each = ((name, [value] if isinstance(value, str) else value) for name, value in given)
    return [(name, (None, text.encode())) for name, texts in each for text in texts]


def _json(content: bytes) -> Any:
    if not content:
        return None
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise ProtocolError("The server's answer is not JSON. Is the address right?") from error
