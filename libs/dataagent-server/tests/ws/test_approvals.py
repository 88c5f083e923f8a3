"""A risky call waits for a person, who may answer over any door."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import LiveServer, Socket

WRITE = '!tool write_file {"file_path": "/note.txt", "content": "kept"}'


async def asked(socket: Socket) -> dict[str, Any]:
    await socket.chat(WRITE)
    return (await socket.until("hitl_request"))[-1]["data"]


def results(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event["data"] for event in events if event["event_type"] == "tool_result"]


@requirement("R18.1", "R18.2", "R18.3")
async def test_approval_is_asked_and_given_over_the_socket(live: LiveServer) -> None:
    async with live.socket() as socket:
        request = await asked(socket)
        assert request["action"]["name"] == "write_file"
        assert request["action"]["args"]["content"] == "kept"
        assert "approve" in request["allowed"]
        await socket.say("hitl_decision", {"request_id": request["request_id"], "type": "approve"})
        events = await socket.until("done")
    assert results(events)[0]["status"] == "success"
    assert events[-1]["data"]["cancelled"] is False


@requirement("R18.3")
async def test_rejection_over_the_socket_ends_the_run_as_cancelled(live: LiveServer) -> None:
    async with live.socket() as socket:
        request = await asked(socket)
        await socket.say(
            "hitl_decision",
            {"request_id": request["request_id"], "type": "reject", "message": "no"},
        )
        done = (await socket.until("done"))[-1]
    assert done["data"]["cancelled"] is True
    assert done["data"]["reason"] == "rejected"


@requirement("R18.3")
async def test_a_call_may_be_edited_and_a_bad_answer_leaves_it_open(live: LiveServer) -> None:
    async with live.socket() as socket:
        request = await asked(socket)
        request_id = request["request_id"]
        unfit: list[dict[str, Any]] = [
            {"type": "edit"},
            {"type": "respond"},
            {"type": "edit", "edited_action": {"name": "shell", "args": {}}},
        ]
        for bad in unfit:
            await socket.say("hitl_decision", {"request_id": request_id, **bad})
            assert (await socket.next("error"))["data"]["error_code"] == "bad_decision"
        await socket.say("hitl_decision", {"request_id": "unknown", "type": "approve"})
        assert (await socket.next("error"))["data"]["error_code"] == "request_not_found"
        edited = {"name": "write_file", "args": {"file_path": "/other.txt", "content": "changed"}}
        await socket.say(
            "hitl_decision", {"request_id": request_id, "type": "edit", "edited_action": edited}
        )
        events = await socket.until("done")
    assert "/other.txt" in json.dumps(events)


@requirement("R18.3")
async def test_a_decision_that_names_no_request_is_for_the_only_one_that_waits(
    live: LiveServer,
) -> None:
    two = [
        {"name": "write_file", "args": {"file_path": f"/files/{name}", "content": "x"}}
        for name in "ab"
    ]
    async with live.socket() as socket:
        await socket.say("hitl_decision", {"type": "approve"})
        assert (await socket.next("error"))["data"]["error_code"] == "request_not_found"
        await asked(socket)
        await socket.say("hitl_decision", {"type": "approve"})
        assert (await socket.until("done"))[-1]["data"]["cancelled"] is False
        await socket.chat(f"!tools {json.dumps(two)}\n!echo Both.")
        await socket.until("hitl_request")
        second = (await socket.until("hitl_request"))[-1]["data"]
        await socket.say("hitl_decision", {"type": "approve"})
        assert (await socket.next("error"))["data"]["error_code"] == "bad_input"
        await socket.say("hitl_decision", {"request_id": second["request_id"], "type": "approve"})
        await socket.say("hitl_decision", {"type": "approve"})  # now it is the other one
        assert (await socket.until("done"))[-1]["data"]["cancelled"] is False


@requirement("G11", "G10")
async def test_a_request_survives_a_reconnect_and_is_answered_over_rest(live: LiveServer) -> None:
    async with live.socket() as socket:
        accepted = await socket.chat(WRITE)
        await socket.until("hitl_request")
    run_url = f"/api/v1/runs/{accepted['run_id']}"
    async with live.socket(socket.session_id, after=0) as again, live.http() as client:
        replayed = (await again.until("hitl_request"))[-1]["data"]
        run = (await client.get(run_url)).json()
        assert run["status"] == "waiting"
        assert [each["request_id"] for each in run["pending"]] == [replayed["request_id"]]
        decide = f"{run_url}/decisions/{replayed['request_id']}"
        async with live.http("bob") as stranger:
            refused = await stranger.post(decide, json={"type": "approve"})
            assert refused.status_code == 404
        for _ in range(2):  # the same answer twice is one
            answer = await client.post(decide, json={"type": "approve"})
            assert answer.status_code == 200, answer.text
            assert answer.json()["decision"] == {"type": "approve"}
        other = await client.post(decide, json={"type": "reject"})
        assert (other.status_code, other.json()["error_code"]) == (409, "already_decided")
        await again.until("done")
        assert (await client.get(run_url)).json()["pending"] == []


@requirement("R18.4", "R18.5", "P29")
async def test_no_answer_in_time_is_a_rejection(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(hitl_timeout=0.3)
    assert server.container.settings.model_fields_set >= {"hitl_timeout"}
    async with server.socket() as socket:
        await asked(socket)
        done = (await socket.until("done"))[-1]
    assert done["data"]["cancelled"] is True


@requirement("R18.4")
def test_the_default_limit_for_an_answer_is_300_seconds(
    settings_for: Callable[..., Any],
) -> None:
    assert settings_for().hitl_timeout == 300


@requirement("R18.2")
async def test_sync_chat_returns_waiting_with_the_request(live: LiveServer) -> None:
    async with live.http() as client:
        answer = (await client.post("/api/v1/chat", json={"message": WRITE})).json()
        assert answer["status"] == "waiting"
        request = answer["events"][-1]
        assert request["event_type"] == "hitl_request"
        decide = f"/api/v1/runs/{answer['run_id']}/decisions/{request['data']['request_id']}"
        assert (await client.post(decide, json={"type": "approve"})).status_code == 200
        async with client.stream("GET", f"/api/v1/runs/{answer['run_id']}/events") as stream:
            lines = [line async for line in stream.aiter_lines() if line.startswith("event:")]
    assert lines[-1] == "event: done"
