"""Who gets in at `/mcp`, from where, with how much, and for how long."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from dataagent_server.main import MAX_BODY_BYTES
from dataagent_server.mcp import endpoint
from tests.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from conftest import LiveServer

ALICE = {"X-API-Key": "alice-key-4f9a0c"}
BOB = {"X-API-Key": "bob-key-77d1e2"}
ACCEPT = {"Accept": "application/json, text/event-stream"}
HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


async def hello(live: LiveServer, **headers: str) -> httpx2.Response:
    async with httpx2.AsyncClient(base_url=live.url, headers=ACCEPT, timeout=WAIT_SECONDS) as http:
        return await http.post("/mcp", json=HELLO, headers=headers)


@pytest.mark.parametrize(
    "headers", [{}, {"X-API-Key": "wrong"}, {"Authorization": "Bearer dak_00000000wrong"}]
)
async def test_nobody_comes_in_without_a_valid_key(
    live: LiveServer, headers: dict[str, str]
) -> None:
    answer = await hello(live, **headers)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="dataagent"'
    assert answer.json()["error_code"] == "not_authenticated"


@pytest.mark.slow
async def test_a_users_own_key_is_taken_as_a_bearer_token(live: LiveServer, connect: Any) -> None:
    users = live.container.users
    user = await live.on_server(users.create("mcp_bearer"))
    _, secret = await live.on_server(users.keys.create(user.user_id, "client"))
    async with connect(live, {"Authorization": f"Bearer {secret}"}) as client:
        answer = await client.call_tool("ask", {"question": "!echo hello"})
    run = answer.structured_content["run_id"]
    view = await live.on_server(live.container.core.runs.get(run, owner=user.user_id))
    assert view.run.user_id == user.user_id


@pytest.mark.parametrize(
    ("origin", "host", "status"),
    [
        ("http://evil.example", None, 403),
        ("http://evil.example:8000", "evil.example:8000", 403),  # a name pointed at this machine
        ("null", None, 403),
        ("{url}", None, 200),
    ],
)
async def test_pages_of_other_sites_are_refused_even_with_a_key(
    live: LiveServer, origin: str, host: str | None, status: int
) -> None:
    headers = {**ALICE, "Origin": origin.format(url=live.url)}
    answer = await hello(live, **headers, **({"Host": host} if host else {}))
    assert answer.status_code == status


async def test_a_page_that_is_trusted_may_ask(start_server: Callable[..., LiveServer]) -> None:
    server = start_server(cors_origins=["https://tools.example"])
    answer = await hello(server, **ALICE, Origin="https://tools.example")
    assert answer.status_code == 200
    assert "Mcp-Session-Id" in answer.headers["Access-Control-Expose-Headers"]


async def test_a_session_is_of_no_use_to_anyone_else(live: LiveServer) -> None:
    session_id = (await hello(live, **ALICE)).headers["mcp-session-id"]
    asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    headers = {**ACCEPT, "Mcp-Session-Id": session_id, "Mcp-Protocol-Version": "2025-11-25"}
    async with httpx2.AsyncClient(base_url=live.url, headers=headers, timeout=WAIT_SECONDS) as http:
        begun = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await http.post("/mcp", json=begun, headers=ALICE)).status_code == 202
        assert (await http.post("/mcp", json=asked, headers=BOB)).status_code == 404
        assert (await http.post("/mcp", json=asked, headers=ALICE)).status_code == 200
        assert (await http.delete("/mcp", headers=BOB)).status_code == 404
        assert (await http.delete("/mcp", headers=ALICE)).status_code == 200
        assert (await http.post("/mcp", json=asked, headers=ALICE)).status_code == 404


async def test_a_user_has_a_share_of_the_sessions(
    start_server: Callable[..., LiveServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "MAX_SESSIONS_PER_USER", 2)
    server = start_server()
    session_ids = [(await hello(server, **ALICE)).headers["mcp-session-id"] for _ in range(2)]
    refused = await asyncio.gather(*(hello(server, **ALICE) for _ in range(5)))
    for answer in refused:
        assert answer.status_code == 429
        assert int(answer.headers["Retry-After"]) > 0
        assert answer.json()["error_code"] == "user_limit"
        assert answer.json()["details"] == {"what": "mcp_sessions", "limit": 2, "used": 2}
        assert "DELETE /mcp" in answer.json()["message"]
    assert (await hello(server, **BOB)).status_code == 200
    for person in ("one", "two"):  # a service key's sessions are those of the user it acts for
        service = {"X-API-Key": "service-key-0b1c2d", "X-User-Id": person}
        assert [(await hello(server, **service)).status_code for _ in range(3)] == [200, 200, 429]
    headers = {**ACCEPT, **ALICE, "Mcp-Session-Id": session_ids[0]}
    async with httpx2.AsyncClient(base_url=server.url, timeout=WAIT_SECONDS) as http:
        assert (await http.delete("/mcp", headers=headers)).status_code == 200
    assert (await hello(server, **ALICE)).status_code == 200


async def test_requests_that_open_no_session_are_not_counted(
    start_server: Callable[..., LiveServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(endpoint, "MAX_SESSIONS_PER_USER", 1)
    server = start_server()
    async with httpx2.AsyncClient(base_url=server.url, timeout=WAIT_SECONDS) as http:
        for _ in range(3):
            bad = await http.post("/mcp", json={"jsonrpc": "2.0"}, headers={**ACCEPT, **ALICE})
            assert bad.status_code == 400
    assert (await hello(server, **ALICE)).status_code == 200


async def test_a_body_over_the_limit_is_refused(live: LiveServer) -> None:
    piece = b" " * (MAX_BODY_BYTES // 4)

    async def pieces() -> AsyncGenerator[bytes]:
        for _ in range(5):
            yield piece

    async with httpx2.AsyncClient(base_url=live.url, headers={**ACCEPT, **ALICE}) as http:
        whole = await http.post("/mcp", content=piece * 5)
        chunked = await http.post("/mcp", content=pieces())
    assert (whole.status_code, chunked.status_code) == (413, 413)


async def test_a_key_that_is_revoked_ends_what_waits_for_news(live: LiveServer) -> None:
    users = live.container.users
    user = await live.on_server(users.create("mcp_revoked"))
    made, secret = await live.on_server(users.keys.create(user.user_id, "client"))
    key = {"X-API-Key": secret}
    session_id = (await hello(live, **key)).headers["mcp-session-id"]
    headers = {**ACCEPT, **key, "Mcp-Session-Id": session_id}
    async with (
        httpx2.AsyncClient(base_url=live.url, headers=headers, timeout=WAIT_SECONDS) as http,
        http.stream("GET", "/mcp") as stream,
    ):
        assert stream.status_code == 200
        await live.on_server(users.keys.revoke(made.key_id, owner=user.user_id))
        with pytest.raises(httpx2.RemoteProtocolError):
            await asyncio.wait_for(_read(stream), WAIT_SECONDS)
    assert (await hello(live, **key)).status_code == 401


async def _read(stream: httpx2.Response) -> None:
    async for _ in stream.aiter_bytes():
        pass


async def test_a_stream_that_waits_for_news_holds_a_place_and_not_the_end(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(max_connections=1)
    session_id = (await hello(server, **ALICE)).headers["mcp-session-id"]
    headers = {**ACCEPT, **ALICE, "Mcp-Session-Id": session_id}
    async with (
        httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=WAIT_SECONDS) as http,
        http.stream("GET", "/mcp") as stream,
    ):
        assert stream.status_code == 200
        full = await hello(server, **ALICE)
        assert (full.status_code, full.json()["error_code"]) == (503, "too_many_connections")
        assert "Retry-After" in full.headers
        server.ask_to_stop()
        with pytest.raises(httpx2.RemoteProtocolError):
            await asyncio.wait_for(_read(stream), WAIT_SECONDS)
