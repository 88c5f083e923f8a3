"""A user's own keys: made, shown once, listed by their first characters, ended at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from tests.requirements import requirement

if TYPE_CHECKING:
    from conftest import LiveServer


async def login_headers(server: LiveServer) -> dict[str, str]:
    """Headers of a browser in which a new user is logged in."""
    name = f"u_{uuid4().hex[:12]}"
    user = await server.on_server(server.container.users.create(name))
    token = server.container.tokens.issue(user)
    return {"Cookie": f"access_token={token}", "Origin": server.url}


@requirement("R19.1", "R19.2", "R19.3")
async def test_a_key_is_shown_once_and_works_until_it_is_revoked(live: LiveServer) -> None:
    async with live.http(None, headers=await login_headers(live)) as browser:
        made = await browser.post("/api/v1/api-keys", json={"name": "laptop"})
        assert made.status_code == 201
        assert made.headers["Cache-Control"] == "no-store"
        shown = made.json()
        key = shown.pop("key")
        assert shown == {
            "id": shown["id"],
            "name": "laptop",
            "prefix": key[:12],
            "created_at": shown["created_at"],
            "last_used": None,
            "created_by": (await browser.get("/api/auth/me")).json()["username"],
            "is_by_other": False,
        }
        async with live.http(None, headers={"X-API-Key": key}) as program:
            me = (await browser.get("/api/auth/me")).json()
            assert (await program.get("/api/auth/me")).json() == me
            listed = await browser.get("/api/v1/api-keys")
            assert key not in listed.text
            used = listed.json()["items"][0].pop("last_used")
            assert used is not None
            assert listed.json() == {"items": [{**shown, "last_used": used}], "total": 1}
            gone = await browser.delete(f"/api/v1/api-keys/{shown['id']}")
            assert gone.status_code == 204
            assert (await program.get("/api/auth/me")).status_code == 401
            again = await browser.delete(f"/api/v1/api-keys/{shown['id']}")
            assert (again.status_code, again.json()["error_code"]) == (404, "not_found")


async def test_anothers_key_is_neither_seen_nor_revoked(live: LiveServer) -> None:
    async with (
        live.http(None, headers=await login_headers(live)) as hers,
        live.http(None, headers=await login_headers(live)) as his,
        live.http("root") as admin,
    ):
        made = (await hers.post("/api/v1/api-keys", json={"name": "hers"})).json()
        for other in (his, admin):
            assert (await other.get("/api/v1/api-keys")).json() == {"items": [], "total": 0}
            assert (await other.delete(f"/api/v1/api-keys/{made['id']}")).status_code == 404
        assert (await hers.get("/api/v1/api-keys")).json()["total"] == 1


@requirement("R19.2", "R19.3", "R32.1")
async def test_an_administrator_makes_lists_and_revokes_anothers_keys(live: LiveServer) -> None:
    user = await live.on_server(live.container.users.create(f"u_{uuid4().hex[:12]}"))
    whose = {"user_id": user.user_id}
    async with live.http("root") as admin:
        made = await admin.post("/api/v1/api-keys", params=whose, json={"name": "theirs"})
        assert made.status_code == 201
        key = made.json()
        async with live.http(None, headers={"X-API-Key": key["key"]}) as program:
            assert (await program.get("/api/auth/me")).json()["id"] == user.user_id
            listed = (await admin.get("/api/v1/api-keys", params=whose)).json()
            assert [each["id"] for each in listed["items"]] == [key["id"]]
            assert (await admin.get("/api/v1/api-keys")).json()["total"] == 0
            url = f"/api/v1/api-keys/{key['id']}"
            assert (await admin.delete(url)).status_code == 404
            assert (await admin.delete(url, params=whose)).status_code == 204
            assert (await program.get("/api/auth/me")).status_code == 401
        for action in ("create_api_key", "revoke_api_key"):
            query = {"action": action, "outcome": "success", "limit": "1"}
            (record,) = (await admin.get("/api/v1/audit", params=query)).json()["items"]
            assert (record["user_id"], record["details"]["values"]["user_id"]) == (
                "root",
                user.user_id,
            )
        nobody = await admin.post(
            "/api/v1/api-keys", params={"user_id": "nobody-at-all"}, json={"name": "x"}
        )
        assert nobody.status_code == 409


async def test_nobody_else_gets_at_anothers_keys_by_naming_them(live: LiveServer) -> None:
    user = await live.on_server(live.container.users.create(f"u_{uuid4().hex[:12]}"))
    key, _ = await live.on_server(live.container.users.keys.create(user.user_id, "theirs"))
    whose = {"user_id": user.user_id}
    async with live.http("bob") as bob:
        for answer in (
            await bob.get("/api/v1/api-keys", params=whose),
            await bob.post("/api/v1/api-keys", params=whose, json={"name": "mine now"}),
            await bob.delete(f"/api/v1/api-keys/{key.key_id}", params=whose),
        ):
            assert (answer.status_code, answer.json()["error_code"]) == (403, "denied")
    assert await live.on_server(live.container.users.keys.list(user.user_id)) == [key]


async def test_a_key_that_an_administrator_makes_is_told_to_its_user_and_kept_under_both_names(
    live: LiveServer,
) -> None:
    users = live.container.users
    headers = await login_headers(live)
    boss = await live.on_server(users.create(f"boss_{uuid4().hex[:8]}", role="admin"))
    _, boss_key = await live.on_server(users.keys.create(boss.user_id, "laptop"))
    async with (
        live.http(None, headers=headers) as browser,
        live.http("root") as root,
        live.http(None, headers={"X-API-Key": boss_key}) as admin,
    ):
        me = (await browser.get("/api/auth/me")).json()
        whose = {"user_id": me["id"]}
        made = [
            (await each.post("/api/v1/api-keys", params=whose, json={"name": "theirs"})).json()
            for each in (root, admin)
        ]
        await browser.post("/api/v1/api-keys", json={"name": "mine"})
        listed = (await browser.get("/api/v1/api-keys")).json()["items"]
        assert [(each["created_by"], each["is_by_other"]) for each in listed] == [
            ("root", True),  # a deployment's key has no account
            (boss.username, True),
            (me["username"], False),
        ]
        gone = await admin.delete(f"/api/v1/api-keys/{made[0]['id']}", params=whose)
        assert gone.status_code == 204
        audit = {"action": "create_api_key", "user_id": boss.user_id}
        [theirs] = (await root.get("/api/v1/audit", params=audit)).json()["items"]
        assert theirs["target"] == made[1]["id"]
        kept = (await root.get("/api/v1/audit", params=whose)).json()["items"]
    assert [(each["action"], each["target"], each["details"].get("by")) for each in kept] == [
        ("api_key_revoked_by_other", made[0]["id"], boss.user_id),
        ("create_api_key", listed[2]["id"], None),
        ("api_key_created_by_other", made[1]["id"], boss.user_id),
        ("api_key_created_by_other", made[0]["id"], "root"),
    ]


async def test_a_caller_without_an_account_has_no_keys(live: LiveServer) -> None:
    async with live.http("alice") as client:
        answer = await client.post("/api/v1/api-keys", json={"name": "mine"})
    assert (answer.status_code, answer.json()["error_code"]) == (409, "conflict")
    assert "Only an account can have keys" in answer.json()["message"]


@pytest.mark.parametrize(
    "body",
    [{}, {"name": ""}, {"name": " "}, {"name": "x" * 101}, {"name": "a\x00"}, {"name": 1}],
    ids=range(6),
)
async def test_a_key_without_a_proper_name_is_422(live: LiveServer, body: dict[str, Any]) -> None:
    async with live.http(None, headers=await login_headers(live)) as browser:
        answer = await browser.post("/api/v1/api-keys", json=body)
    assert (answer.status_code, answer.json()["error_code"]) == (422, "bad_input")
