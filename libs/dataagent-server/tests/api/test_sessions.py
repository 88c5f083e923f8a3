"""Sessions over REST."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import LiveServer

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@requirement("R16.2", "R21.4", "P33")
async def test_a_session_is_created_found_listed_and_deleted(live: LiveServer) -> None:
    async with live.http("root") as client:
        created = await client.post("/api/v1/sessions", json={"assistant_id": "sql"})
        assert created.status_code == 201
        session = created.json()
        url = f"/api/v1/sessions/{session['session_id']}"
        assert (await client.get(url)).json() == session
        listed = (await client.get("/api/v1/sessions")).json()
        assert listed == {"items": [session], "total": 1}
        assert (await client.delete(url)).status_code == 204
        assert (await client.get(url)).status_code == 404
        assert (await client.delete(url)).status_code == 404
        assert (await client.get("/api/v1/sessions")).json() == {"items": [], "total": 0}
    assert session.keys() == {
        "session_id",
        "thread_id",
        "user_id",
        "assistant_id",
        "title",
        "created_at",
        "last_active",
        "metadata",
    }
    assert session["assistant_id"] == "sql"
    assert TIME.fullmatch(session["created_at"])


async def test_metadata_of_a_session_is_given_back(live: LiveServer) -> None:
    metadata = {"ticket": "T-7", "tags": ["销售", 1, 2.5, None], "deep": {"er": True}}
    async with live.http("bob") as client:
        made = await client.post("/api/v1/sessions", json={"metadata": metadata})
        assert (made.status_code, made.json()["metadata"]) == (201, metadata)
        url = f"/api/v1/sessions/{made.json()['session_id']}"
        assert (await client.get(url)).json()["metadata"] == metadata
        for bad in ({"n": 2**64}, {"t": "nul \x00"}, {"t": "x" * 70_000}, [1], "text"):
            answer = await client.post("/api/v1/sessions", json={"metadata": bad})
            assert (answer.status_code, answer.json()["error_code"]) == (422, "bad_input"), bad
        none = await client.post("/api/v1/sessions", json={"metadata": None})
        assert none.json()["metadata"] == {}


async def test_a_deleted_session_takes_its_artefacts_along(live: LiveServer) -> None:
    query = '!tool sql_db_query {"query": "SELECT 1 AS one", "source": "chinook"}'
    async with live.http() as client:
        answer = (await client.post("/api/v1/chat", json={"message": query})).json()
        [made] = [each for each in answer["events"] if each["event_type"] == "artifact"]
        url = f"/api/v1/artifacts/{made['data']['artifact_id']}"
        assert (await client.get(url)).status_code == 200
        deleted = await client.delete(f"/api/v1/sessions/{answer['session_id']}")
        assert deleted.status_code == 204
        assert (await client.get(url)).status_code == 404
        assert (await client.get(f"/api/v1/runs/{answer['run_id']}")).status_code == 404
        restored = await client.post(f"/api/conversations/{answer['session_id']}/restore")
        assert restored.status_code == 404


async def test_deleting_a_session_stops_what_runs_in_it(live: LiveServer) -> None:
    async with live.socket() as socket, live.http() as client:
        await socket.chat("!slow 1000 20")
        await socket.next("text")
        assert (await client.delete(f"/api/v1/sessions/{socket.session_id}")).status_code == 204
        assert (await socket.until("done"))[-1]["data"]["cancelled"] is True


async def test_pages_have_limits(live: LiveServer) -> None:
    async with live.http() as client:
        for query in ("limit=0", "limit=1001", "limit=x", "offset=-1", f"offset={10**30}"):
            answer = await client.get(f"/api/v1/sessions?{query}")
            assert (answer.status_code, answer.json()["error_code"]) == (422, "bad_input"), query


@requirement("G8")
async def test_sessions_history_and_keys_are_there_after_a_restart(
    start_server: Callable[..., LiveServer], tmp_path: object
) -> None:
    first = start_server(home=tmp_path)
    async with first.http() as client:
        answer = (await client.post("/api/v1/chat", json={"message": "!echo kept"})).json()
    user = await first.on_server(first.container.users.create("dora", "password"))
    _, key = await first.on_server(first.container.users.keys.create(user.user_id, "k"))
    cookie = first.container.tokens.issue(user)
    first.stop()
    second = start_server(home=tmp_path)
    async with second.http() as client:
        url = f"/api/v1/sessions/{answer['session_id']}/messages"
        contents = [item["content"] for item in (await client.get(url)).json()["items"]]
    assert contents == ["!echo kept", "kept"]
    for headers in ({"X-API-Key": key}, {"Cookie": f"access_token={cookie}"}):
        async with second.http(None, headers=headers) as client:
            assert (await client.get("/api/v1/sessions")).status_code == 200


async def test_a_conversation_is_put_in_short_as_a_run(live: LiveServer) -> None:
    async with live.http("bob") as client:
        first = (await client.post("/api/v1/chat", json={"message": "!echo one"})).json()
        session_id = first["session_id"]
        for text in ("two", "three"):
            body = {"message": f"!echo {text}", "session_id": session_id}
            await client.post("/api/v1/chat", json=body)
        url = f"/api/v1/sessions/{session_id}/compact"
        answer = await client.post(url, json={"keep": "numbers"})
        assert answer.status_code == 202
        run_id = answer.json()["run_id"]
        events = (await client.get(f"/api/v1/runs/{run_id}/events")).text
        assert "4 earlier messages are summarised" in events
        messages = (await client.get(f"/api/v1/sessions/{session_id}/messages")).json()
        assert messages["items"][0]["content"] == "!echo one"
        assert messages["total"] == 8
        assert (await client.post(url, json={"keep": "x" * 3000})).status_code == 422
    async with live.http("root") as other:
        assert (await other.post(url, json={})).status_code == 404
