"""Every error in one shape, with the right status, and without what it should not say."""

from __future__ import annotations

import inspect
import json
import logging
from typing import TYPE_CHECKING

import httpx
import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core import errors
from dataagent_core.telemetry import JsonFormatter
from dataagent_server.api.errors import (
    STATUS,
    error_response,
    install_error_handlers,
    status_of,
    validation_details,
)
from dataagent_server.api.middleware import BodyLimit, RequestContext
from tests.requirements import requirement

if TYPE_CHECKING:
    from conftest import LiveServer

ALL = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.DataAgentError)
]


def app() -> FastAPI:
    made = FastAPI()
    install_error_handlers(made)

    @made.get("/boom")
    async def boom() -> None:
        raise RuntimeError("cannot open mysql://root:hunter2@db/x")

    @made.get("/raise/{name}")
    async def raising(name: str) -> None:
        raise getattr(errors, name)("It did not work.", details={"n": 1})

    @made.post("/body")
    async def body(data: dict[str, int]) -> int:
        return len(data)

    made.add_middleware(BodyLimit, max_bytes=1000)
    made.add_middleware(RequestContext)
    return made


def client() -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app(), raise_app_exceptions=False), base_url="http://test"
    )


@requirement("R11.2", "R16.4", "P25")
@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_error_class_has_a_status_and_the_envelope(
    kind: type[errors.DataAgentError],
) -> None:
    response = error_response(kind("Something."))
    assert response.status_code == status_of(kind("Something."))
    body = json.loads(bytes(response.body))
    assert body["error_code"] == (kind.code if response.status_code != 500 else "internal_error")
    assert body.keys() <= {"error_code", "message", "details"}


def test_the_statuses_are_these() -> None:
    expected = {
        "BadInput": 422,
        "QueryRefused": 422,
        "UnknownName": 422,
        "BadChart": 422,
        "QueryFailed": 422,
        "QueryTimedOut": 504,
        "SessionNotFound": 404,
        "SourceNotFound": 404,
        "ArtifactNotFound": 404,
        "DataDenied": 403,
        "SourceUnavailable": 503,
        "NotAuthenticated": 401,
        "NotYours": 403,
        "SessionBusy": 409,
        "NothingToCancel": 404,
        "QuotaExceeded": 429,
        "TooManyConnections": 503,
        "StorageUnavailable": 503,
        "ModelRefused": 502,
        "Misconfigured": 500,
    }
    assert {name: status_of(getattr(errors, name)("")) for name in expected} == expected
    assert set(STATUS) <= set(ALL)


async def test_what_may_be_tried_again_says_when() -> None:
    async with client() as http:
        for name in ("QuotaExceeded", "Unavailable", "TooManyConnections"):
            assert int((await http.get(f"/raise/{name}")).headers["Retry-After"]) > 0


@requirement("R22.5", "P35")
async def test_a_failure_of_ours_is_500_with_a_request_id_and_its_reason_is_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with client() as http:
        answer = await http.get("/boom")
    assert answer.status_code == 500
    assert answer.json()["error_code"] == "internal_error"
    assert "hunter2" not in answer.text
    request_id = answer.headers["X-Request-Id"]
    assert answer.json()["details"] == {"request_id": request_id}
    record = next(each for each in caplog.records if each.levelno == logging.ERROR)
    assert "RuntimeError" in JsonFormatter().format(record)
    assert "hunter2" not in JsonFormatter().format(record)


@requirement("P35", "R22.5")
@pytest.mark.parametrize(
    ("sent", "is_kept"),
    [
        ("abc-123", True),
        ("x" * 64, True),
        ("x" * 65, False),
        ("x" * 5000, False),
        ("<script>", False),
        ("a b", False),
        ("", False),
    ],
)
async def test_a_request_id_is_kept_if_it_is_short_and_harmless(sent: str, is_kept: bool) -> None:
    async with client() as http:
        answer = await http.get("/raise/BadInput", headers={"X-Request-Id": sent})
    got = answer.headers["X-Request-Id"]
    assert (got == sent) is is_kept
    assert 1 <= len(got) <= 64


async def test_a_body_over_the_limit_is_413_whether_or_not_it_says_its_size() -> None:
    async def pieces(count: int) -> object:
        for _ in range(count):
            yield b'"' + b"x" * 98 + b'"'

    async with client() as http:
        said = await http.post("/body", content=b"x" * 1001)
        unsaid = await http.post(
            "/body",
            content=pieces(20),  # type: ignore[arg-type]
            headers={"content-type": "application/json"},
        )
        lied = await http.post("/body", content=b"{}", headers={"content-length": "9" * 30})
        fine = await http.post("/body", json={"a": 1})
    for answer in (said, unsaid, lied):
        assert (answer.status_code, answer.json()["error_code"]) == (413, "too_large")
        assert answer.headers["X-Request-Id"]
    assert fine.status_code == 200


@given(st.lists(st.one_of(st.text(), st.integers(), st.text(st.characters(categories=["Cs"])))))
def test_where_a_problem_is_can_always_be_said(loc: list[str | int]) -> None:
    details = validation_details([{"loc": loc, "msg": "no", "type": "t", "input": "secret"}])
    assert "secret" not in json.dumps(details)
    json.dumps(details, ensure_ascii=False).encode()


@requirement("R16.4", "P25")
async def test_404_405_and_422_have_the_envelope_too(live: LiveServer) -> None:
    async with live.http() as http:
        nowhere = await http.get("/api/v1/nowhere")
        wrong = await http.put("/api/v1/health")
        invalid = await http.post("/api/v1/chat", json={"message": {"secret": "hunter2"}})
    assert (nowhere.status_code, nowhere.json()["error_code"]) == (404, "not_found")
    assert (wrong.status_code, wrong.json()["error_code"]) == (405, "method_not_allowed")
    assert wrong.headers["Allow"]
    assert (invalid.status_code, invalid.json()["error_code"]) == (422, "bad_input")
    assert "hunter2" not in invalid.text
    for answer in (nowhere, wrong, invalid):
        assert answer.headers["X-Request-Id"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
