"""Every route: nobody gets in without a credential, nobody reaches what is another's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from tests.requirements import requirement

if TYPE_CHECKING:
    from conftest import LiveServer

OPEN = {
    "/",
    "/login",
    "/static/{name}",
    "/docs",
    "/docs/oauth2-redirect",
    "/redoc",
    "/openapi.json",
}
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


FOR_ADMINS = {
    ("POST", "/api/v1/data-sources"),
    ("PUT", "/api/v1/data-sources/{source_id}"),
    ("DELETE", "/api/v1/data-sources/{source_id}"),
    ("PUT", "/api/v1/data-sources/{source_id}/grants"),
    ("POST", "/api/v1/data-sources/{source_id}/refresh"),
    ("GET", "/api/v1/data-sources/{source_id}/policies"),
    ("POST", "/api/v1/data-sources/{source_id}/policies"),
    ("PUT", "/api/v1/data-sources/{source_id}/policies/{policy_id}"),
    ("DELETE", "/api/v1/data-sources/{source_id}/policies/{policy_id}"),
    ("GET", "/api/v1/users/{user_id}/attributes"),
    ("PUT", "/api/v1/users/{user_id}/attributes"),
}
NOTHING = {
    "session_id": "s",
    "run_id": "r",
    "request_id": "q",
    "source_id": "d",
    "policy_id": "p",
    "artifact_id": "a",
    "user_id": "u",
}


async def own_source(live: LiveServer) -> dict[str, str]:
    """A source that alice alone may read, with a policy, and a result of hers."""
    path = live.container.settings.home_dir / "sample" / "chinook.sqlite"
    policy = {"name": "p", "rules": {"subjects": "everyone", "tables": {"*": {"grant": True}}}}
    body = {
        "name": f"hers-{uuid4().hex[:8]}",
        "url": f"sqlite:///{path}",
        "grants": [{"subject_kind": "user", "subject_id": "alice"}],
    }
    async with live.http("root") as client:
        source_id = (await client.post("/api/v1/data-sources", json=body)).json()["source_id"]
        url = f"/api/v1/data-sources/{source_id}"
        policy_id = (await client.post(f"{url}/policies", json=policy)).json()["policy_id"]
    async with live.http() as client:
        found = (await client.post(f"{url}/query", json={"sql": "SELECT 's3cr3t' AS s"})).json()
    artifact_id = found["artifact"]["artifact_id"]
    return {"source_id": source_id, "policy_id": policy_id, "artifact_id": artifact_id}


async def own_things(live: LiveServer) -> dict[str, str]:
    """A session of alice's with a run that waits for her, and data of hers."""
    data = await own_source(live)
    async with live.http() as client:
        answer = await client.post(
            "/api/v1/chat",
            json={"message": '!tool write_file {"file_path": "/secret.txt", "content": "s3cr3t"}'},
        )
    body = answer.json()
    request_id = body["events"][-1]["data"]["request_id"]
    return {
        **data,
        "user_id": "alice",
        "session_id": body["session_id"],
        "run_id": body["run_id"],
        "request_id": request_id,
    }


def private_routes(live: LiveServer) -> list[tuple[str, str]]:
    """Every route of the app that is not open to all, from its OpenAPI document."""
    document = live.app.openapi()
    return [
        (method.upper(), path)
        for path, methods in document["paths"].items()
        for method in methods
        if not path.startswith("/api/v1/health")
    ]


def body_for(path: str, things: dict[str, str]) -> dict[str, Any] | None:
    if path.endswith("/{request_id}"):
        return {"type": "approve"}
    if path == "/api/v1/chat":
        return {"message": "!echo mine now", "session_id": things["session_id"]}
    if path.endswith(("/check", "/query")):
        return {"sql": "SELECT * FROM Customer"}
    return {} if path == "/api/v1/sessions" else None


@requirement("R19.2", "R19.3", "P30")
@pytest.mark.parametrize("name", WRONG_KEYS)
async def test_without_a_valid_key_every_route_is_401(live: LiveServer, name: str) -> None:
    key = WRONG_KEYS[name]
    headers = {} if key is None else {"X-API-Key": key}
    things = NOTHING
    routes = private_routes(live)
    assert len(routes) >= 31
    assert set(routes) >= FOR_ADMINS
    async with live.http(None, headers=headers) as client:
        for method, path in routes:
            answer = await client.request(
                method, path.format(**things), json=body_for(path, things)
            )
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


async def test_another_users_things_are_not_found_by_any_route(live: LiveServer) -> None:
    things = await own_things(live)
    paths = [(m, p) for m, p in private_routes(live) if "{" in p or p == "/api/v1/chat"]
    theirs = [each for each in paths if each not in FOR_ADMINS]
    of_admins = {each for each in theirs if "{source_id}" in each[1]}  # they see every source
    for user in ("bob", "service", "root"):
        async with live.http(user) as client:
            for method, path in theirs:
                if user == "root" and (method, path) in of_admins:
                    continue
                answer = await client.request(
                    method, path.format(**things), json=body_for(path, things)
                )
                assert answer.status_code == 404, (user, method, path, answer.text)
                assert "s3cr3t" not in answer.text
            listed = (await client.get("/api/v1/sessions?limit=1000")).text
            assert things["session_id"] not in listed
            assert things["artifact_id"] not in (await client.get("/api/v1/artifacts")).text
    async with live.http() as client:  # and nothing of hers has changed
        run = (await client.get(f"/api/v1/runs/{things['run_id']}")).json()
        assert run["status"] == "waiting"
        assert [each["request_id"] for each in run["pending"]] == [things["request_id"]]
        await client.post(f"/api/v1/runs/{things['run_id']}/cancel")
        kept = (await client.get(f"/api/v1/artifacts/{things['artifact_id']}?limit=1")).json()
        assert kept["page"]["rows"] == [["s3cr3t"]]


async def test_what_is_for_administrators_is_denied_to_everyone_else(live: LiveServer) -> None:
    things = await own_things(live)
    for user in ("alice", "bob", "service"):
        async with live.http(user) as client:
            for method, path in sorted(FOR_ADMINS):
                answer = await client.request(method, path.format(**things), json={})
                assert (answer.status_code, answer.json()["error_code"]) == (403, "denied"), path


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


async def test_the_openapi_document_names_operations_and_errors_and_no_secret(
    live: LiveServer,
) -> None:
    async with live.http(None) as client:
        document = (await client.get("/openapi.json")).json()
    operations = [op for methods in document["paths"].values() for op in methods.values()]
    ids = [op["operationId"] for op in operations]
    assert len(ids) == len(set(ids))
    assert {"chat", "list_sessions", "get_run", "decide", "run_query", "get_artifact"} <= set(ids)
    assert all({"401", "404", "422"} <= op["responses"].keys() for op in operations)
    assert ALICE not in str(document)
