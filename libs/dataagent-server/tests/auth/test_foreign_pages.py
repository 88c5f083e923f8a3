"""What a page of another site can do with a user's cookie: nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import LiveServer
    from dataagent_core.identity.users import User

PASSWORD = "correct horse"
FOREIGN = {
    "another site": "https://evil.example",
    "null": "null",
    "suffix": "{url}.evil.example",
    "prefix": "http://evil-{host}",
    "user info": "http://{host}@evil.example",
    "another port": "http://127.0.0.1:1",
    "path": "{url}/",
    "file": "file://",
    "two": "{url} https://evil.example",
    "no address": "http://[",
    "empty": "",
}
BODIES: dict[str, dict[str, Any]] = {
    "json": {"json": {}},
    "text": {"content": b"{}", "headers": {"Content-Type": "text/plain"}},
    "form": {"data": {"name": "x"}},
    "multipart": {"files": {"file": ("a.csv", b"a,b\n1,2\n", "text/csv")}},
    "nothing": {},
}


def origin_of(server: LiveServer, name: str) -> str:
    return FOREIGN[name].format(url=server.url, host=server.url.removeprefix("http://"))


async def make_user(server: LiveServer, **options: Any) -> User:
    name = f"u_{uuid4().hex[:12]}"
    return await server.on_server(server.container.users.create(name, **options))


async def cookie_of(server: LiveServer) -> dict[str, str]:
    token = server.container.tokens.issue(await make_user(server))
    return {"Cookie": f"access_token={token}"}


def refusal(answer: httpx.Response) -> tuple[int, str]:
    assert "access-control-allow-credentials" not in answer.headers  # so no page can read it
    assert answer.headers.get("access-control-allow-origin") in (None, "*")
    assert "set-cookie" not in answer.headers
    return answer.status_code, answer.json()["error_code"]


@requirement("R16.5")
@pytest.mark.parametrize("origin", FOREIGN)
@pytest.mark.parametrize("body", BODIES)
async def test_a_foreign_page_writes_nothing_with_the_cookie(
    live: LiveServer, origin: str, body: str
) -> None:
    sent = dict(BODIES[body])
    headers = {
        **await cookie_of(live),
        "Origin": origin_of(live, origin),
        **sent.pop("headers", {}),
    }
    async with live.http(None) as browser:
        for path in ("/api/v1/sessions", "/api/v1/api-keys", "/api/auth/password"):
            answer = await browser.post(path, headers=headers, **sent)
            assert refusal(answer) == (403, "denied"), path
        for method in ("PUT", "PATCH", "DELETE"):
            path = {"PUT": "/password", "PATCH": "/status", "DELETE": ""}[method]
            answer = await browser.request(method, f"/api/users/u{path}", headers=headers, **sent)
            assert refusal(answer) == (403, "denied"), method


async def test_a_write_with_the_cookie_and_no_origin_is_refused(live: LiveServer) -> None:
    async with live.http(None, headers=await cookie_of(live)) as browser:
        answer = await browser.post("/api/v1/sessions", json={})
        assert refusal(answer) == (403, "denied")
        answer = await browser.post(
            "/api/v1/sessions", json={}, headers={"Referer": f"{live.url}/"}
        )
        assert refusal(answer) == (403, "denied")


async def test_our_own_page_writes_with_the_cookie(live: LiveServer) -> None:
    headers = {**await cookie_of(live), "Origin": live.url}
    async with live.http(None, headers=headers) as browser:
        assert (await browser.post("/api/v1/sessions", json={})).status_code == 201
        assert (await browser.post("/api/auth/logout")).status_code == 204


@pytest.mark.parametrize("origin", FOREIGN)
async def test_a_foreign_page_logs_nobody_in_or_out(live: LiveServer, origin: str) -> None:
    user = await make_user(live, password=PASSWORD)
    cookie = {"Cookie": f"access_token={live.container.tokens.issue(user)}"}
    foreign = {"Origin": origin_of(live, origin)}
    async with live.http(None) as browser:
        body = {"username": user.username, "password": PASSWORD}
        answer = await browser.post("/api/auth/login", json=body, headers=foreign)
        assert refusal(answer) == (403, "denied")
        answer = await browser.post("/api/auth/logout", headers={**foreign, **cookie})
        assert refusal(answer) == (403, "denied")
        assert (await browser.get("/api/auth/me", headers=cookie)).status_code == 200


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded"])
async def test_a_form_cannot_log_in_even_without_an_origin(
    live: LiveServer, content_type: str
) -> None:
    user = await make_user(live, password=PASSWORD)
    body = f'{{"username": "{user.username}", "password": "{PASSWORD}"}}'.encode()
    async with live.http(None) as browser:
        answer = await browser.post(
            "/api/auth/login", content=body, headers={"Content-Type": content_type}
        )
    assert refusal(answer) == (422, "bad_input")
    assert PASSWORD not in answer.text


@pytest.mark.parametrize("origin", FOREIGN)
async def test_a_foreign_page_opens_no_socket_with_the_cookie(
    live: LiveServer, origin: str
) -> None:
    headers = {**await cookie_of(live), "Origin": origin_of(live, origin)}
    with pytest.raises(InvalidStatus) as refused:
        async with live.socket(user=None, headers=headers):
            pass
    assert refused.value.response.status_code == 403
    assert b'"error_code":"denied"' in bytes(refused.value.response.body)


@requirement("R16.5", "S10.5a")
@pytest.mark.parametrize("origin", FOREIGN)
async def test_no_page_may_read_with_a_login_unless_it_is_named(
    live: LiveServer, start_server: Callable[..., LiveServer], origin: str
) -> None:
    foreign = origin_of(live, origin)
    asks = {"Origin": foreign, "Access-Control-Request-Method": "POST"}
    async with live.http(None, headers=await cookie_of(live)) as browser:
        for answer in (
            await browser.options("/api/auth/login", headers=asks),
            await browser.get("/api/auth/me", headers={"Origin": foreign}),
            await browser.get("/api/agents", headers={"Origin": foreign}),
        ):
            assert "access-control-allow-origin" not in answer.headers
        for answer in (
            await browser.options("/api/v1/sessions", headers=asks),
            await browser.get("/api/v1/sessions", headers={"Origin": foreign}),
        ):
            # a browser shows no page an answer to a request with a cookie unless both say so
            assert answer.headers["access-control-allow-origin"] == "*"
            assert "access-control-allow-credentials" not in answer.headers


@requirement("R16.5")
async def test_a_named_page_may_write_and_only_that_one(
    start_server: Callable[..., LiveServer],
) -> None:
    app = "https://app.example"
    server = start_server(cors_origins=[app], cors_credentials=True)
    cookie = await cookie_of(server)
    async with server.http(None, headers=cookie) as browser:
        answer = await browser.post("/api/v1/sessions", json={}, headers={"Origin": app})
        assert answer.status_code == 201
        assert answer.headers["access-control-allow-origin"] == app
        assert answer.headers["access-control-allow-credentials"] == "true"
        for other in ("https://app.example.evil", "http://app.example", "null"):
            answer = await browser.post("/api/v1/sessions", json={}, headers={"Origin": other})
            assert answer.status_code == 403
            assert "access-control-allow-origin" not in answer.headers


async def test_a_page_that_is_named_without_credentials_gets_none(
    start_server: Callable[..., LiveServer],
) -> None:
    app = "https://app.example"
    server = start_server(cors_origins=[app])
    async with server.http(None, headers=await cookie_of(server)) as browser:
        answer = await browser.post("/api/v1/sessions", json={}, headers={"Origin": app})
        assert answer.status_code == 403
        assert "access-control-allow-credentials" not in answer.headers


async def test_a_key_is_not_sent_by_browsers_so_its_origin_does_not_matter(
    live: LiveServer,
) -> None:
    async with live.http("alice", headers={"Origin": "https://evil.example"}) as client:
        assert (await client.post("/api/v1/sessions", json={})).status_code == 201
