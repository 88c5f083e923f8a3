"""What can go wrong between a program and a DataAgent server.

    DataAgentError                      core's base class
    └── ClientError
        ├── ConnectionFailed            no answer, or the connection was lost too often
        ├── ProtocolError               the server said something this client cannot read
        ├── EventsLost                  the server no longer has some of the events asked for
        └── ApiError                    the server answered with an error
            ├── NotAuthenticatedError   401
            ├── NotFoundError           403, 404: not there, or not yours
            ├── ConflictError           409: busy, already decided
            ├── LimitError              429, with `retry_after`
            └── UnavailableError        503, with `retry_after`

Each `ApiError` has `status`, `error_code`, `message`, `details` and `request_id`. Building one from
an answer is pure; nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from dataagent_core import errors
from dataagent_core.errors import DataAgentError


class ClientError(DataAgentError):
    """Base of all errors of this package."""

    code = "client_error"


class ConnectionFailed(ClientError):
    """The server cannot be reached, or the connection was lost and could not be taken up again."""

    code = "connection_failed"
    recoverable = True


class ProtocolError(ClientError):
    """The server sent something that is not what a DataAgent server sends."""

    code = "protocol_error"


class EventsLost(ClientError):
    """Events between `first_seq` and `last_seq` are gone; `snapshot` is what the server kept."""

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


class NotAuthenticatedError(ApiError):
    """The key is missing or wrong."""


class NotFoundError(ApiError):
    """There is no such thing, or it is another user's."""


class ConflictError(ApiError):
    """The request does not fit the present state: `session_busy`, `already_decided`, …"""


class LimitError(ApiError):
    """A limit is reached."""

    recoverable = True


class UnavailableError(ApiError):
    """The server cannot take the request now."""

    recoverable = True


_BY_STATUS: dict[int, type[ApiError]] = {
    401: NotAuthenticatedError,
    403: NotFoundError,
    404: NotFoundError,
    409: ConflictError,
    429: LimitError,
    503: UnavailableError,
}
_STATUS_BY_KIND: dict[type[DataAgentError], int] = {  # the server's table, for its `error` messages
    errors.Invalid: 422,
    errors.NotFound: 404,
    errors.NotAuthenticated: 401,
    errors.Denied: 403,
    errors.Conflict: 409,
    errors.LimitReached: 429,
    errors.TooManyConnections: 503,
    errors.Unavailable: 503,
}
_STATUS_BY_CLOSE = {4401: 401, 4403: 403, 4404: 404, 1013: 503}


def error_from_response(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The error an HTTP answer stands for, from the server itself or from a proxy before it."""
    envelope = _envelope(body)
    message = envelope.get("message")
    code = envelope.get("error_code")
    details = envelope.get("details")
    return _BY_STATUS.get(status, ApiError)(
        message if isinstance(message, str) else f"The server answered {status}.",
        status=status,
        error_code=code if isinstance(code, str) else f"http_{status}",
        request_id=headers.get("x-request-id"),
        details=details if isinstance(details, dict) else None,  # pyright: ignore[reportUnknownArgumentType] JSON
        retry_after=_seconds(headers.get("retry-after")),
    )


def error_from_frame(error_code: str, message: str) -> ApiError:
    """The error a WebSocket `error` message stands for."""
    status = _status_by_code().get(error_code, 400)
    return _BY_STATUS.get(status, ApiError)(message, status=status, error_code=error_code)


def stream_error(data: str) -> ApiError:
    """The error that ended a stream of server-sent events early."""
    envelope = _envelope(data.encode())
    message = str(envelope.get("message") or "The server ended the stream.")
    return error_from_frame(str(envelope.get("error_code") or "unavailable"), message)


def error_from_close(code: int, reason: str) -> ApiError | None:
    """The error a WebSocket close code stands for; None for a connection that was just lost."""
    status = _STATUS_BY_CLOSE.get(code)
    if status is None:
        return None
    message = reason or f"The server closed the connection with {code}."
    return _BY_STATUS[status](message, status=status, error_code=f"closed_{code}")


def _status_by_code() -> dict[str, int]:
    """The status of each of core's error codes: that of the nearest class in the table."""
    found: dict[str, int] = {}
    for kind, status in _STATUS_BY_KIND.items():
        found |= {each.code: status for each in (kind, *kind.__subclasses__())}
    return found


def _envelope(body: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType] JSON


def _seconds(value: str | None) -> float | None:
    """`Retry-After` in seconds; the rare form with a date is not used by our server."""
    try:
        seconds = float(value) if value else None
    except ValueError:
        return None
    return seconds if seconds is not None and 0 <= seconds < 86_400 else None
