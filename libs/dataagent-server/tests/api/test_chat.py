"""One message, one answer over REST."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from dataagent_core.events import TextEvent, event_from_dict
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import LiveServer


@requirement("R16.2", "R16.3", "R21.3", "P24")
async def test_chat_waits_for_the_end_and_returns_every_event(live: LiveServer) -> None:
    async with live.http() as client:
        answer = await client.post("/api/v1/chat", json={"message": "!slow 3 5"})
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert body.keys() == {"session_id", "run_id", "status", "events"}
    assert body["status"] == "done"
    assert [event["seq"] for event in body["events"]] == list(range(1, len(body["events"]) + 1))
    events = [event_from_dict(event) for event in body["events"]]
    text = "".join(event.content for event in events if isinstance(event, TextEvent))
    assert text == "chunk0 chunk1 chunk2 "
    assert events[-1].event_type == "done"


async def test_a_session_goes_on_and_its_second_answer_holds_only_its_own_events(
    live: LiveServer,
) -> None:
    session_id = str(uuid.uuid4())
    async with live.http() as client:
        first = await client.post(
            "/api/v1/chat", json={"message": "!echo one", "session_id": session_id}
        )
        second = await client.post(
            "/api/v1/chat", json={"message": "!echo two", "session_id": session_id}
        )
    assert first.json()["session_id"] == second.json()["session_id"] == session_id
    assert {event["run_id"] for event in second.json()["events"]} == {second.json()["run_id"]}


@pytest.mark.parametrize(
    ("refused", "code"),
    [
        ({"message": "x", "skill": "no-such-skill"}, "skill_not_found"),
        ({"message": "/no-such-skill x"}, "skill_not_found"),
        ({"message": "x", "file_ids": ["no-such-file"]}, "file_not_found"),
        ({"message": "x" * 1_100_000}, "bad_input"),
        ({"message": "x", "assistant_id": f"agent_{'0' * 32}"}, "agent_not_found"),
        ({"message": "x", "assistant_id": "no-such-agent"}, "agent_not_found"),
    ],
    ids=["skill", "slash", "file", "long", "deleted agent", "agent"],
)
async def test_a_message_that_is_refused_leaves_no_session_behind(
    live: LiveServer, refused: dict[str, Any], code: str
) -> None:
    async with live.http() as client:
        before = (await client.get("/api/v1/sessions")).json()["total"]
        for named in ({}, {"session_id": str(uuid.uuid4())}):
            answer = await client.post("/api/v1/chat", json={**refused, **named})
            assert answer.json()["error_code"] == code, answer.text
        assert (await client.get("/api/v1/sessions")).json()["total"] == before


@requirement("G15")
async def test_the_same_client_message_id_returns_the_same_answer(live: LiveServer) -> None:
    request = {
        "message": "!echo once",
        "session_id": str(uuid.uuid4()),
        "client_message_id": "one",
    }
    async with live.http() as client:
        first = await client.post("/api/v1/chat", json=request)
        second = await client.post("/api/v1/chat", json=request)
    assert first.json() == second.json()


@requirement("G7")
async def test_a_second_message_while_one_runs_is_409(live: LiveServer) -> None:
    async with live.socket() as socket, live.http() as client:
        await socket.chat("!slow 1000 20")
        busy = await client.post(
            "/api/v1/chat", json={"message": "hi", "session_id": socket.session_id}
        )
        assert (busy.status_code, busy.json()["error_code"]) == (409, "session_busy")
        await socket.say("cancel")
        await socket.until("done")


@requirement("G5")
async def test_a_caller_that_leaves_does_not_stop_the_run(live: LiveServer) -> None:
    session_id = str(uuid.uuid4())
    async with live.socket(session_id) as watcher:
        async with live.http() as client:
            asking = asyncio.create_task(
                client.post(
                    "/api/v1/chat", json={"message": "!slow 15 20", "session_id": session_id}
                )
            )
            await watcher.next("text")
            asking.cancel()
        done = (await watcher.until("done"))[-1]
    assert done["data"]["cancelled"] is False


@requirement("G12", "G16")
async def test_a_caller_that_leaves_gives_its_place_back_while_the_run_goes_on(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(max_connections=1)
    chat = {"message": "!slow 1000 20", "session_id": str(uuid.uuid4())}
    async with server.http() as client:
        asking = asyncio.create_task(client.post("/api/v1/chat", json=chat))
        await server.until(lambda: server.container.core.worker.active == 1)
        full = await client.post("/api/v1/chat", json={"message": "!echo hi"})
        assert (full.status_code, full.json()["error_code"]) == (503, "too_many_connections")
        asking.cancel()
        await server.until(lambda: server.container.capacity.used == 0)
        assert server.container.core.worker.active == 1
        another = await client.post("/api/v1/chat", json={"message": "!echo hi"})
        assert another.json()["status"] == "done"
        stopped = await client.post(f"/api/v1/chat/{chat['session_id']}/cancel")
        assert stopped.status_code == 200


@requirement("R26.1", "R26.2", "R26.3", "R26.4", "R26.5")
async def test_question_and_answer_are_in_the_history_page_by_page(live: LiveServer) -> None:
    session_id = str(uuid.uuid4())
    async with live.http() as client:
        for number in range(3):
            await client.post(
                "/api/v1/chat", json={"message": f"!echo a{number}", "session_id": session_id}
            )
        url = f"/api/v1/sessions/{session_id}/messages"
        whole = (await client.get(url)).json()
        page = (await client.get(url, params={"limit": 2, "offset": 1})).json()
        beyond = (await client.get(url, params={"offset": 99})).json()
    assert [(item["role"], item["content"]) for item in whole["items"]] == [
        ("user", "!echo a0"),
        ("assistant", "a0"),
        ("user", "!echo a1"),
        ("assistant", "a1"),
        ("user", "!echo a2"),
        ("assistant", "a2"),
    ]
    assert whole["total"] == page["total"] == beyond["total"] == 6
    assert page["items"] == whole["items"][1:3]
    assert beyond["items"] == []
    assert whole["items"][0].keys() == {
        "message_id",
        "session_id",
        "run_id",
        "role",
        "content",
        "status",
        "created_at",
        "metadata",
    }
    assert {item["status"] for item in whole["items"]} == {"complete"}


async def test_a_caller_that_does_not_wait_reads_the_run_later(live: LiveServer) -> None:
    request = {"message": "!slow 5 10", "client_message_id": "later"}
    async with live.http() as client:
        answer = await client.post("/api/v1/chat?wait=false", json=request)
        assert answer.status_code == 202
        accepted = answer.json()
        assert accepted.keys() == {"session_id", "run_id", "message_id", "status"}
        assert accepted["status"] in ("queued", "running")
        stream = await client.get(f"/api/v1/runs/{accepted['run_id']}/events")
        assert stream.text.count("event: done") == 1
        again = await client.post(
            "/api/v1/chat?wait=false", json={**request, "session_id": accepted["session_id"]}
        )
        assert again.json() == {**accepted, "status": "done"}
        run = (await client.get(f"/api/v1/runs/{accepted['run_id']}")).json()
    assert run["status"] == "done"


async def test_not_waiting_is_refused_as_waiting_is(live: LiveServer) -> None:
    async with live.http() as client:
        for body, status in (
            ({"message": ""}, 422),
            ({"message": "hi", "session_id": "nope"}, 404),
            ({"message": "hi", "wait": False}, 422),
        ):
            answer = await client.post("/api/v1/chat?wait=false", json=body)
            assert answer.status_code == status, body
        assert (await client.post("/api/v1/chat?wait=x", json={"message": "hi"})).status_code == 422


async def test_a_failed_run_is_an_answer_not_an_error(live: LiveServer) -> None:
    async with live.http() as client:
        answer = await client.post("/api/v1/chat", json={"message": "!fail"})
    assert answer.status_code == 200
    assert answer.json()["status"] == "failed"
    assert [event["event_type"] for event in answer.json()["events"]][-2:] == ["error", "done"]
