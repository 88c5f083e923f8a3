"""Every route: nobody gets in without a credential, nobody reaches what is another's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


async def own_things(live: LiveServer) -> dict[str, str]:
    """A session of alice's with a run that waits for her."""
    async with live.http() as client:
        answer = await client.post(
            "/api/v1/chat",
            json={"message": '!tool write_file {"file_path": "/secret.txt", "content": "s3cr3t"}'},
        )
    body = answer.json()
    request_id = body["events"][-1]["data"]["request_id"]
    return {"session_id": body["session_id"], "run_id": body["run_id"], "request_id": request_id}


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
    return {} if path == "/api/v1/sessions" else None


@requirement("R19.2", "R19.3", "P30")
@pytest.mark.parametrize("name", WRONG_KEYS)
async def test_without_a_valid_key_every_route_is_401(live: LiveServer, name: str) -> None:
    key = WRONG_KEYS[name]
    headers = {} if key is None else {"X-API-Key": key}
    things = {"session_id": "s", "run_id": "r", "request_id": "q"}
    routes = private_routes(live)
    assert len(routes) >= 12
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
    for user in ("bob", "service", "root"):
        async with live.http(user) as client:
            for method, path in paths:
                answer = await client.request(
                    method, path.format(**things), json=body_for(path, things)
                )
                assert answer.status_code == 404, (user, method, path, answer.text)
                assert "s3cr3t" not in answer.text
            listed = (await client.get("/api/v1/sessions?limit=1000")).text
            assert things["session_id"] not in listed
    async with live.http() as client:  # and nothing of hers has changed
        run = (await client.get(f"/api/v1/runs/{things['run_id']}")).json()
        assert run["status"] == "waiting"
        assert [each["request_id"] for each in run["pending"]] == [things["request_id"]]
        await client.post(f"/api/v1/runs/{things['run_id']}/cancel")


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
    assert {"chat", "list_sessions", "get_run", "decide", "session_events"} <= set(ids)
    assert all({"401", "404", "422"} <= op["responses"].keys() for op in operations)
    assert ALICE not in str(document)
