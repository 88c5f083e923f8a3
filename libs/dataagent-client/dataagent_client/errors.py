"""What can go wrong between a program and a DataAgent server.

    DataAgentError                      the base of all errors, in dataagent_protocol
    └── ClientError
        ├── ConnectionFailed            no answer, or the connection was lost too often
        │   └── TimedOut                no answer in time
        ├── ProtocolError               the server said something this client cannot read
        ├── EventsLost                  the server no longer has some of the requested events
        ├── NotInstalled                an extra of this package is needed
        └── ApiError                    the server answered with an error
            ├── InvalidError            422, 400: what was sent cannot be understood
            ├── NotAuthenticatedError   401
            ├── DeniedError             403: known, and may not
            ├── NotFoundError           404: it does not exist, or is another user's
            ├── ConflictError           409: busy, already decided
            ├── LimitError              429, 413, with `retry_after`
            ├── QueryError              422, 504: the database refused the statement, or was slow
            ├── UnavailableError        503, with `retry_after`
            └── FailedError             500, 502: the server, a model or a tool failed

Each `ApiError` has `status`, `error_code`, `message`, `details` and `request_id`. Building one from
an answer is pure; nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import orjson

from dataagent_protocol import errors
from dataagent_protocol.errors import DataAgentError


class ClientError(DataAgentError):
    """Base of all errors of this package."""

    code = "client_error"


class ConnectionFailed(ClientError):
    """The server cannot be reached, or the connection was lost and could not be reopened."""

    code = "connection_failed"
    recoverable = True


class TimedOut(ConnectionFailed):
    """The server did not answer in time; the request may have been executed."""

    code = "timed_out"


class NotInstalled(ClientError):
    """A package is needed that only an extra of this one brings."""

    code = "not_installed"


class ProtocolError(ClientError):
    """The server sent something that is not what a DataAgent server sends."""

    code = "protocol_error"


class EventsLost(ClientError):
    """Events from `first_seq` to `last_seq` are gone; `snapshot` is what the server has instead."""

    code = "events_lost"

    def __init__(self, first_seq: int, last_seq: int, snapshot: Any) -> None:
        super().__init__(
            f"The server no longer has events {first_seq} to {last_seq}. "
            "Read the session's messages for what was said."
        )
        self.first_seq = first_seq
        self.last_seq = last_seq
        self.snapshot = snapshot  # JSON, as the server sent it


class ApiError(ClientError):
    """The server refused. `error_code` is stable and fit for programs to test."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        error_code: str,
        request_id: str | None = None,
        details: dict[str, object] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, details=details)
        self.status = status
        self.error_code = error_code
        self.request_id = request_id
        self.retry_after = retry_after


class InvalidError(ApiError):
    """What was sent cannot be understood; `details` say what of it."""


class NotAuthenticatedError(ApiError):
    """The credential is missing, wrong, or has ended."""


class DeniedError(ApiError):
    """The caller is known and may not do this."""


class NotFoundError(ApiError):
    """There is no such thing, or it is another user's."""


class ConflictError(ApiError):
    """The request does not fit the present state: `session_busy`, `already_decided`, …"""


class LimitError(ApiError):
    """A limit is reached."""

    recoverable = True


class QueryError(ApiError):
    """A database ran the statement and reported an error, or it took too long."""


class UnavailableError(ApiError):
    """The server, or something behind it, cannot take the request now."""

    recoverable = True


class FailedError(ApiError):
    """The server failed, or a model or tool that it used."""


_BY_STATUS: dict[int, type[ApiError]] = {
    400: InvalidError,
    401: NotAuthenticatedError,
    403: DeniedError,
    404: NotFoundError,
    409: ConflictError,
    413: LimitError,
    422: InvalidError,
    429: LimitError,
    500: FailedError,
    502: FailedError,
    503: UnavailableError,
}
_OF_A_PROXY: dict[int, type[ApiError]] = {502: UnavailableError, 504: UnavailableError}
_STATUS_BY_KIND: dict[type[DataAgentError], int] = {  # the server's table, for its `error` messages
    errors.Invalid: 422,
    errors.NotFound: 404,
    errors.NotAuthenticated: 401,
    errors.Denied: 403,
    errors.Conflict: 409,
    errors.LimitReached: 429,
    errors.TooManyConnections: 503,
    errors.QueueFull: 503,
    errors.Unavailable: 503,
    errors.QueryFailed: 422,
    errors.ModelRefused: 502,
    errors.ToolFailed: 502,
    errors.Misconfigured: 500,
}
_STATUS_BY_CLOSE = {4401: 401, 4403: 403, 4404: 404, 1013: 503}


def _kind(status: int, error_code: str | None) -> type[ApiError]:
    """The class for an answer: by its code where that says more than the status does."""
    if error_code is None:
        return (_BY_STATUS | _OF_A_PROXY).get(status, ApiError)
    if error_code in _codes(errors.QueryFailed):
        return QueryError
    return _BY_STATUS.get(status, ApiError)


def error_from_response(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The error of an HTTP response, from the server itself or from a proxy before it."""
    envelope = _envelope(body)
    message = envelope.get("message")
    code = envelope.get("error_code")
    details = envelope.get("details")
    code = code if isinstance(code, str) else None
    return _kind(status, code)(
        message if isinstance(message, str) else _default_message(status, headers.get("location")),
        status=status,
        error_code=code or f"http_{status}",
        request_id=headers.get("x-request-id"),
        details=cast("dict[str, Any]", details) if isinstance(details, dict) else None,  # JSON
        retry_after=_seconds(headers.get("retry-after")),
    )


def _default_message(status: int, location: str | None) -> str:
    """What an answer without words means. A redirect is not followed: it would get the key."""
    if location is None or not 300 <= status < 400:
        return f"The server answered {status}."
    return (
        f"The server answered {status}: it is at {location}. Use the address that is named there."
    )


def error_from_frame(error_code: str, message: str) -> ApiError:
    """The error of a WebSocket `error` message."""
    status = _status_by_code().get(error_code)
    kind = ApiError if status is None else _kind(status, error_code)
    return kind(message, status=status or 400, error_code=error_code)


def stream_error(data: str) -> ApiError:
    """The error that ended a stream of server-sent events early."""
    envelope = _envelope(data.encode())
    message = str(envelope.get("message") or "The server ended the stream.")
    return error_from_frame(str(envelope.get("error_code") or "unavailable"), message)


def error_from_close(code: int, reason: str) -> ApiError | None:
    """The error of a WebSocket close code; None for a connection that was just lost."""
    status = _STATUS_BY_CLOSE.get(code)
    if status is None:
        return None
    message = reason or f"The server closed the connection with {code}."
    return _BY_STATUS[status](message, status=status, error_code=f"closed_{code}")


def _status_by_code() -> dict[str, int]:
    """The status of each of core's error codes: that of the nearest class in the table."""
    found: dict[str, int] = {}
    for kind, status in _STATUS_BY_KIND.items():
        found |= dict.fromkeys(_codes(kind), status)
    return found


def _codes(kind: type[DataAgentError]) -> set[str]:
    """The codes of a family of core's errors."""
    return {kind.code}.union(*(_codes(each) for each in kind.__subclasses__()))


def _envelope(body: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    # JSON
    return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _seconds(value: str | None) -> float | None:
    """`Retry-After` in seconds; the rare form with a date is not used by our server."""
    try:
        seconds = float(value) if value else None
    except ValueError:
        return None
    return seconds if seconds is not None and 0 <= seconds < 86_400 else None
