"""What administrators, logins, tools, statements and approvals leave behind, read over HTTP."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from fastapi.routing import APIRoute, iter_route_contexts
from sqlalchemy import Connection, update

from dataagent_core.storage.tables import audit_log
from dataagent_server.api.request_audit import is_audited
from tests.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import LiveServer


async def found(live: LiveServer, **wanted: Any) -> list[dict[str, Any]]:
    """The records that fit, the newest first."""
    async with live.http("root") as http:
        answer = await http.get("/api/v1/audit", params=wanted)
        assert answer.status_code == 200, answer.text
        page = answer.json()
    assert page["total"] >= len(page["items"])
    return page["items"]


async def until_found(live: LiveServer, count: int, **wanted: Any) -> list[dict[str, Any]]:
    """The same, once there are so many: what runs do is written within half a second."""
    async with asyncio.timeout(WAIT_SECONDS):
        while len(records := await found(live, **wanted)) < count:
            await asyncio.sleep(0.05)
    return records


def account(name: str) -> dict[str, str]:
    """What an administrator sends to make one."""
    return {"username": name, "password": "correct horse battery", "role": "user"}


# -- administrators -------------------------------------------------------------------------


async def test_what_an_administrator_does_is_kept_before_it_is_answered(live: LiveServer) -> None:
    async with live.http("root", headers={"X-Request-Id": "adm-1"}) as http:
        made = await http.post("/api/users", json=account("audited"))
        assert made.status_code == 201
        user_id = made.json()["id"]
        records = await found(live, action="create_user")
    record = records[0]
    assert record.pop("at").endswith("Z")
    for name in ("position", "hash", "previous_hash"):
        record.pop(name)
    assert record == {
        "user_id": "root",
        "via": "api_key",
        "address": "127.0.0.1",
        "action": "create_user",
        "target": user_id,
        "outcome": "success",
        "request_id": "adm-1",
        "session_id": None,
        "run_id": None,
        "details": {
            "status": 201,
            "ids": {},
            "fields": ["password", "role", "username"],
            "values": {"username": "audited", "role": "user"},
        },
    }


async def test_what_is_tried_is_kept_with_how_it_ended(live: LiveServer) -> None:
    async with live.http("root") as http:
        made = await http.post("/api/users", json=account("tried"))
        user_id = made.json()["id"]
        await http.patch(f"/api/users/{user_id}/role", json={"role": "admin"})
        await http.patch(f"/api/users/{user_id}/role", json={"role": "king"})
        await http.delete(f"/api/users/{user_id}")
        await http.delete(f"/api/users/{user_id}")
    roles = await found(live, action="set_user_role")
    assert [(each["outcome"], each["details"]["values"]) for each in roles] == [
        ("failed", {"role": "king"}),
        ("success", {"role": "admin"}),
    ]
    gone = await found(live, action="delete_user")
    assert [(each["target"], each["outcome"]) for each in gone[:2]] == [
        (user_id, "failed"),
        (user_id, "success"),
    ]


async def test_what_a_user_may_not_do_is_kept_as_denied_and_strangers_leave_nothing(
    live: LiveServer,
) -> None:
    async with live.http("alice") as http:
        assert (await http.post("/api/users", json=account("xyz"))).status_code == 403
        assert (await http.delete("/api/users/nobody")).status_code == 403
    before = len(await found(live))
    async with live.http(None) as http:
        assert (await http.delete("/api/users/nobody")).status_code == 401
    assert len(await found(live)) == before
    [denied, *_] = await found(live, outcome="denied", user_id="alice")
    assert (denied["action"], denied["target"]) == ("delete_user", "nobody")


async def test_secrets_of_a_data_source_do_not_reach_the_log(live: LiveServer) -> None:
    body = {"name": "audited_source", "url": "postgresql://u:hunter22secret@127.0.0.1:1/d"}
    async with live.http("root") as http:
        made = await http.post("/api/v1/data-sources?check=false", json=body)
        assert made.status_code == 201, made.text
        await http.delete(f"/api/v1/data-sources/{made.json()['source_id']}")
    records = await found(live, limit=1000)
    assert {"create_data_source", "delete_data_source"} <= {each["action"] for each in records}
    assert "hunter22secret" not in json.dumps(records)


def test_every_route_for_administrators_that_writes_is_audited(live: LiveServer) -> None:
    """Looked up in the route table, so that a new one is covered."""
    seen = 0
    for context in iter_route_contexts(live.app.routes):
        route = context.original_route
        if not isinstance(route, APIRoute) or (route.methods or set()) <= {"GET", "HEAD"}:
            continue
        names = {call.__name__ for call in _calls(route.dependant) if call is not None}
        if "require_admin" in names:
            assert is_audited(route), route.path
            assert isinstance(route, _audited_class()), route.path
            seen += 1
        if context.path is not None and context.path.endswith(("/chat", "/query", "/check")):
            assert not is_audited(route), context.path
    assert seen >= 8


def _audited_class() -> type[APIRoute]:
    from dataagent_server.api.route import PublicRoute

    return PublicRoute


def _calls(dependant: Any) -> list[Callable[..., Any] | None]:
    nested = [call for each in dependant.dependencies for call in _calls(each)]
    return [dependant.call, *nested]


# -- logins ---------------------------------------------------------------------------------


async def test_logins_are_kept_with_their_name_and_end_and_without_the_password(
    live: LiveServer,
) -> None:
    async def log_in(username: str, password: str) -> httpx.Response:
        async with live.http(None) as http:
            body = {"username": username, "password": password}
            return await http.post("/api/auth/login", json=body)

    assert (await log_in("admin", "correct horse")).status_code == 200
    assert (await log_in("admin", "wrong battery")).status_code == 401
    assert (await log_in("my secret passphrase!", "x")).status_code == 401
    records = await found(live, action="login")
    assert [(each["target"], each["outcome"], each["via"]) for each in records[:3]] == [
        (None, "denied", "password"),
        ("admin", "denied", "password"),
        ("admin", "success", "password"),
    ]
    assert records[2]["user_id"]
    text = json.dumps(await found(live, limit=1000))
    for secret in ('correct horse"', "wrong battery", "passphrase"):
        assert secret not in text


async def test_a_login_by_link_is_kept_with_whose_it_was_and_wrong_links_fill_no_log(
    live: LiveServer,
) -> None:
    users = live.container.users
    admin = await live.on_server(users.first_admin())
    assert admin is not None
    token = await live.on_server(users.links.create(admin.user_id))
    before = len(await found(live, action="login", limit=1000))
    async with live.http(None) as http:
        assert (await http.get(f"/login?token={token}")).status_code == 200  # a look is no login
        assert (await http.post("/login", data={"token": token})).status_code == 303
        for wrong in (token, "x" * 43, ""):
            assert (await http.post("/login", data={"token": wrong})).status_code == 401
    [record, *others] = await found(live, action="login", limit=1000)
    assert (record["user_id"], record["via"], record["outcome"]) == (
        admin.user_id,
        "link",
        "success",
    )
    assert len(others) == before


async def test_logging_out_is_kept(live: LiveServer) -> None:
    async with live.http(None, headers={"Origin": live.url}) as http:
        body = {"username": "admin", "password": "correct horse"}
        user = (await http.post("/api/auth/login", json=body)).json()
        assert (await http.post("/api/auth/logout")).status_code == 204
    [record, *_] = await found(live, action="logout")
    assert (record["user_id"], record["via"], record["outcome"]) == (
        user["id"],
        "cookie",
        "success",
    )


# -- runs -----------------------------------------------------------------------------------


async def test_tool_calls_of_a_run_are_kept_with_arguments_and_end(live: LiveServer) -> None:
    message = (
        '!tool think_tool {"reflection": "password=hunter22 and more"}\n'
        '!tool read_file {"file_path": "/none.txt"}\n'
        '!tool there_is_no_such_tool {"a": 1}'
    )
    async with live.http("alice", headers={"X-Request-Id": "tools-1"}) as http:
        answer = (await http.post("/api/v1/chat", json={"message": message})).json()
    records = await until_found(live, 2, action="tool.call", run_id=answer["run_id"])
    by_name = {each["target"]: each for each in records}
    thought = by_name["think_tool"]
    assert (thought["user_id"], thought["via"], thought["address"]) == (
        "alice",
        "api_key",
        "127.0.0.1",
    )
    assert (thought["request_id"], thought["session_id"]) == ("tools-1", answer["session_id"])
    assert thought["outcome"] == "success"
    assert "hunter22" not in json.dumps(thought)
    assert "and more" in json.dumps(thought["details"]["arguments"])


async def test_statements_are_kept_as_they_ran_and_why_they_did_not(live: LiveServer) -> None:
    async with live.http("bob") as http:
        path = "/api/v1/data-sources/chinook/query"
        ran = await http.post(path, json={"sql": "SELECT COUNT(*) AS n FROM Artist"})
        assert ran.status_code == 200, ran.text
        assert (await http.post(path, json={"sql": "DELETE FROM Artist"})).status_code == 422
        assert (await http.post(path, json={"sql": "SELECT x FROM Nothing"})).status_code == 422
    records = await until_found(live, 3, action="sql.query", user_id="bob")
    last, refused, first = records[:3]
    assert (first["target"], first["outcome"]) == ("chinook", "success")
    assert first["details"]["statement"] == ran.json()["sql_executed"]
    assert (first["details"]["rows"], first["details"]["ran"]) == (1, True)
    assert refused["outcome"] == "denied"
    assert refused["details"]["ran"] is False
    assert refused["details"]["statement"] == "DELETE FROM Artist"
    assert refused["details"]["reason"].startswith("query_refused: ")
    assert last["details"]["reason"].startswith("unknown_name: ")


async def test_approvals_say_who_decided_what(live: LiveServer) -> None:
    call = '!tool write_file {"file_path": "/files/a.txt", "content": "x"}'
    async with live.socket(user="alice") as socket:
        accepted = await socket.chat(call)
        request = (await socket.until("hitl_request"))[-1]["data"]
        decision = {"request_id": request["request_id"], "type": "reject", "message": "no"}
        await socket.say("hitl_decision", decision)
        await socket.until("done")
    [record] = await until_found(live, 1, action="approval.decide", run_id=accepted["run_id"])
    assert (record["user_id"], record["target"], record["outcome"]) == (
        "alice",
        "write_file",
        "success",
    )
    assert record["details"]["decision"] == "reject"
    assert record["details"]["by"] == "person"
    assert record["details"]["arguments"]["file_path"] == "/files/a.txt"


async def test_a_plain_turn_leaves_no_record(live: LiveServer) -> None:
    async with live.http("alice") as http:
        answer = (await http.post("/api/v1/chat", json={"message": "!echo hi"})).json()
        await http.post("/api/v1/chat", json={"message": '!tool think_tool {"reflection": "x"}'})
    await until_found(live, 1, action="tool.call", user_id="alice")
    assert await found(live, run_id=answer["run_id"]) == []


# -- reading --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/api/v1/audit", "/api/v1/audit/verify"])
async def test_only_administrators_read_it(live: LiveServer, path: str) -> None:
    async with live.http("alice") as http:
        assert (await http.get(path)).status_code == 403
    async with live.http(None) as http:
        assert (await http.get(path)).status_code == 401


@pytest.mark.parametrize(
    "query",
    [
        "outcome=maybe",
        "from=yesterday",
        "limit=0",
        "offset=-1",
        "nonsense=1",
        "user_id=%00",
        "action=",
    ],
)
async def test_conditions_that_make_no_sense_are_refused(live: LiveServer, query: str) -> None:
    async with live.http("root") as http:
        answer = await http.get(f"/api/v1/audit?{query}")
    assert (answer.status_code, answer.json()["error_code"]) == (422, "bad_input")


async def test_times_pages_and_ends_of_time(live: LiveServer) -> None:
    async with live.http("root") as http:
        for number in (1, 2):
            body = {"attributes": {"a": number}}
            await http.put("/api/v1/users/someone/attributes", json=body)
    ours = {"action": "set_user_attributes"}  # what runs of other tests did may be written just now
    newest, second, *_ = await found(live, **ours)
    assert newest["position"] > second["position"]
    assert (await found(live, limit=1, offset=1, **ours))[0]["position"] == second["position"]
    assert await found(live, to="2020-01-01") == []
    at = newest["at"]
    assert newest["position"] in [each["position"] for each in await found(live, **{"from": at})]
    for edge in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"):
        await found(live, **{"from": edge})


async def test_verify_names_the_row_that_was_changed(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server()
    async with server.http("root") as http:
        for name in ("aaa", "bbb", "ccc"):
            await http.post("/api/users", json=account(name))
        whole = (await http.get("/api/v1/audit/verify")).json()
        assert whole["whole"] is True
        assert whole["checked"] == whole["position"] == 3

        def change(connection: Connection) -> None:
            rows = update(audit_log).where(audit_log.c.position == 2)
            connection.execute(rows.values(details="not even JSON"))

        await server.on_server(server.container.core.database.write(change))
        broken = (await http.get("/api/v1/audit/verify")).json()
        assert (broken["whole"], broken["first_bad"], broken["checked"]) == (False, 2, 1)
        assert (await http.get("/api/v1/audit")).json()["total"] == 3
