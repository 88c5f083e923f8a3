"""Who is on the socket: header, cookie or first message; never the address."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest
from websockets.exceptions import InvalidStatus

from dataagent_server.ws import routes
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import LiveServer

ALICE = "alice-key-4f9a0c"
SERVICE = "service-key-0b1c2d"


async def test_the_first_message_may_bring_the_key(live: LiveServer) -> None:
    async with live.socket(user=None, is_greeted=False) as socket:
        await socket.say("chat", {"message": "!echo too early"})
        assert (await socket.next("error"))["data"]["error_code"] == "not_authenticated"
        await socket.raw.send("not json")
        assert (await socket.next("error"))["data"]["error_code"] == "bad_input"
        await socket.say("auth", {"api_key": ALICE})
        await socket.next("connected")
        await socket.chat("!echo in")
        await socket.until("done")
    async with live.http() as client:
        found = await client.get(f"/api/v1/sessions/{socket.session_id}")
    assert found.json()["user_id"] == "alice"


@requirement("G12")
async def test_a_client_that_does_not_say_who_it_is_is_closed_with_4401(
    start_server: Callable[..., LiveServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(routes, "AUTH_SECONDS", 0.2)
    server = start_server()
    async with server.socket(user=None, is_greeted=False) as socket:
        assert (await socket.next("error"))["data"]["error_code"] == "not_authenticated"
        assert await socket.closed() == 4401
    assert server.connections.count == 0


@pytest.mark.parametrize(
    "payload", [{}, {"api_key": "wrong"}, {"token": "wrong"}, {"api_key": ""}, {"api_key": "ключ"}]
)
async def test_a_wrong_first_message_is_closed_with_4401(
    live: LiveServer, payload: dict[str, str]
) -> None:
    async with live.socket(user=None, is_greeted=False) as socket:
        await socket.say("auth", payload)
        await socket.next("error")
        assert await socket.closed() == 4401


@pytest.mark.parametrize(
    "key", ["wrong", ALICE.upper(), ALICE + "x", ALICE[:-1], f'"{ALICE}"', " "]
)
async def test_a_wrong_key_in_the_handshake_is_closed_with_4401(live: LiveServer, key: str) -> None:
    async with live.socket(user=None, headers={"X-API-Key": key}, is_greeted=False) as socket:
        await socket.next("error")
        assert await socket.closed() == 4401


async def test_a_key_in_the_address_is_not_taken(
    start_server: Callable[..., LiveServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(routes, "AUTH_SECONDS", 0.2)
    server = start_server()
    address = f"{uuid.uuid4()}?api_key={ALICE}&token={ALICE}&X-API-Key={ALICE}"
    async with server.socket(address, user=None, is_greeted=False) as socket:
        await socket.next("error")
        assert await socket.closed() == 4401


async def test_a_service_key_acts_for_the_user_it_names(live: LiveServer) -> None:
    headers = {"X-API-Key": SERVICE, "X-User-Id": "carol"}
    async with (
        live.socket(user=None, headers=headers) as socket,
        live.http(None, headers=headers) as client,
    ):
        found = await client.get(f"/api/v1/sessions/{socket.session_id}")
    assert found.json()["user_id"] == "carol"


async def test_a_cookie_counts_for_our_own_pages_only(live: LiveServer) -> None:
    admin = await live.on_server(live.container.users.first_admin())
    assert admin is not None
    cookie = {"Cookie": f"access_token={live.container.tokens.issue(admin)}"}
    async with live.socket(user=None, headers=cookie, origin=live.url) as socket:
        await socket.say("ping")
        await socket.next("pong")
    for origin in ("https://evil.example", "null", live.url + ".evil.example", "file://", None):
        with pytest.raises(InvalidStatus) as refused:
            async with live.socket(user=None, headers=cookie, origin=origin):
                pass
        assert refused.value.response.status_code == 403
        assert b'"error_code":"denied"' in bytes(refused.value.response.body)


@requirement("R19.5")
async def test_with_authentication_disabled_local_pages_and_programs_come_in(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(auth_disabled=True)
    assert "WARNING: authentication is disabled" in server.greeting.getvalue()
    assert "token=" not in server.greeting.getvalue()
    async with server.socket(user=None) as socket:
        await socket.chat("!echo hi")
        await socket.until("done")
    async with server.socket(user=None, origin=server.url):
        pass
    for headers, origin in (
        ({}, "https://evil.example"),
        ({"Host": "evil.example:80"}, "http://evil.example:80"),
    ):
        with pytest.raises(InvalidStatus) as refused:
            async with server.socket(user=None, headers=headers, origin=origin):
                pass
        assert refused.value.response.status_code in (400, 403)
    async with server.http(None) as client:
        rebound = await client.get("/api/v1/sessions", headers={"Host": "evil.example"})
        assert rebound.status_code == 403
        assert (await client.get("/api/v1/sessions")).json()["total"] == 2
