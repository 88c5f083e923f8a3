"""Keys of the deployment at every route: only the exact key counts, and only in its header."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.requirements import requirement

if TYPE_CHECKING:
    from conftest import LiveServer

ALICE = "alice-key-4f9a0c"
WRONG_KEYS = {
    "none": None,
    "empty": "",
    "one more": ALICE + "x",
    "one less": ALICE[:-1],
    "upper": ALICE.upper(),
    "quoted": f'"{ALICE}"',
    "two": f"{ALICE},x",
    "with user": f"alice:{ALICE}",
    "60 kB": "k" * 60_000,
    "the user's own kind": "dak_" + "0" * 8 + "x" * 43,
}


def private_routes(live: LiveServer) -> list[tuple[str, str]]:
    """Every route that asks for a credential, with some id where its address has one."""
    return [
        (method.upper(), re.sub(r"{\w+}", "x", path))
        for path, methods in live.app.openapi()["paths"].items()
        for method, operation in methods.items()
        if "security" in operation
    ]


@requirement("R19.2", "R19.3", "P30")
@pytest.mark.parametrize("name", WRONG_KEYS)
async def test_without_a_valid_key_every_route_is_401(live: LiveServer, name: str) -> None:
    key = WRONG_KEYS[name]
    headers = {} if key is None else {"X-API-Key": key}
    routes = private_routes(live)
    assert len(routes) >= 70
    async with live.http(None, headers=headers) as client:
        for method, path in routes:
            answer = await client.request(method, path)
            assert answer.status_code == 401, (method, path)
            assert answer.json()["error_code"] == "not_authenticated"
            assert not key or key not in answer.text


async def test_who_asks_is_known_before_the_body_is_read(live: LiveServer) -> None:
    async with live.http(None) as client:
        answer = await client.post("/api/v1/chat", content=b"{not json")
    assert answer.status_code == 401


@requirement("R19.2", "P30")
async def test_a_key_in_the_query_is_not_taken(live: LiveServer) -> None:
    async with live.http(None) as client:
        for name in ("api_key", "X-API-Key", "key", "token", "access_token"):
            assert (await client.get(f"/api/v1/sessions?{name}={ALICE}")).status_code == 401


@requirement("R19.1", "R19.4", "P31")
async def test_every_listed_key_is_taken(live: LiveServer) -> None:
    for user in ("alice", "bob", "service", "root"):
        async with live.http(user) as client:
            assert (await client.get("/api/v1/sessions")).status_code == 200


async def test_a_service_key_keeps_its_users_apart(live: LiveServer) -> None:
    key = {"X-API-Key": "service-key-0b1c2d"}
    async with live.http(None, headers={**key, "X-User-Id": "carol"}) as client:
        session = (await client.post("/api/v1/sessions", json={})).json()
    assert session["user_id"] == "carol"
    async with live.http(None, headers={**key, "X-User-Id": "dave"}) as client:
        found = await client.get(f"/api/v1/sessions/{session['session_id']}")
        assert found.status_code == 404
        for odd in ("../x", "a" * 65, "", "a b"):
            answer = await client.get("/api/v1/sessions", headers={"X-User-Id": odd})
            assert answer.status_code == 422, odd


async def test_a_users_key_ignores_x_user_id(live: LiveServer) -> None:
    async with live.http("bob", headers={"X-User-Id": "alice"}) as client:
        session = (await client.post("/api/v1/sessions", json={})).json()
    assert session["user_id"] == "bob"
