"""Requests to the REST door, and their errors. Repeats only what is safe to send twice.

The one place where httpx's exceptions become ours. What answers mean is `models.py`'s business.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, Literal

import httpx
import orjson

from dataagent_client.backoff import Backoff
from dataagent_client.errors import (
    ApiError,
    ClientError,
    ConnectionFailed,
    ProtocolError,
    UnavailableError,
    error_from_response,
)

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


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
        self._client = httpx.AsyncClient(
            base_url=base_url.rstrip("/") + "/api/v1/",
            headers=dict(headers),
            timeout=timeout_seconds,
        )
        self._backoff = backoff

    async def aclose(self) -> None:
        """Close the pool."""
        await self._client.aclose()

    async def request(
        self,
        method: Method,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        is_repeatable: bool | None = None,
        has_time: bool = False,
    ) -> Any:
        """The answer's JSON, None for an empty one.

        `is_repeatable` says that sending it twice does no harm (by default only for GET); such a
        request is sent again when the connection fails or the server is not available. With
        `has_time` the answer may take as long as it takes.

        Raises:
            ApiError: the server refused.
            ConnectionFailed: the server cannot be reached.
        """
        repeatable = method == "GET" if is_repeatable is None else is_repeatable
        failures = 0
        while True:
            try:
                return await self._once(method, path, body, params, has_time=has_time)
            except (ConnectionFailed, UnavailableError) as error:
                failures += 1
                retry_after = error.retry_after if isinstance(error, ApiError) else None
                pause = self._backoff.pause(failures, retry_after=retry_after)
                if not repeatable or pause is None:
                    raise
                await asyncio.sleep(pause)

    async def _once(
        self,
        method: Method,
        path: str,
        body: Mapping[str, Any] | None,
        params: Mapping[str, Any] | None,
        *,
        has_time: bool,
    ) -> Any:
        content = None if body is None else orjson.dumps(_given(body))
        request = self._client.build_request(
            method,
            path,
            content=content,
            params=_given(params or {}),
            headers={"content-type": "application/json"} if content is not None else None,
        )
        if has_time:
            request.extensions["timeout"]["read"] = None
        with _translated():
            response = await self._client.send(request)
        if response.is_error:
            raise error_from_response(response.status_code, response.headers, response.content)
        return _json(response.content)

    @asynccontextmanager
    async def stream(
        self, path: str, *, params: Mapping[str, Any], headers: Mapping[str, str]
    ) -> AsyncGenerator[AsyncGenerator[bytes]]:
        """The bytes of an endless answer (server-sent events), as they arrive.

        Raises:
            ApiError: the server refused.
            ConnectionFailed: the server cannot be reached, or the connection broke.
        """
        request = self._client.build_request(
            "GET", path, params=_given(params), headers={"accept": "text/event-stream", **headers}
        )
        with _translated():
            response = await self._client.send(request, stream=True)
        try:
            if response.is_error:
                with _translated():
                    body = await response.aread()
                raise error_from_response(response.status_code, response.headers, body)
            async with aclosing(_chunks(response)) as chunks:
                yield chunks
        finally:
            await response.aclose()


async def _chunks(response: httpx.Response) -> AsyncGenerator[bytes]:
    with _translated():
        async for chunk in response.aiter_bytes():
            yield chunk


class _translated:  # noqa: N801 reads as a statement
    """Turns httpx's transport errors into `ConnectionFailed`."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol):
            raise ClientError("The request cannot be sent as it is.") from error
        if isinstance(error, httpx.TransportError):
            reason = str(error) or type(error).__name__
            raise ConnectionFailed(f"The server cannot be reached: {reason}.") from error


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    """What is not None: an option that was not given is not sent."""
    return {name: value for name, value in values.items() if value is not None}


def _json(content: bytes) -> Any:
    if not content:
        return None
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise ProtocolError("The server's answer is not JSON. Is the address right?") from error
