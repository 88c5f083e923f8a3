"""Every error as `{"error_code", "message", "details"?}` with the right status.

One table gives each class of the core's errors its status; subclasses inherit. What a caller sent
is never sent back, and what went wrong inside is in the log under the request's id, not in the
answer. Above: `main.py` installs it. Below: the errors themselves.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from dataagent_core import errors
from dataagent_core.telemetry import current_request_id
from dataagent_server.models.fields import ErrorResponse

logger = logging.getLogger(__name__)

STATUS: Mapping[type[errors.DataAgentError], int] = {
    errors.Invalid: 422,
    errors.NotFound: 404,
    errors.NotAuthenticated: 401,
    errors.Denied: 403,
    errors.Conflict: 409,
    errors.LimitReached: 429,
    errors.TooManyConnections: 503,
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
    404: "There is nothing at this address. See /docs for what there is.",
    405: "This address does not take that method. See /docs for those it takes.",
}
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
    """The answer to a request that ended in one of our errors."""
    status = status_of(error)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.error("request failed: %s", error.message, exc_info=error)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        return internal_error()
    return envelope(status, error.code, error.message, details=error.details)


def internal_error() -> Response:
    """The answer to a request that failed for a reason of ours: the id finds it in the log."""
    request_id = current_request_id()
    return envelope(
        500,
        "internal_error",
        "Something went wrong on the server. Its log has the reason under the request id.",
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
        return "The request does not fit."
    first = problems[0]
    where = ".".join(str(_shown(part)) for part in first.get("loc", ()))
    return f"{where}: {first.get('msg', 'does not fit')}." if where else f"{first.get('msg')}."


def _shown(part: object) -> int | str:
    if isinstance(part, int):
        return part
    return str(part).encode("utf-8", "replace").decode("utf-8")[:_SHOWN_NAME]


def install_error_handlers(app: FastAPI) -> None:
    """Answer every error of the app in the one shape."""

    async def on_known(_: Request, error: Exception) -> Response:
        assert isinstance(error, errors.DataAgentError)  # noqa: S101 registered for this class
        return error_response(error)

    async def on_invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101 registered for this class
        problems = error.errors()
        return envelope(
            422, "bad_input", validation_message(problems), details=validation_details(problems)
        )

    async def on_http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101 registered for this class
        status = error.status_code
        message = _MESSAGES.get(status) or str(error.detail)
        code = _CODES.get(status, "error")
        return envelope(status, code, message, headers=error.headers)

    app.add_exception_handler(errors.DataAgentError, on_known)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http)


ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorResponse, "description": HTTPStatus(status).phrase}
    for status in (401, 403, 404, 409, 413, 422, 429, 503)
}
"""What every route may answer besides its own shape, for the OpenAPI document."""
