"""Administrators and the accounts; an administrator always stays."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from tests.requirements import requirement
from tests.services import fresh_database
from tests.tiers import SQL_STORES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import httpx

    from conftest import LiveServer
    from dataagent_core.identity.users import User

PASSWORD = "correct horse"
SECRET = "hunter2-is-what-was-typed"


async def make_user(server: LiveServer, **options: Any) -> User:
    name = f"u_{uuid4().hex[:12]}"
    return await server.on_server(server.container.users.create(name, **options))


def as_user(server: LiveServer, user: User) -> dict[str, str]:
    token = server.container.tokens.issue(user)
    return {"Cookie": f"access_token={token}", "Origin": server.url}


@requirement("S2.5.2a", "S3.2")
async def test_an_account_from_its_making_to_its_end(live: LiveServer) -> None:
    name = f"u_{uuid4().hex[:12]}"
    body = {"username": name, "password": PASSWORD, "role": "user"}
    async with live.http("root") as admin:
        made = await admin.post("/api/users", json=body)
        assert made.status_code == 201
        shown = made.json()
        expected = {"username": name, "role": "user", "status": "active"}
        rest = {"id": shown["id"], "created_at": shown["created_at"]}
        assert shown == {**expected, **rest}
        assert shown in (await admin.get("/api/users?limit=1000")).json()["items"]
        url = f"/api/users/{shown['id']}"
        taken = await admin.post("/api/users", json=body)
        assert (taken.status_code, taken.json()["error_code"]) == (409, "conflict")
        raised = await admin.patch(f"{url}/role", json={"role": "admin"})
        assert raised.json() == {**shown, "role": "admin"}
        kept_out = await admin.patch(f"{url}/status", json={"status": "disabled"})
        assert kept_out.json() == {**shown, "role": "admin", "status": "disabled"}
        assert (await admin.delete(url)).status_code == 204
        gone = await admin.delete(url)
        assert (gone.status_code, gone.json()["error_code"]) == (404, "not_found")


ROUTES = [
    ("GET", "/api/users"),
    ("POST", "/api/users"),
    ("DELETE", "/api/users/{user_id}"),
    ("PATCH", "/api/users/{user_id}/status"),
    ("PATCH", "/api/users/{user_id}/role"),
    ("PUT", "/api/users/{user_id}/password"),
]


@requirement("S3.2", "S2.5.1d")
@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_accounts_are_for_administrators_alone(
    live: LiveServer, method: str, path: str
) -> None:
    user = await make_user(live)
    url = path.format(user_id=user.user_id)
    own = as_user(live, user)
    for headers, expected in (({}, (401, "not_authenticated")), (own, (403, "denied"))):
        async with live.http(None, headers=headers) as client:
            answer = await client.request(method, url, json={"status": "disabled"})
            assert (answer.status_code, answer.json()["error_code"]) == expected
            assert user.username not in answer.text
    assert await live.on_server(live.container.users.get(user.user_id)) == user


async def test_accounts_are_listed_in_pages_without_their_passwords(live: LiveServer) -> None:
    for _ in range(3):
        await make_user(live, password=PASSWORD)
    async with live.http("root") as admin:
        everyone = (await admin.get("/api/users?limit=1000")).json()
        page = await admin.get("/api/users?limit=2&offset=1")
    assert page.json() == {"items": everyone["items"][1:3], "total": everyone["total"]}
    assert "$2b$" not in page.text


async def test_accounts_are_found_by_name(live: LiveServer) -> None:
    user = await make_user(live)
    await make_user(live)
    async with live.http("root") as admin:
        part = user.username[1:].upper()
        found = (await admin.get("/api/users", params={"search": part})).json()
        assert (found["total"], found["items"][0]["id"]) == (1, user.user_id)
        assert (await admin.get("/api/users", params={"search": "%"})).json()["total"] == 0
        assert (await admin.get("/api/users?search=" + "x" * 101)).status_code == 422


@requirement("S2.5.1b")
@pytest.mark.parametrize(
    "body",
    [
        {"username": "ab", "password": PASSWORD, "role": "user"},
        {"username": "with space", "password": PASSWORD, "role": "user"},
        {"username": f"{SECRET}-much-too-long", "password": PASSWORD, "role": "user"},
        {"username": "fine", "password": SECRET * 4, "role": "user"},
        {"username": "fine", "password": f"{SECRET}\x00", "role": "user"},
        {"username": "fine", "password": "", "role": "user"},
        {"username": "fine", "password": [SECRET], "role": "user"},
        {"username": "fine", "password": PASSWORD, "role": "owner"},
        {"username": "fine", "password": PASSWORD, "role": "user", "user_id": "mine"},
        {"username": "fine", "password": PASSWORD, "role": None},
        {"username": "fine", "password": PASSWORD},
        {"username": "fine", "password": None, "role": "user"},
        {"username": "fine", "role": "user"},
        {"password": PASSWORD, "role": "user"},
    ],
    ids=range(14),
)
async def test_an_account_that_cannot_be_is_422_and_nothing_is_sent_back(
    live: LiveServer, body: dict[str, Any]
) -> None:
    async with live.http("root") as admin:
        answer = await admin.post("/api/users", json=body)
    assert (answer.status_code, answer.json()["error_code"]) == (422, "bad_input")
    assert SECRET not in answer.text


async def test_an_administrators_reset_ends_logins_and_keys(live: LiveServer) -> None:
    user = await make_user(live, password="old password")
    _, key = await live.on_server(live.container.users.keys.create(user.user_id, "k"))
    async with live.http("root") as admin:
        url = f"/api/users/{user.user_id}/password"
        assert (await admin.put(url, json={"password": PASSWORD})).status_code == 200
        nobody = await admin.put("/api/users/nobody/password", json={"password": PASSWORD})
        assert nobody.status_code == 404
    for headers in (as_user(live, user), {"X-API-Key": key}):
        async with live.http(None, headers=headers) as client:
            assert (await client.get("/api/auth/me")).status_code == 401
    async with live.http(None) as browser:
        body = {"username": user.username, "password": PASSWORD}
        assert (await browser.post("/api/auth/login", json=body)).status_code == 200


@requirement("S2.5.2b")
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("DELETE", "", None),
        ("PATCH", "/status", {"status": "disabled"}),
        ("PATCH", "/role", {"role": "user"}),
        ("PUT", "/password", {"password": PASSWORD}),
    ],
)
async def test_an_administrator_does_nothing_to_their_own_account(
    live: LiveServer, method: str, path: str, body: dict[str, str] | None
) -> None:
    me = await make_user(live, role="admin")
    async with live.http(None, headers=as_user(live, me)) as admin:
        answer = await admin.request(method, f"/api/users/{me.user_id}{path}", json=body)
        assert (answer.status_code, answer.json()["error_code"]) == (409, "own_account")
        assert (await admin.get("/api/auth/me")).json()["role"] == "admin"


@requirement("S2.5.2c")
async def test_the_last_active_administrator_stays(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server()
    last = await server.on_server(server.container.users.first_admin())
    assert last is not None
    url = f"/api/users/{last.user_id}"
    async with server.http("root") as service:
        for answer in (
            await service.delete(url),
            await service.patch(f"{url}/status", json={"status": "disabled"}),
            await service.patch(f"{url}/role", json={"role": "user"}),
        ):
            assert (answer.status_code, answer.json()["error_code"]) == (409, "last_admin")
        fine = await service.patch(f"{url}/status", json={"status": "active"})
        assert fine.status_code == 200


@pytest.mark.parametrize("kind", SQL_STORES)
async def test_of_two_administrators_who_act_on_each_other_at_once_one_stays(
    start_server: Callable[..., LiveServer], tmp_path: Path, kind: str
) -> None:
    with fresh_database(kind, tmp_path) as url:
        server = start_server(database_url=url)
        first = await server.on_server(server.container.users.first_admin())
        assert first is not None
        for _ in range(5):
            second = await make_user(server, role="admin")
            first = await _survivor(server, first, second)
        server.stop()


async def _survivor(server: LiveServer, first: User, second: User) -> User:
    """Let both disable the other at once; who is left."""

    async def disable(by: User, target: User) -> httpx.Response:
        async with server.http(None, headers=as_user(server, by)) as admin:
            url = f"/api/users/{target.user_id}/status"
            return await admin.patch(url, json={"status": "disabled"})

    answers = await asyncio.gather(disable(first, second), disable(second, first))
    statuses = [answer.status_code for answer in answers]
    assert statuses.count(200) == 1, [answer.text for answer in answers]
    assert set(statuses) <= {200, 401, 403, 409}
    left = await server.on_server(server.container.users.first_admin())
    assert left is not None
    assert left.user_id == (first if statuses[0] == 200 else second).user_id
    return left
