"""Tenants over REST: who manages what, what is refused when it is full, what is switched off."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from unittest.mock import ANY

import httpx
import pytest
from inline_snapshot import snapshot

from tests.requirements import requirement

if TYPE_CHECKING:
    from conftest import LiveServer

StartServer = Callable[..., "LiveServer"]
URL = "/api/v1/tenants"


@pytest.fixture
def server(start_server: StartServer) -> LiveServer:
    return start_server(multi_tenant=True, sample_data=False)


@pytest.fixture
def data_server(start_server: StartServer) -> LiveServer:
    return start_server(multi_tenant=True)


async def made(server: LiveServer, tenant_id: str, *, admin: str = "", **terms: Any) -> None:
    async with server.http("root") as client:
        answer = await client.post(URL, json={"name": tenant_id, "tenant_id": tenant_id, **terms})
        assert answer.status_code == 201, answer.text
        if admin:
            answer = await client.put(f"{URL}/{tenant_id}/users/{admin}", json={"role": "admin"})
            assert answer.status_code == 200, answer.text


def error_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error_code"]


@requirement("R35.2", "R35.3")
async def test_an_administrator_manages_tenants(server: LiveServer) -> None:
    async with server.http("root") as client:
        answer = await client.post(
            URL, json={"name": "Acme", "max_users": 5, "features_enabled": {"tool:shell": False}}
        )
        assert answer.status_code == 201
        tenant = answer.json()
        assert tenant == snapshot(
            {
                "tenant_id": ANY,
                "name": "Acme",
                "max_users": 5,
                "max_sessions_per_user": 10,
                "max_mcp_servers": 5,
                "workspace_quota": 1073741824,
                "features_enabled": {"tool:shell": False},
                "created_at": ANY,
                "updated_at": ANY,
            }
        )
        one = f"{URL}/{tenant['tenant_id']}"
        assert (await client.get(URL)).json() == {"items": [tenant], "total": 1}
        assert (await client.get(one)).json() == tenant
        changed = (await client.put(one, json={"name": "Bcme", "workspace_quota": 10})).json()
        assert (changed["name"], changed["max_users"]) == ("Bcme", 100)
        assert (changed["workspace_quota"], changed["features_enabled"]) == (10, {})
        ids = {"tenant_id": tenant["tenant_id"]}
        assert (await client.put(one, json={**ids, "name": "Ccme"})).json()["name"] == "Ccme"
        other = await client.put(one, json={"tenant_id": "other", "name": "Ccme"})
        assert error_of(other) == (422, "bad_input")
        assert "`tenant_id`" in other.json()["message"]
        for wrong in ({"user_id": "bob"}, {"tenant_id": "other"}):
            refused = await client.put(f"{one}/users/alice", json=wrong)
            assert error_of(refused) == (422, "bad_input")
        same = {**ids, "user_id": "alice", "role": "member"}
        member = (await client.put(f"{one}/users/alice", json=same)).json()
        assert member == {
            "tenant_id": tenant["tenant_id"],
            "user_id": "alice",
            "role": "member",
            "created_at": ANY,
        }
        assert (await client.get(f"{one}/users")).json() == {"items": [member], "total": 1}
        assert (await client.delete(f"{one}/users/alice")).status_code == 204
        assert (await client.delete(one)).status_code == 204
        assert error_of(await client.get(one)) == (404, "tenant_not_found")
        assert error_of(await client.put(one, json={"name": "x"})) == (404, "tenant_not_found")
        assert error_of(await client.delete(one)) == (404, "tenant_not_found")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": ""},
        {"name": "  "},
        {"name": "a\u0000"},
        {"name": "x", "owner": "me"},
        {"name": "x", "max_users": "5"},
        {"name": "x", "max_users": -1},
        {"name": "x", "max_users": 2**40},
        {"name": "x", "max_users": True},
        {"name": "x", "features_enabled": {"shell": False}},
        {"name": "x", "features_enabled": {"tool:shell": "no"}},
        {"name": "x", "features_enabled": ["tool:shell"]},
        {"name": "x", "tenant_id": "../etc"},
        {"name": "x", "tenant_id": "x" * 65},
    ],
    ids=str,
)
async def test_a_body_that_does_not_fit_is_refused(live: LiveServer, body: dict[str, Any]) -> None:
    async with live.http("root") as client:
        assert error_of(await client.post(URL, json=body)) == (422, "bad_input")


@requirement("R35.3")
async def test_a_tenants_administrator_manages_its_members_and_nothing_else(
    server: LiveServer,
) -> None:
    await made(server, "acme", admin="alice", max_users=10)
    await made(server, "other", admin="bob")
    own, foreign = f"{URL}/acme", f"{URL}/other"
    async with server.http("alice") as client:
        assert [each["tenant_id"] for each in (await client.get(URL)).json()["items"]] == ["acme"]
        assert (await client.get(own)).json()["max_users"] == 10
        # a user of another tenant looks like one who is not there
        for other in ("bob", "carl", "root"):
            assert error_of(await client.put(f"{own}/users/{other}", json={})) == (404, "not_found")
        for member in ("alice", "bob"):
            assert error_of(await client.delete(f"{own}/users/{member}")) == (403, "denied")
        assert (await client.get(f"{own}/users")).json()["total"] == 1
        for answer in (
            await client.get(foreign),
            await client.get(f"{foreign}/users"),
            await client.put(f"{foreign}/users/alice", json={"role": "admin"}),
            await client.delete(f"{foreign}/users/bob"),
            await client.get(f"{URL}/nowhere"),
        ):
            assert error_of(answer) == (404, "tenant_not_found")
        for answer in (
            await client.post(URL, json={"name": "mine"}),
            await client.put(own, json={"name": "acme", "max_users": 1000}),
            await client.put(foreign, json={"name": "taken"}),
            await client.delete(own),
            await client.delete(foreign),
        ):
            assert error_of(answer) == (403, "denied")
    async with server.http("root") as client:
        assert (await client.get(foreign)).json()["name"] == "other"
        assert (await client.get(f"{foreign}/users")).json()["total"] == 1
        assert error_of(await client.put(f"{own}/users/bob", json={})) == (409, "conflict")


@requirement("R35.3")
async def test_a_user_who_accepts_an_invitation_is_in_the_tenant(server: LiveServer) -> None:
    await made(server, "acme", admin="alice", features_enabled={"agent:sql": False})
    users = server.container.users
    dora = await server.on_server(users.create("dora"))
    _, key = await server.on_server(users.keys.create(dora.user_id, "laptop"))
    async with (
        server.http("alice") as admin,
        server.http(None, headers={"X-API-Key": key}) as client,
        server.http("root") as root,
    ):
        for unknown in ("nobody", "root", (await root.get("/api/auth/me")).json()["id"]):
            refused = await admin.post(f"{URL}/acme/invitations", json={"user_id": unknown})
            assert error_of(refused) == (404, "not_found")
        answer = await admin.post(f"{URL}/acme/invitations", json={"user_id": dora.user_id})
        assert answer.status_code == 201
        invitation = answer.json()
        assert invitation == snapshot(
            {
                "tenant_id": "acme",
                "tenant_name": "acme",
                "user_id": dora.user_id,
                "role": "member",
                "invited_by": "alice",
                "created_at": ANY,
                "expires_at": ANY,
            }
        )
        listed = {"items": [invitation], "total": 1}
        assert (await admin.get(f"{URL}/acme/invitations")).json() == listed
        assert (await client.get("/api/v1/invitations")).json() == listed
        question = {"message": "hi", "assistant_id": "sql"}
        assert (await client.post("/api/v1/chat", json=question)).status_code == 200
        joined = await client.post("/api/v1/invitations/acme/accept")
        assert (joined.status_code, joined.json()["user_id"]) == (200, dora.user_id)
        refused = await client.post("/api/v1/chat", json=question)
        assert error_of(refused) == (403, "agent_disabled")
        assert error_of(await client.post("/api/v1/invitations/acme/accept")) == (404, "not_found")
        assert error_of(await admin.delete(f"{URL}/acme/users/{dora.user_id}")) == (403, "denied")
        rows = (await root.get("/api/v1/audit", params={"action": "accept_invitation"})).json()
        assert [row["user_id"] for row in rows["items"]] == [dora.user_id, dora.user_id]
        assert (await root.delete(f"{URL}/acme/users/{dora.user_id}")).status_code == 204


@requirement("R35.3")
async def test_who_is_no_administrator_is_refused_everywhere(server: LiveServer) -> None:
    await made(server, "acme", admin="alice")
    one, body = f"{URL}/acme", {"name": "acme"}
    async with server.http("bob", headers={"X-Tenant-Id": "acme", "tenant_id": "acme"}) as client:
        for answer in (
            await client.get(URL),
            await client.post(URL, json=body),
            await client.get(one),
            await client.get(f"{URL}/nowhere"),
            await client.put(one, json=body),
            await client.delete(one),
            await client.get(f"{one}/users"),
            await client.put(f"{one}/users/bob", json={"role": "admin"}),
            await client.delete(f"{one}/users/alice"),
            await client.get(f"{one}/invitations"),
            await client.post(f"{one}/invitations", json={"user_id": "bob"}),
            await client.delete(f"{one}/invitations/alice"),
        ):
            assert error_of(answer) == (403, "denied"), answer.request.url
        assert (await client.get("/api/v1/invitations")).json() == {"items": [], "total": 0}
    async with server.http(None) as client:
        assert error_of(await client.get(URL)) == (401, "not_authenticated")


@requirement("R35.1")
async def test_with_tenants_off_nothing_can_be_set_up(live: LiveServer) -> None:
    async with live.http("root") as client:
        assert (await client.get(URL)).json() == {"items": [], "total": 0}
        answer = await client.post(URL, json={"name": "Acme"})
        assert error_of(answer) == (409, "conflict")
        assert "DATAAGENT_MULTI_TENANT=true" in answer.json()["message"]


@requirement("R35.4")
async def test_over_a_tenants_limit_is_429_with_what(server: LiveServer) -> None:
    await made(server, "acme", admin="alice", max_users=1, max_sessions_per_user=1)
    async with server.http("root") as client:
        full = await client.put(f"{URL}/acme/users/carl", json={})
        assert error_of(full) == (429, "tenant_limit")
        assert full.json()["details"] == {"what": "max_users", "limit": 1, "used": 1}
    async with server.http("alice") as client:
        assert (await client.post("/api/v1/sessions", json={})).status_code == 201
        for answer in (
            await client.post("/api/v1/sessions", json={}),
            await client.post("/api/v1/chat", json={"message": "!echo hi"}),
        ):
            assert error_of(answer) == (429, "tenant_limit")
            details = {"what": "max_sessions_per_user", "limit": 1, "used": 1}
            assert answer.json()["details"] == details
            assert int(answer.headers["Retry-After"]) > 0
    async with server.socket(user="alice", is_greeted=False) as socket:
        assert (await socket.next("error"))["data"]["error_code"] == "tenant_limit"
        assert await socket.closed() == 1013


@requirement("R35.5")
async def test_what_is_switched_off_is_refused_at_every_door(server: LiveServer) -> None:
    off = {"tool:ls": False, "agent:sql": False}
    await made(server, "acme", admin="alice", features_enabled=off)
    body = {"message": '!tool ls {"path": "/"}'}
    async with server.http("alice") as client:
        sql = await client.post("/api/v1/chat", json={"message": "hi", "assistant_id": "sql"})
        assert error_of(sql) == (403, "agent_disabled")
        assert (await client.get("/api/v1/sessions")).json()["total"] == 0  # nothing is left over
        said = (await client.post("/api/v1/chat", json=body)).json()["events"]
        (result,) = [each["data"] for each in said if each["event_type"] == "tool_result"]
        assert result["status"] == "denied"
    async with server.socket(user="alice") as socket:
        await socket.say("chat", {"message": "hi", "assistant_id": "sql"})
        assert (await socket.next("error"))["data"]["error_code"] == "agent_disabled"
    async with server.http("bob") as client:
        said = (await client.post("/api/v1/chat", json=body)).json()["events"]
        (result,) = [each["data"] for each in said if each["event_type"] == "tool_result"]
        assert result["status"] == "success"


async def test_a_source_granted_to_a_tenant_is_for_its_users_alone(
    data_server: LiveServer,
) -> None:
    server = data_server
    await made(server, "acme", admin="alice")
    sources = "/api/v1/data-sources"
    async with server.http("root") as client:
        found = (await client.get(f"{sources}/chinook")).json()["source_id"]
        grants = {"grants": [{"subject_kind": "tenant", "subject_id": "acme"}]}
        assert (await client.put(f"{sources}/{found}/grants", json=grants)).status_code == 200
    async with server.http("alice") as client:
        assert (await client.get(sources)).json()["total"] == 1
        query = '!tool sql_db_query {"query": "SELECT COUNT(*) AS n FROM Track"}'
        said = (await client.post("/api/v1/chat", json={"message": query})).json()["events"]
        (result,) = [each["data"] for each in said if each["event_type"] == "tool_result"]
        assert result["status"] == "success"
    async with server.http("bob") as client:
        assert (await client.get(sources)).json()["total"] == 0
        assert (await client.get(f"{sources}/{found}")).status_code == 404
    async with server.http("root") as client:
        assert (await client.delete(f"{URL}/acme")).status_code == 204
    async with server.http("alice") as client:
        assert (await client.get(sources)).json()["total"] == 0
