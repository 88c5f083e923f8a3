"""The printed link logs a person in, once; pages of other sites are let in when named."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

import httpx

from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import LiveServer


def link_of(server: LiveServer) -> str:
    found = re.search(r"/login\?token=\S+", server.greeting.getvalue())
    assert found is not None
    return found.group()


async def pressed(browser: httpx.AsyncClient, link: str, **headers: str) -> httpx.Response:
    """Open the link and press its button, as a browser does that shows the page."""
    page = await browser.get(link, headers={"Accept": "text/html"})
    assert page.status_code == 200
    forms = re.findall(r'<form method="post" action="([^"]+)">', page.text)
    fields = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page.text)
    assert (forms, len(fields), page.text.count("<button")) == (["/login"], 1, 1)
    data = {name: unescape(value) for name, value in fields}
    return await browser.post("/login", data=data, headers={"Accept": "text/html", **headers})


async def test_the_link_logs_in_once_and_the_cookie_is_kept_from_scripts(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server()
    link = link_of(server)
    ours = {"Origin": server.url}
    async with server.http(None) as browser:
        answer = await pressed(browser, link, **ours)
        assert (answer.status_code, answer.headers["Location"]) == (303, "/")
        cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert "Max-Age=86400" in cookie
        assert (await browser.get("/api/v1/sessions")).status_code == 200
        assert (await browser.post("/api/v1/sessions", json={}, headers=ours)).status_code == 201
        admin = await server.on_server(server.container.users.first_admin())
        assert admin is not None
        workspace = server.container.core.workspaces.get_user_workspace(admin.user_id)
        assert (workspace / "uploads").is_dir()
        for origin in ({}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
            refused = await browser.post("/api/v1/sessions", json={}, headers=origin)
            assert (refused.status_code, refused.json()["error_code"]) == (403, "denied")
            assert "access-control-allow-credentials" not in refused.headers
    async with server.http(None) as another:
        again = await pressed(another, link)
        assert again.status_code == 401
        assert "was used already or is too old" in again.text
        assert "set-cookie" not in again.headers


async def test_opening_the_link_logs_nobody_in_and_leaves_it_good(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server()
    link = link_of(server)
    async with server.http(None) as preview:
        for method in ("GET", "HEAD", "GET"):
            page = await preview.request(method, link)
            assert "set-cookie" not in page.headers
        assert page.headers["Cache-Control"] == "no-store"
        policy = page.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; style-src 'nonce-")
        assert policy.endswith("base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
        assert page.headers["Referrer-Policy"] == "strict-origin"
        assert (await preview.get("/api/v1/sessions")).status_code == 401
    async with server.http(None) as browser:
        assert (await pressed(browser, link)).status_code == 303


async def test_a_page_of_another_site_cannot_press_the_button(live: LiveServer) -> None:
    users = live.container.users
    admin = await live.on_server(users.first_admin())
    assert admin is not None
    token = await live.on_server(users.links.create(admin.user_id))
    async with live.http(None) as browser:
        for origin in ("https://evil.example", "null"):
            refused = await browser.post(
                "/login", data={"token": token}, headers={"Origin": origin}
            )
            assert (refused.status_code, refused.json()["error_code"]) == (403, "denied")
        assert (await pressed(browser, f"/login?token={token}")).status_code == 303


async def test_a_wrong_link_is_401(live: LiveServer) -> None:
    async with live.http(None) as browser:
        for token in ("", "wrong", "x" * 10_000, "\x00", "ÿ"):
            answer = await browser.post("/login", data={"token": token})
            assert (answer.status_code, answer.json()["error_code"]) == (401, "not_authenticated")
        assert (await browser.post("/login")).status_code == 401


async def test_the_page_shows_what_stands_in_its_address_as_text_only(live: LiveServer) -> None:
    hostile = '"><script>alert(1)</script>'
    async with live.http(None, headers={"Accept-Language": "zh-CN,zh;q=0.9"}) as browser:
        page = await browser.get("/login", params={"token": hostile})
    assert "<script" not in page.text
    assert "登录" in page.text


@requirement("S2.5.1e")
async def test_a_disabled_users_cookie_is_out_at_once(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server()
    async with server.http(None) as browser:
        await pressed(browser, link_of(server))
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
async def test_other_sites_may_ask_with_a_key_unless_some_are_named(
    live: LiveServer, start_server: Callable[..., LiveServer]
) -> None:
    asks = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    async with live.http(None) as browser:
        answer = await browser.options("/api/v1/chat", headers=asks)
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers
    named = start_server(cors_origins=["https://a.example"])
    async with named.http(None) as browser:
        answer = await browser.options("/api/v1/chat", headers=asks)
        assert answer.headers["access-control-allow-origin"] == "https://a.example"
        assert "access-control-allow-credentials" not in answer.headers
        other = await browser.options(
            "/api/v1/chat", headers={**asks, "Origin": "https://b.example"}
        )
        assert "access-control-allow-origin" not in other.headers
