"""Maps every error to a status and to `{"error_code", "message", "details"?}`.

One table gives each class of the core's errors its status; subclasses inherit. The caller's input
is never sent back; the cause of an internal error is in the log under the request's id.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from dataagent_core import errors
from dataagent_core.telemetry import current_request_id
from dataagent_server.models.common import ErrorResponse

logger = logging.getLogger(__name__)

STATUS: Mapping[type[errors.DataAgentError], int] = {
    errors.Invalid: 422,
    errors.NotFound: 404,
    errors.NotAuthenticated: 401,
    errors.Denied: 403,
    errors.Conflict: 409,
    errors.LimitReached: 429,
    errors.UploadTooLarge: 413,
    errors.TooManyConnections: 503,
    errors.QueueFull: 503,
    errors.Unavailable: 503,
    errors.QueryFailed: 422,
    errors.QueryTimedOut: 504,
    errors.ModelRefused: 502,
    errors.ToolFailed: 502,
    errors.Misconfigured: 500,
    errors.DataAgentError: 500,
}
_CODES = {
    400: "bad_input",
    401: "not_authenticated",
    403: "denied",
    404: "not_found",
    405: "method_not_allowed",
    408: "too_slow",
    413: "too_large",
    422: "bad_input",
    503: "unavailable",
}
_MESSAGES = {
    404: "There is nothing at this address. See /docs for the routes.",
    405: "This address does not support that method. See /docs for the routes.",
}
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
RETRY_AFTER_SECONDS = 5
_RETRY_LATER = frozenset({429, 503})
_SHOWN_NAME = 64


def status_of(error: errors.DataAgentError) -> int:
    """The HTTP status of an error: that of the nearest class in the table."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def envelope(
    status: int,
    error_code: str,
    message: str,
    *,
    details: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The one shape of an error response."""
    body: dict[str, Any] = {"error_code": error_code, "message": message}
    if details:
        body["details"] = details
    response = Response(
        orjson.dumps(body, default=str, option=orjson.OPT_NON_STR_KEYS),
        status_code=status,
        media_type="application/json",
        headers=headers,
    )
    if status in _RETRY_LATER:
        response.headers.setdefault("Retry-After", str(RETRY_AFTER_SECONDS))
    if status == HTTPStatus.UNAUTHORIZED:
        response.headers.setdefault("WWW-Authenticate", 'Bearer realm="dataagent"')
    return response


def error_response(error: errors.DataAgentError) -> Response:
    """The response to a request that ended in a `DataAgentError`."""
    status = status_of(error)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.error("request failed: %s", error.message, exc_info=error)
        return internal_error()
    if status > HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
        # expected of a busy server: one line, without a traceback
        fields = {"status": status, "error_code": error.code}
        logger.warning("request refused: %s", error.message, extra=fields)
    return envelope(
        status, error.code, error.message, details=error.details, headers=_retry_after(error)
    )


def _retry_after(error: errors.DataAgentError) -> dict[str, str] | None:
    """`Retry-After` of a limit that knows its end; `envelope` sets a default."""
    if not isinstance(error, errors.LimitReached) or error.retry_after_seconds is None:
        return None
    return {"Retry-After": str(error.retry_after_seconds)}


def internal_error() -> Response:
    """The response to an internal error, with the request's id for the log."""
    request_id = current_request_id()
    return envelope(
        500,
        "internal_error",
        "Internal error. The server's log has the reason under the request id.",
        details={"request_id": request_id} if request_id else None,
    )


def validation_details(problems: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Which field and what is wrong with it, without the value that was sent."""
    return {
        "errors": [
            {
                "loc": [_shown(part) for part in problem.get("loc", ())],
                "msg": problem.get("msg", ""),
                "type": problem.get("type", ""),
            }
            for problem in problems
        ]
    }


def validation_message(problems: Sequence[Mapping[str, Any]]) -> str:
    """The first problem as a sentence."""
    if not problems:
        return "The request is invalid."
    first = problems[0]
    where = ".".join(str(_shown(part)) for part in first.get("loc", ()))
    return f"{where}: {first.get('msg', 'invalid')}." if where else f"{first.get('msg')}."


def _allowed(request: Request) -> list[str]:
    """The methods of an address, over all its routes."""
    routes = request.app.router.routes
    scopes = {method: {**request.scope, "method": method} for method in _METHODS}
    return [
        method
        for method, scope in scopes.items()
        if any(route.matches(scope)[0] is Match.FULL for route in routes)
    ]


def _shown(part: object) -> int | str:
    if isinstance(part, int):
        return part
    return str(part).encode("utf-8", "replace").decode("utf-8")[:_SHOWN_NAME]


def install_error_handlers(
    app: FastAPI, not_found_page: Callable[[Request], Response | None] | None = None
) -> None:
    """Answer every error with the envelope; an unknown page of the web app with its HTML."""

    async def on_known(_: Request, error: Exception) -> Response:
        assert isinstance(error, errors.DataAgentError)  # noqa: S101 registered for this class
        return error_response(error)

    async def on_invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101 registered for this class
        problems = error.errors()
        return envelope(
            422, "bad_input", validation_message(problems), details=validation_details(problems)
        )

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101 registered for this class
        status = error.status_code
        if status == HTTPStatus.NOT_FOUND and not_found_page and (page := not_found_page(request)):
            return page
        message = _MESSAGES.get(status) or str(error.detail)
        code = _CODES.get(status, "error")
        headers = error.headers
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            headers = {"Allow": ", ".join(_allowed(request))}
        return envelope(status, code, message, headers=headers)

    app.add_exception_handler(errors.DataAgentError, on_known)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http)


_EXAMPLES = {
    401: (errors.NotAuthenticated.code, "The API key is not valid."),
    403: (errors.Denied.code, "Only an administrator may do this."),
    404: (errors.SessionNotFound.code, "There is no such session."),
    409: (errors.SessionBusy.code, "A run of this session is active. Wait for it or cancel it."),
    413: ("too_large", "The request has more than 8388608 bytes. Send less."),
    422: (errors.BadInput.code, "body.message: Field required."),
    429: (errors.TooManyRuns.code, "You have 5 runs under way. Wait for one to end."),
    503: (errors.StorageUnavailable.code, "The database does not answer. Try again in a moment."),
}
_WAIT = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {
        "model": ErrorResponse,
        "description": HTTPStatus(status).phrase,
        "content": {"application/json": {"example": {"error_code": code, "message": message}}},
        **({"headers": _WAIT} if status in _RETRY_LATER else {}),
    }
    for status, (code, message) in _EXAMPLES.items()
}
"""Error responses of routes, for the OpenAPI document."""
