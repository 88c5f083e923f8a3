"""Bad input over REST is refused in the envelope, never a 500."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from tests.requirements import requirement

if TYPE_CHECKING:
    from conftest import LiveServer

JSON = {"Content-Type": "application/json"}
BODIES: dict[str, bytes] = {
    "not json": b"hello",
    "cut": b'{"message": "x"',
    "bad utf-8": b'{"message": "\xff"}',
    "lone surrogate": b'{"message": "\\ud800"}',
    "surrogate key": b'{"\\udfff": 1}',
    "nul": b'{"message": "a\\u0000b"}',
    "empty": b"{}",
    "empty message": b'{"message": ""}',
    "blank message": b'{"message": "  "}',
    "number": b'{"message": 5}',
    "array": b"[1]",
    "null": b"null",
    "deep": b'{"message": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "unknown field": b'{"message": "x", "user_id": "bob"}',
    "long id": json.dumps({"message": "x", "session_id": "s" * 100_000}).encode(),
    "odd id": b'{"message": "x", "session_id": "../../etc"}',
    "nul id": b'{"message": "x", "session_id": "a\\u0000"}',
    "long number": b'{"message": ' + b"9" * 5000 + b"}",
    "infinity": b'{"message": Infinity}',
    "two megabytes": json.dumps({"message": "x" * 2_000_000}).encode(),
    "odd file": b'{"message": "x", "file_ids": ["../f"]}',
    "odd skill": b'{"message": "x", "skill": "../s"}',
}


@requirement("P25", "R16.4")
@pytest.mark.parametrize("name", BODIES)
async def test_a_bad_chat_body_is_422_in_the_envelope(live: LiveServer, name: str) -> None:
    async with live.http() as client:
        answer = await client.post("/api/v1/chat", content=BODIES[name], headers=JSON)
    assert answer.status_code == 422, answer.text
    assert answer.json()["error_code"] == "bad_input"
    assert len(answer.text) < 3000


async def test_a_query_parameter_given_twice_is_422(live: LiveServer) -> None:
    async with live.http() as client:
        answer = await client.get("/api/v1/sessions?limit=1&limit=2")
    assert (answer.status_code, answer.json()["error_code"]) == (422, "bad_input")
    assert "limit" in answer.text


async def test_ten_megabytes_are_413(live: LiveServer) -> None:
    async with live.http() as client:
        answer = await client.post("/api/v1/chat", json={"message": "x" * 10_000_000})
    assert (answer.status_code, answer.json()["error_code"]) == (413, "too_large")


async def test_json_that_says_it_is_something_else_is_not_taken(live: LiveServer) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        async with live.http() as client:
            answer = await client.post(
                "/api/v1/chat", content=b'{"message": "x"}', headers={"Content-Type": kind}
            )
        assert answer.status_code == 422


async def test_an_unknown_session_in_the_body_is_404(live: LiveServer) -> None:
    async with live.http() as client:
        answer = await client.post("/api/v1/chat", json={"message": "x", "session_id": "nope"})
    assert (answer.status_code, answer.json()["error_code"]) == (404, "session_not_found")


async def test_an_unknown_skill_is_404_with_those_like_it(live: LiveServer) -> None:
    async with live.http() as client:
        answer = await client.post("/api/v1/chat", json={"message": "x", "skill": "sql-reviw"})
    assert (answer.status_code, answer.json()["error_code"]) == (404, "skill_not_found")
    assert answer.json()["details"] == {"skill": "sql-reviw", "nearest": ["sql-review"]}


ODD_IDS = [
    "nope",
    str(uuid.uuid4()),
    "x" * 30_000,
    "a%00b",
    "%ff%fe",
    "..%2f..%2fetc%2fpasswd",
    "%252e%252e%252f",
    "..;",
    "%ED%A0%80",
    "a%0d%0aX: y",
    "'; drop table sessions; --",
]


@requirement("P25")
@pytest.mark.parametrize("odd", ODD_IDS, ids=range(len(ODD_IDS)))
async def test_an_odd_id_in_any_path_is_a_4xx(live: LiveServer, odd: str) -> None:
    paths = [
        ("GET", f"/api/v1/sessions/{odd}"),
        ("DELETE", f"/api/v1/sessions/{odd}"),
        ("GET", f"/api/v1/sessions/{odd}/messages"),
        ("GET", f"/api/v1/sessions/{odd}/events"),
        ("POST", f"/api/v1/chat/{odd}/cancel"),
        ("GET", f"/api/v1/runs/{odd}"),
        ("GET", f"/api/v1/runs/{odd}/events"),
        ("POST", f"/api/v1/runs/{odd}/cancel"),
        ("POST", f"/api/v1/runs/{odd}/decisions/{odd}"),
        ("GET", f"/api/v1/data-sources/{odd}"),
        ("GET", f"/api/v1/data-sources/{odd}/catalogue"),
        ("POST", f"/api/v1/data-sources/{odd}/check"),
        ("POST", f"/api/v1/data-sources/{odd}/query"),
        ("GET", f"/api/v1/artifacts/{odd}"),
        ("GET", f"/api/v1/artifacts/{odd}?format=csv"),
        ("DELETE", f"/api/v1/artifacts/{odd}"),
    ]
    async with live.http() as client:
        for method, path in paths:
            body = _body(path)
            answer = await client.request(method, path, json=body)
            assert answer.status_code in (400, 404, 405, 422), (path[:60], answer.status_code)
            assert answer.json()["error_code"] in (
                "not_found",
                "session_not_found",
                "run_not_found",
                "source_not_found",
                "artifact_not_found",
                "bad_input",
                "method_not_allowed",
            )


@requirement("P25")
@pytest.mark.parametrize("odd", ODD_IDS, ids=range(len(ODD_IDS)))
async def test_an_odd_id_from_an_administrator_is_a_4xx_too(live: LiveServer, odd: str) -> None:
    policy = {"name": "p", "rules": {"subjects": "everyone", "tables": {"*": {"grant": True}}}}
    requests: list[tuple[str, str, dict[str, Any] | None]] = [
        ("PUT", f"/api/v1/data-sources/{odd}", {"description": "x"}),
        ("DELETE", f"/api/v1/data-sources/{odd}", None),
        ("PUT", f"/api/v1/data-sources/{odd}/grants", {"grants": []}),
        ("POST", f"/api/v1/data-sources/{odd}/refresh", None),
        ("PUT", f"/api/v1/data-sources/chinook/policies/{odd}", policy),
        ("DELETE", f"/api/v1/data-sources/chinook/policies/{odd}", None),
    ]
    async with live.http("root") as client:
        for method, path, body in requests:
            answer = await client.request(method, path, json=body)
            assert answer.status_code in (400, 404, 405, 422), (path[:60], answer.status_code)
            assert answer.json()["error_code"] in (
                "not_found",
                "source_not_found",
                "bad_input",
                "method_not_allowed",
            )


def _body(path: str) -> dict[str, str] | None:
    if "decisions" in path:
        return {"type": "approve"}
    return {"sql": "SELECT 1"} if path.endswith(("/check", "/query")) else None
