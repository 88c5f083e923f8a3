"""The printed link logs a browser in, once; pages of other sites are let in when named."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import LiveServer


def link_of(server: LiveServer) -> str:
    found = re.search(r"/login\?token=\S+", server.greeting.getvalue())
    assert found is not None
    return found.group()


async def test_the_link_logs_in_once_and_the_cookie_is_kept_from_scripts(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server()
    link = link_of(server)
    async with server.http(None) as browser:
        answer = await browser.get(link)
        assert (answer.status_code, answer.headers["Location"]) == (303, "/")
        cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert "Max-Age=86400" in cookie
        assert (await browser.get("/api/v1/sessions")).status_code == 200
        ours = {"Origin": server.url}
        assert (await browser.post("/api/v1/sessions", json={}, headers=ours)).status_code == 201
        for origin in ({}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
            refused = await browser.post("/api/v1/sessions", json={}, headers=origin)
            assert (refused.status_code, refused.json()["error_code"]) == (403, "denied")
            assert "access-control-allow-origin" not in refused.headers
    async with server.http(None) as another:
        again = await another.get(link)
        assert (again.status_code, again.json()["error_code"]) == (401, "not_authenticated")
        assert "set-cookie" not in again.headers


async def test_a_wrong_link_is_401(live: LiveServer) -> None:
    async with live.http(None) as browser:
        for token in ("", "wrong", "x" * 10_000, "%00", "%ff"):
            answer = await browser.get(f"/login?token={token}")
            assert answer.status_code == 401, token
        assert (await browser.get("/login")).status_code == 401


@requirement("S2.5.1e")
async def test_a_disabled_users_cookie_is_out_at_once(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server()
    async with server.http(None) as browser:
        await browser.get(link_of(server))
        admin = await server.on_server(server.container.users.first_admin())
        assert admin is not None
        await server.on_server(server.container.users.create("other", role="admin"))
        await server.on_server(server.container.users.set_status(admin.user_id, "disabled"))
        assert (await browser.get("/api/v1/sessions")).status_code == 401


@requirement("S9.1")
async def test_the_first_start_makes_an_admin_and_shows_a_made_up_password_once(
    start_server: Callable[..., LiveServer], tmp_path: object
) -> None:
    first = start_server(home=tmp_path, admin_password=None)
    found = re.search(r"user 'admin', password '([^']+)'", first.greeting.getvalue())
    assert found is not None
    verified = await first.on_server(first.container.users.verify_password("admin", found.group(1)))
    assert verified is not None
    assert verified.role == "admin"
    first.stop()
    second = start_server(home=tmp_path, admin_password=None)
    assert "password" not in second.greeting.getvalue()


@requirement("R16.5", "S10.5a")
async def test_other_sites_are_let_in_only_when_they_are_named(
    live: LiveServer, start_server: Callable[..., LiveServer]
) -> None:
    asks = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    async with live.http(None) as browser:
        answer = await browser.options("/api/v1/chat", headers=asks)
        assert "access-control-allow-origin" not in answer.headers
    named = start_server(cors_origins=["https://a.example"])
    async with named.http(None) as browser:
        answer = await browser.options("/api/v1/chat", headers=asks)
        assert answer.headers["access-control-allow-origin"] == "https://a.example"
        assert "access-control-allow-credentials" not in answer.headers
        other = await browser.options(
            "/api/v1/chat", headers={**asks, "Origin": "https://b.example"}
        )
        assert "access-control-allow-origin" not in other.headers
