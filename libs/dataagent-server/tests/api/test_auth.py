"""Log in, stay in, log out; and how little a guesser gets."""

from __future__ import annotations

from http.cookies import SimpleCookie
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import jwt
import pytest

from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

    from conftest import LiveServer
    from dataagent_core.identity.users import User

PASSWORD = "correct horse"
SECRET = "hunter2-is-what-was-typed"
SIGNS = "a key of an operator, long enough to sign"


async def make_user(server: LiveServer, **options: Any) -> User:
    name = f"u_{uuid4().hex[:12]}"
    return await server.on_server(server.container.users.create(name, PASSWORD, **options))


async def log_in(client: httpx.AsyncClient, user: User, password: str = PASSWORD) -> httpx.Response:
    return await client.post(
        "/api/auth/login", json={"username": user.username, "password": password}
    )


def morsel(answer: httpx.Response) -> Any:
    return SimpleCookie(answer.headers["Set-Cookie"])["access_token"]


@requirement("S2.5.1a", "S3.1", "S10.5c")
async def test_a_login_sets_a_cookie_scripts_cannot_read_and_returns_the_user(
    live: LiveServer,
) -> None:
    user = await make_user(live)
    async with live.http(None) as browser:
        answer = await log_in(browser, user)
        assert answer.status_code == 200
        shown = answer.json()
        assert shown == {
            "id": user.user_id,
            "username": user.username,
            "role": "user",
            "status": "active",
            "created_at": shown["created_at"],
        }
        cookie = morsel(answer)
        assert (cookie["httponly"], cookie["samesite"]) == (True, "lax")
        assert (cookie["secure"], cookie["path"], cookie["max-age"]) == ("", "/", "86400")
        assert answer.headers["Cache-Control"] == "no-store"
        assert cookie.value not in answer.text
        assert (await browser.get("/api/auth/me")).json() == shown


@requirement("R33.1", "R33.2")
async def test_the_first_login_makes_the_users_workspace(live: LiveServer) -> None:
    user = await make_user(live)
    workspace = live.container.core.workspaces.get_user_workspace(user.user_id)
    async with live.http(None) as browser:
        assert (await log_in(browser, user, "wrong")).status_code == 401
        assert not workspace.exists()
        assert (await log_in(browser, user)).status_code == 200
    assert {each.name for each in workspace.iterdir()} == {"files", "uploads", "outputs"}


async def test_a_workspace_that_cannot_be_made_keeps_no_one_out(live: LiveServer) -> None:
    user = await make_user(live)
    workspace = live.container.core.workspaces.get_user_workspace(user.user_id)
    workspace.write_text("a file in its place")
    async with live.http(None) as browser:
        assert (await log_in(browser, user)).status_code == 200


@requirement("S2.5.1f", "S9.1")
async def test_a_login_lasts_as_long_as_is_set_and_is_signed_with_the_key_that_is_set(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(jwt_secret_key=SIGNS, jwt_expiration=120, sample_data=False)
    user = await make_user(server)
    async with server.http(None) as browser:
        cookie = morsel(await log_in(browser, user))
        assert cookie["max-age"] == "120"
        claims = jwt.decode(cookie.value, SIGNS, algorithms=["HS256"], issuer="dataagent")
        assert (claims["user_id"], claims["role"]) == (user.user_id, "user")
        assert claims["exp"] - claims["iat"] == 120
        assert (await browser.get("/api/auth/me")).json()["username"] == user.username
        claims["exp"] = claims["iat"] - 1
        browser.cookies.set("access_token", jwt.encode(claims, SIGNS), domain="127.0.0.1")
        assert (await browser.get("/api/auth/me")).status_code == 401


async def test_behind_tls_the_cookie_is_secure_and_only_a_trusted_proxy_says_so(
    live: LiveServer, start_server: Callable[..., LiveServer]
) -> None:
    user = await make_user(live)
    async with live.http(None, headers={"X-Forwarded-Proto": "https"}) as browser:
        answer = await log_in(browser, user)
        assert morsel(answer)["secure"] is True
    distrusting = start_server(forwarded_allow_ips=["192.0.2.1"])
    user = await make_user(distrusting)
    async with distrusting.http(None, headers={"X-Forwarded-Proto": "https"}) as browser:
        assert morsel(await log_in(browser, user))["secure"] == ""


@requirement("S3.1")
async def test_logging_out_ends_the_login_for_every_copy_of_it(live: LiveServer) -> None:
    user = await make_user(live)
    ours = {"Origin": live.url}
    async with live.http(None) as browser, live.http(None) as other_browser:
        kept = morsel(await log_in(browser, user)).value
        await log_in(other_browser, user)
        answer = await browser.post("/api/auth/logout", headers=ours)
        assert (answer.status_code, answer.content) == (204, b"")
        assert morsel(answer)["max-age"] == "0"
        assert (await browser.get("/api/auth/me")).status_code == 401
        assert (await other_browser.get("/api/auth/me")).status_code == 200
        again = await browser.post("/api/auth/logout", headers=ours)  # nothing left to end
        assert again.status_code == 204
    async with live.http(None, headers={"Cookie": f"access_token={kept}"}) as thief:
        assert (await thief.get("/api/auth/me")).status_code == 401
    async with live.http(None, headers={"Authorization": f"Bearer {kept}"}) as thief:
        assert (await thief.get("/api/auth/me")).status_code == 401


@pytest.mark.parametrize(
    ("key", "expected"), [("alice", ("alice", "user")), ("root", ("root", "admin"))]
)
async def test_a_caller_without_an_account_is_told_who_they_are(
    live: LiveServer, key: str, expected: tuple[str, str]
) -> None:
    async with live.http(key) as client:
        shown = (await client.get("/api/auth/me")).json()
        assert (shown["id"], shown["role"]) == expected
        assert (shown["username"], shown["created_at"]) == (shown["id"], None)
        body = {"old_password": "x", "new_password": "y"}
        assert (await client.post("/api/auth/password", json=body)).status_code == 404


async def test_a_new_password_ends_the_other_logins_and_the_keys(live: LiveServer) -> None:
    user = await make_user(live)
    async with live.http(None, headers={"Origin": live.url}) as here, live.http(None) as there:
        await log_in(here, user)
        await log_in(there, user)
        key = (await here.post("/api/v1/api-keys", json={"name": "k"})).json()["key"]
        body = {"old_password": "wrong", "new_password": "staple tractor"}
        refused = await here.post("/api/auth/password", json=body)
        assert (refused.status_code, refused.json()["error_code"]) == (403, "wrong_password")
        answer = await here.post("/api/auth/password", json={**body, "old_password": PASSWORD})
        assert answer.status_code == 200
        assert answer.json()["id"] == user.user_id
        assert (await here.get("/api/auth/me")).status_code == 200
        assert (await there.get("/api/auth/me")).status_code == 401
        assert (await log_in(there, user)).status_code == 401
        assert (await log_in(there, user, "staple tractor")).status_code == 200
    async with live.http(None, headers={"X-API-Key": key}) as program:
        assert (await program.get("/api/auth/me")).status_code == 401


@requirement("S2.5.1e")
async def test_a_disabled_account_answers_like_a_wrong_password(live: LiveServer) -> None:
    user = await make_user(live)
    await live.on_server(live.container.users.set_status(user.user_id, "disabled"))
    async with live.http(None) as browser:
        refused = await log_in(browser, user)
        wrong = await log_in(browser, await make_user(live), "wrong")
    assert (refused.status_code, refused.json()) == (wrong.status_code, wrong.json())
    assert "set-cookie" not in refused.headers


# -- guessing ---------------------------------------------------------------------------------


async def test_forty_guesses_end_in_429_that_says_when_whatever_address_they_claim(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(login_failures_per_name=3)
    user = await make_user(server)
    answers: dict[str, list[tuple[int, str]]] = {}
    async with server.http(None) as guesser:
        for name in (user.username, "nobody_here"):
            answers[name] = []
            for n in range(20):
                answer = await guesser.post(
                    "/api/auth/login",
                    json={"username": name, "password": f"guess {n}"},
                    headers={"X-Forwarded-For": f"198.51.100.{n}"},
                )
                answers[name].append((answer.status_code, answer.json()["error_code"]))
        last = await log_in(guesser, user)
    assert answers[user.username] == answers["nobody_here"]
    assert answers[user.username] == [(401, "wrong_login")] * 3 + [(429, "too_many_logins")] * 17
    assert (last.status_code, last.json()["error_code"]) == (429, "too_many_logins")
    assert 0 < int(last.headers["Retry-After"]) <= 900


async def test_an_untrusted_client_cannot_claim_other_addresses(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(login_failures_per_address=4, forwarded_allow_ips=["192.0.2.1"])
    statuses: list[int] = []
    async with server.http(None) as guesser:
        for n in range(6):
            answer = await guesser.post(
                "/api/auth/login",
                json={"username": f"name_{n}", "password": "guess"},
                headers={"X-Forwarded-For": f"198.51.100.{n}", "X-Real-IP": f"198.51.100.{n}"},
            )
            statuses.append(answer.status_code)
    assert statuses == [401] * 4 + [429] * 2


async def test_the_limit_counts_for_all_processes_and_after_a_restart(
    start_server: Callable[..., LiveServer], tmp_path: object
) -> None:
    first = start_server(home=tmp_path, login_failures_per_name=2)
    user = await make_user(first)
    async with first.http(None) as guesser:
        assert [(await log_in(guesser, user, "no")).status_code for _ in range(2)] == [401, 401]
    first.stop()
    second = start_server(home=tmp_path, login_failures_per_name=2)
    async with second.http(None) as guesser:
        assert (await log_in(guesser, user)).status_code == 429


@pytest.mark.parametrize(
    "body",
    [
        {"username": "dora", "password": "x" * 2_000_000},
        {"username": "dora", "password": f"{SECRET}\x00"},
        {"username": "dora\x00", "password": SECRET},
        {"username": "x" * 2_000_000, "password": SECRET},
        {"username": "dora", "password": [SECRET]},
        {"username": "dora", "password": {"$ne": SECRET}},
        {"username": "dora", "password": 1234567890},
        {"username": [SECRET], "password": SECRET},
        {"username": "dora", "password": None},
        {"username": "dora", "password": SECRET, "role": "admin"},
        {"username": "dora"},
        [SECRET],
        SECRET,
    ],
    ids=range(13),
)
async def test_what_cannot_be_a_login_is_422_and_is_not_sent_back(
    live: LiveServer, body: Any
) -> None:
    async with live.http(None) as browser:
        answer = await browser.post("/api/auth/login", json=body)
    assert (answer.status_code, answer.json()["error_code"]) == (422, "bad_input")
    assert "set-cookie" not in answer.headers
    for secret in (SECRET, "1234567890", "xxxxxxxx"):
        assert secret not in answer.text


@requirement("S2.5.2d")
async def test_bytes_after_the_72nd_count(live: LiveServer) -> None:
    longest = "ü" * 36
    user = await make_user(live)
    await live.on_server(live.container.users.set_password(user.user_id, longest))
    async with live.http(None) as browser:
        assert (await log_in(browser, user, longest + "x")).status_code == 401
        assert (await log_in(browser, user, longest)).status_code == 200
