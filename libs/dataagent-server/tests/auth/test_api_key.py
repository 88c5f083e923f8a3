"""Keys of the deployment at every route: only the exact key counts, and only in its header."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import httpx
import pytest
from fastapi import Depends, FastAPI, WebSocket
from starlette.testclient import TestClient, WebSocketDenialResponse

from dataagent_server.auth import APIKeyAuth
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


def own_app(auth: APIKeyAuth) -> FastAPI:
    """An application of one's own that asks for a key."""
    app = FastAPI()

    async def caller(key: str | None = Depends(auth)) -> str | None:
        return key

    async def socket(websocket: WebSocket, key: str | None = Depends(auth)) -> None:
        await websocket.accept()
        await websocket.send_json(key)

    app.add_api_route("/", caller)
    app.add_api_websocket_route("/ws", socket)
    return app


def client_of(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://own")


@requirement("R19.1", "R19.2", "R19.3", "R19.4", "P30", "P31")
async def test_an_application_of_ones_own_has_the_keys_as_a_dependency() -> None:
    async with client_of(own_app(APIKeyAuth(["one", "alice:two"]))) as client:
        for key in ("one", "two"):
            answer = await client.get("/", headers={"X-API-Key": key})
            assert (answer.status_code, answer.json()) == (200, key)
        for headers in ({}, {"X-API-Key": "three"}, {"X-API-Key": ""}, {"X-API-Key": "alice:two"}):
            answer = await client.get("/", headers=headers)
            assert answer.status_code == 401
            assert "detail" in answer.json()
        twice = await client.get("/", headers=[("X-API-Key", "one"), ("X-API-Key", "one")])
        assert twice.status_code == 401


@requirement("R19.1", "P30")
def test_a_socket_of_ones_own_has_the_keys_as_a_dependency() -> None:
    client = TestClient(own_app(APIKeyAuth(["one"])))
    with client.websocket_connect("/ws", headers={"X-API-Key": "one"}) as socket:
        assert socket.receive_json() == "one"
    with (
        pytest.raises(WebSocketDenialResponse) as refused,
        client.websocket_connect("/ws", headers={"X-API-Key": "two"}),
    ):
        pass
    assert refused.value.status_code == 401


@requirement("R19.5")
async def test_an_application_of_ones_own_may_ask_nobody() -> None:
    async with client_of(own_app(APIKeyAuth([], disabled=True))) as client:
        answer = await client.get("/")
    assert (answer.status_code, answer.json()) == (200, None)
