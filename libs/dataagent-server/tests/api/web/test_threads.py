"""A conversation loaded again is what it was live."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from dataagent_core.events import event_from_dict
from dataagent_server.api.web.chat import chat_event
from tests.requirements import requirement

if TYPE_CHECKING:
    import httpx

    from conftest import LiveServer

WRITE = '!tool write_file {"file_path": "/note.txt", "content": "kept"}'
QUERY = '!tool sql_db_query {"query": "SELECT 1 AS one", "source": "chinook"}'
TODOS = '!tool write_todos {"todos": [{"content": "look", "status": "pending"}]}'


async def turn(
    live: LiveServer, client: httpx.AsyncClient, message: str, act: str | None
) -> tuple[str, list[dict[str, Any]]]:
    """A turn as a client of `/api/chat` sees it; `act` is what it does half way."""
    made = (await client.post("/api/conversations", json={})).json()
    thread_id, seen = made["thread_id"], list[dict[str, Any]]()
    body = {"thread_id": thread_id, "message": message, "agent": "general"}
    async with client.stream("POST", "/api/chat", json=body) as stream:
        async for line in stream.aiter_lines():
            name, _, value = line.partition(": ")
            if name == "event":
                seen.append({"event": value})
            elif name == "data":
                seen[-1]["data"] = data = json.loads(value)
                await respond(client, seen[-1]["event"], data, act)
    return thread_id, seen


async def respond(
    client: httpx.AsyncClient, name: str, data: dict[str, Any], act: str | None
) -> None:
    run = f"/api/v1/runs/{data['run_id']}"
    if name == "hitl_request" and act is not None:
        answer = await client.post(f"{run}/decisions/{data['request_id']}", json={"type": act})
        assert answer.status_code == 200
    elif name == "text_delta" and act == "cancel":
        await client.post(f"{run}/cancel")


def as_streamed(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events of the history as `/api/chat` would send them."""
    shown: list[dict[str, Any]] = []
    for each in events:
        name, data = chat_event(event_from_dict(each))
        shown.append(
            {"event": name, "data": {**data, "seq": each["seq"], "run_id": each["run_id"]}}
        )
    return json.loads(json.dumps(shown))


@requirement("G2", "G4", "S2.1d", "S3.4b")
@pytest.mark.parametrize(
    ("message", "act", "status", "kinds"),
    [
        (
            f"!think hm\n!echo first\n{QUERY}\n{TODOS}\n{WRITE}\n!echo last",
            "approve",
            "complete",
            {"thinking", "text", "tool_call", "tool_result", "artifact", "todo_update"}
            | {"hitl_request", "file_operation", "done"},
        ),
        (WRITE, "reject", "cancelled", {"hitl_request", "tool_call", "done"}),
        ("!echo partly\n!fail", None, "failed", {"text", "error", "done"}),
        ("!slow 1000 10", "cancel", "cancelled", {"text", "done"}),
    ],
    ids=["tools", "rejected", "failed", "cancelled"],
)
async def test_history_has_the_cards_that_were_seen(
    *, live: LiveServer, message: str, act: str | None, status: str, kinds: set[str]
) -> None:
    async with live.http() as client:
        thread_id, seen = await turn(live, client, message, act)
        answer = await client.get(f"/api/threads/{thread_id}/history")
    assert answer.headers["content-type"] == "application/json"
    history = answer.json()
    question, reply = history["messages"]
    assert (history["thread_id"], history["total"]) == (thread_id, 2)
    assert history["last_seq"] == seen[-1]["data"]["seq"]
    assert (question["content"], question["events"]) == (message, [])
    assert reply["status"] == status
    assert as_streamed(reply["events"]) == seen
    assert {each["event_type"] for each in reply["events"]} >= kinds
    asked = [each["data"] for each in reply["events"] if each["event_type"] == "hitl_request"]
    assert [each["request_id"] for each in reply["approvals"]] == [
        each["request_id"] for each in asked
    ]
    assert all(each["decision"] == {"type": act} for each in reply["approvals"])


@requirement("S3.4b")
async def test_the_shape_of_a_history(live: LiveServer) -> None:
    async with live.http() as client:
        thread_id, _ = await turn(live, client, "!echo hi", None)
        history = (await client.get(f"/api/threads/{thread_id}/history")).json()
    assert history.keys() == {"thread_id", "messages", "total", "last_seq"}
    keys = {
        "message_id",
        "session_id",
        "run_id",
        "role",
        "content",
        "status",
        "created_at",
        "metadata",
        "approvals",
        "events",
    }
    assert [each.keys() for each in history["messages"]] == [keys, keys]
    assert history["messages"][1]["events"][0].keys() == {
        "event_type",
        "data",
        "timestamp",
        "seq",
        "run_id",
    }


@requirement("G4")
async def test_a_page_loaded_in_mid_turn_misses_nothing(live: LiveServer) -> None:
    async with live.http() as client:
        made = (await client.post("/api/conversations", json={})).json()
        async with live.socket(made["id"]) as socket:
            await socket.chat("!slow 40 10")
            await socket.next("text")
            url = f"/api/threads/{made['thread_id']}/history"
            history = (await client.get(url)).json()
            reply = history["messages"][1]
            assert reply["status"] == "running"
            after = {"after": history["last_seq"]}
            rest = asyncio.create_task(
                client.get(f"/api/v1/runs/{reply['run_id']}/events", params=after)
            )
            await socket.until("done")
            text = (await rest).text
        whole = (await client.get(url)).json()["messages"][1]["events"]
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line[:5] == "data:"]
    assert [*reply["events"], *map(json.loads, lines)] == whole


async def test_pages_of_a_history(live: LiveServer) -> None:
    async with live.http() as client:
        thread_id, _ = await turn(live, client, "!echo one", None)
        await client.post("/api/chat", json={"thread_id": thread_id, "message": "!echo two"})
        url = f"/api/threads/{thread_id}/history"
        last = (await client.get(url, params={"limit": 1})).json()
        first = (await client.get(url, params={"limit": 1, "offset": 0})).json()
        for query in ("limit=0", "limit=1001", "offset=-1", "offset=x"):
            assert (await client.get(f"{url}?{query}")).status_code == 422, query
        empty = (await client.post("/api/conversations", json={})).json()
        nothing = (await client.get(f"/api/threads/{empty['thread_id']}/history")).json()
    assert [each["content"] for each in last["messages"]] == ["two"]
    assert [each["content"] for each in first["messages"]] == ["!echo one"]
    assert nothing == {
        "thread_id": empty["thread_id"],
        "messages": [],
        "total": 0,
        "last_seq": 0,
    }


@requirement("R32.3", "S2.1b")
async def test_another_users_history_is_not_found(live: LiveServer) -> None:
    async with live.http() as client:
        thread_id, _ = await turn(live, client, "!echo mine", None)
    for user in ("bob", "root", "service"):
        async with live.http(user) as client:
            answer = await client.get(f"/api/threads/{thread_id}/history")
            assert (answer.status_code, answer.json()["error_code"]) == (404, "session_not_found")
