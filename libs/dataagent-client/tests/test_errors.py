"""Which class of ours stands for which error of the server's. The server's own table is asked."""

from __future__ import annotations

import orjson
import pytest

from dataagent_client import (
    ApiError,
    ConflictError,
    DeniedError,
    FailedError,
    InvalidError,
    LimitError,
    NotAuthenticatedError,
    NotFoundError,
    QueryError,
    UnavailableError,
)
from dataagent_client.errors import error_from_close, error_from_frame, error_from_response
from dataagent_protocol import errors
from dataagent_protocol.errors import DataAgentError
from dataagent_server.api.errors import status_of

FAMILIES: dict[type[DataAgentError], type[ApiError]] = {
    errors.Invalid: InvalidError,
    errors.NotFound: NotFoundError,
    errors.NotAuthenticated: NotAuthenticatedError,
    errors.Denied: DeniedError,
    errors.Conflict: ConflictError,
    errors.LimitReached: LimitError,
    errors.Unavailable: UnavailableError,
    errors.QueryFailed: QueryError,
    errors.ModelRefused: FailedError,
    errors.ToolFailed: FailedError,
    errors.Misconfigured: FailedError,
}
WORTH_ANOTHER_TRY = {errors.TooManyConnections, errors.QueueFull}  # answered with 503


def family(kind: type[DataAgentError]) -> list[type[DataAgentError]]:
    return [kind, *(each for below in kind.__subclasses__() for each in family(below))]


ALL = [
    (each, UnavailableError if each in WORTH_ANOTHER_TRY else ours)
    for kind, ours in FAMILIES.items()
    for each in family(kind)
    if each.__module__.startswith("dataagent_protocol.")
]


def test_every_family_of_errors_has_its_class() -> None:
    assert {each for each, _ in ALL} == {
        each
        for each in family(DataAgentError)[1:]
        if each.__module__.startswith("dataagent_protocol.")
    }


@pytest.mark.parametrize(("kind", "ours"), ALL)
def test_an_error_is_the_same_class_over_http_and_over_a_socket(
    kind: type[DataAgentError], ours: type[ApiError]
) -> None:
    status = status_of(kind.__new__(kind))  # its class says it
    body = orjson.dumps({"error_code": kind.code, "message": "No.", "details": {"a": 1}})
    headers = {"x-request-id": "r1", "retry-after": "5"}
    answered = error_from_response(status, headers, body)
    assert type(answered) is ours
    assert (answered.status, answered.error_code, answered.message) == (status, kind.code, "No.")
    assert (answered.details, answered.request_id, answered.retry_after) == ({"a": 1}, "r1", 5.0)
    assert type(error_from_frame(kind.code, "No.")) is ours


@pytest.mark.parametrize(
    ("status", "ours"),
    [(502, UnavailableError), (503, UnavailableError), (504, UnavailableError), (500, FailedError)],
)
def test_a_proxys_answer_is_worth_another_try(status: int, ours: type[ApiError]) -> None:
    error = error_from_response(status, {}, b"<html>Bad gateway</html>")
    assert type(error) is ours
    assert error.error_code == f"http_{status}"


def test_what_a_newer_server_says_is_still_an_error() -> None:
    assert type(error_from_frame("never_heard_of", "No.")) is ApiError
    assert type(error_from_response(418, {}, b'{"error_code": "x", "message": "No."}')) is ApiError
    assert error_from_close(1006, "") is None
    assert type(error_from_close(4403, "")) is DeniedError
