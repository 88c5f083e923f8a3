"""A turn over `/api/chat`: its events, from any point, started once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from dataagent_server.api import streaming
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import LiveServer

CHAT = "/api/chat"


async def thread(client: httpx.AsyncClient) -> tuple[str, str]:
    """A fresh conversation: its id and its thread."""
    made = (await client.post("/api/conversations", json={})).json()
    return made["id"], made["thread_id"]


def events_in(text: str) -> list[dict[str, Any]]:
    """The events of a whole stream; comments are left out."""
    found: list[dict[str, Any]] = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if line[:1] != ":")
        if fields:
            found.append({**fields, "data": json.loads(fields["data"])})
    return found


async def some(stream: httpx.Response, count: int) -> list[dict[str, Any]]:
    """The first events of a stream."""
    text = ""
    async for piece in stream.aiter_text():
        text += piece
        whole = text.rpartition("\n\n")[0]
        if len(events := events_in(whole)) >= count:
            return events[:count]
    return events_in(text)


def said(events: list[dict[str, Any]]) -> str:
    return "".join(each["data"]["text"] for each in events if each["event"] == "text_delta")


@requirement("G4", "S3.4a", "S4a")
async def test_a_turn_is_streamed_by_seed_names_to_its_end(live: LiveServer) -> None:
    message = '!think hm\n!tool ls {"path": "/"}\n!echo hello there'
    async with live.http() as client:
        session_id, thread_id = await thread(client)
        body = {"thread_id": thread_id, "message": message, "agent": "general"}
        answer = await client.post(CHAT, json=body)
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert answer.headers["x-accel-buffering"] == "no"
        run = (await client.get(f"/api/v1/sessions/{session_id}/messages")).json()["items"][1]
        title = (await client.get(f"/api/conversations/{session_id}")).json()["title"]
    events = events_in(answer.text)
    names = [each["event"] for each in events]
    assert names[0] == "thinking"
    assert names[-1] == "done"
    assert names.index("tool_call_start") < names.index("tool_call_result")
    assert said(events) == "hello there"
    assert [each["id"] for each in events] == [str(n) for n in range(1, len(events) + 1)]
    assert [each["data"]["seq"] for each in events] == list(range(1, len(events) + 1))
    assert {each["data"]["run_id"] for each in events} == {run["run_id"]}
    call = next(each["data"] for each in events if each["event"] == "tool_call_start")
    result = next(each["data"] for each in events if each["event"] == "tool_call_result")
    assert (call["name"], call["args"], result["id"]) == ("ls", {"path": "/"}, call["id"])
    assert (result["status"], result["name"]) == ("success", "ls")
    assert title == "!think hm"


@requirement("S3.4a", "S5.1", "S2.2.1a", "S2.2.1d", "S4b")
async def test_without_an_agent_the_supervisor_decides_and_with_one_it_is_not_asked(
    live: LiveServer,
) -> None:
    route = '!tool route {"agent_name": "sql", "task_description": "count"}\n!echo Three.'
    seen: dict[str, list[dict[str, Any]]] = {}
    agents: list[str] = []
    async with live.http() as client:
        _, thread_id = await thread(client)
        for message, agent in (
            (route, None),
            ("!echo Hello.", None),
            ("[ROUTE_TO: sql] hi", None),
            ("[ROUTE_TO: nobody] hi", None),
            ("!echo Direct.", "sql"),
        ):
            body = {"thread_id": thread_id, "message": message, "agent": agent}
            answer = await client.post(CHAT, json=body)
            seen[message] = events_in(answer.text)
            run_id = seen[message][-1]["data"]["run_id"]
            agents.append((await client.get(f"/api/v1/runs/{run_id}")).json()["assistant_id"])
    thought = {
        message: [each["data"]["content"] for each in events if each["event"] == "thinking"]
        for message, events in seen.items()
    }
    assert thought == {
        route: ["→ sql: count"],
        "!echo Hello.": [],
        "[ROUTE_TO: sql] hi": ["→ sql: the message names it"],
        "[ROUTE_TO: nobody] hi": [],
        "!echo Direct.": [],
    }
    assert agents == ["supervisor", "supervisor", "sql", "supervisor", "sql"]
    assert said(seen[route]) == "Three."
    assert said(seen["[ROUTE_TO: nobody] hi"]).startswith("There is no agent `nobody`.")


@requirement("S2.2.1a", "S5.1")
async def test_a_routed_agents_events_have_its_name_at_every_door(live: LiveServer) -> None:
    message = '[ROUTE_TO: sql] x\n!think hm\n!tool ls {"path": "/"}\n!echo Counted.'
    async with live.http() as client:
        session_id, thread_id = await thread(client)
        answer = await client.post(CHAT, json={"thread_id": thread_id, "message": message})
        stored = (await client.get(f"/api/threads/{thread_id}/history")).json()["messages"][1]
        async with live.socket(session_id, after=0) as socket:
            sent = await socket.until("done")
    streamed = events_in(answer.text)
    names = ("thinking", "tool_call_start", "text_delta")
    first, *others = [each for each in streamed if each["event"] in names]
    assert (first["data"]["content"], first["data"].get("agent")) == (
        "→ sql: the message names it",
        None,
    )
    assert {each["event"] for each in others} == set(names)
    for each in others:
        assert (each["data"]["agent"], each["data"]["is_main"]) == ("sql", True)
    for events in (sent, stored["events"]):
        said_by = [each["data"]["agent"] for each in events if "agent" in each["data"]]
        assert said_by == [None, *["sql"] * len(others)]
    assert stored["content"] == "Counted."


@requirement("G4", "G5", "G15")
async def test_a_reader_that_left_goes_on_where_it_was_and_starts_nothing(live: LiveServer) -> None:
    async with live.http() as client:
        session_id, thread_id = await thread(client)
        body = {"thread_id": thread_id, "message": "!slow 40 10", "client_message_id": "m1"}
        async with client.stream("POST", CHAT, json=body) as stream:
            first = await some(stream, 3)
        back = {"Last-Event-ID": first[-1]["id"]}
        rest = events_in((await client.post(CHAT, json=body, headers=back)).text)
        whole = events_in((await client.post(CHAT, json=body)).text)  # the same message again
        last = {"Last-Event-ID": whole[-1]["id"]}
        nothing = await client.post(CHAT, json=body, headers=last)
        messages = (await client.get(f"/api/v1/sessions/{session_id}/messages")).json()
    assert [*first, *rest] == whole
    assert said(whole) == "".join(f"chunk{n} " for n in range(40))
    assert (nothing.status_code, events_in(nothing.text)) == (200, [])
    assert [each["status"] for each in messages["items"]] == ["complete", "complete"]


@requirement("G4")
async def test_a_reader_without_a_client_id_goes_on_with_the_thread(live: LiveServer) -> None:
    async with live.http() as client:
        session_id, thread_id = await thread(client)
        body = {"thread_id": thread_id, "message": "!slow 10 10"}
        async with client.stream("POST", CHAT, json=body) as stream:
            first = await some(stream, 1)
        back = {"Last-Event-ID": first[-1]["id"]}
        rest = events_in((await client.post(CHAT, json=body, headers=back)).text)
        again = events_in((await client.post(CHAT, json=body, headers=back)).text)
        url = f"{CHAT}/{thread_id}/events"
        async with client.stream("GET", url, params={"after": first[-1]["id"]}) as stream:
            followed = await some(stream, len(rest))
        async with client.stream("GET", url, headers=back) as stream:
            by_header = await some(stream, len(rest))
        total = (await client.get(f"/api/v1/sessions/{session_id}/messages")).json()["total"]
    assert rest[-1]["event"] == "done"
    assert rest == again == followed == by_header
    assert total == 2


async def test_what_cannot_be_gone_on_with_starts_nothing(live: LiveServer) -> None:
    async with live.http() as client:
        session_id, thread_id = await thread(client)
        body = {"thread_id": thread_id, "message": "hi", "client_message_id": "never"}
        answer = await client.post(CHAT, json=body, headers={"Last-Event-ID": "3"})
        assert (answer.status_code, answer.json()["error_code"]) == (404, "run_not_found")
        answer = await client.post(CHAT, json=body, headers={"Last-Event-ID": "x"})
        assert (answer.status_code, answer.json()["error_code"]) == (422, "bad_input")
        assert (await client.get(f"/api/v1/sessions/{session_id}/messages")).json()["total"] == 0


@requirement("G5")
async def test_a_closed_connection_does_not_stop_the_run(live: LiveServer) -> None:
    async with live.http() as client:
        session_id, thread_id = await thread(client)
        async with live.socket(session_id) as watcher:
            body = {"thread_id": thread_id, "message": "!slow 15 20"}
            async with client.stream("POST", CHAT, json=body) as stream:
                await some(stream, 1)
            done = (await watcher.until("done"))[-1]
    assert done["data"]["cancelled"] is False


async def test_a_closed_connection_stops_the_run_if_the_operator_wants_it(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(on_disconnect="cancel")
    async with server.http() as client:
        _, thread_id = await thread(client)
        body = {"thread_id": thread_id, "message": "!slow 1000 20"}
        async with client.stream("POST", CHAT, json=body) as stream:
            await some(stream, 1)
        async with client.stream("GET", f"{CHAT}/{thread_id}/events") as stream:
            events = await until_done(stream)
        assert events[-1]["data"]["cancelled"] is True
        whole = await client.post(CHAT, json={"thread_id": thread_id, "message": "!echo on"})
        assert said(events_in(whole.text)) == "on"


async def until_done(stream: httpx.Response) -> list[dict[str, Any]]:
    text = ""
    async for piece in stream.aiter_text():
        text += piece
        events = events_in(text.rpartition("\n\n")[0])
        if events and events[-1]["event"] == "done":
            return events
    return events_in(text)


@requirement("G7", "G12")
async def test_refusals_are_errors_and_not_streams(live: LiveServer) -> None:
    async with live.http() as client:
        session_id, thread_id = await thread(client)
        for body, status, code in (
            ({"thread_id": "ffffffff", "message": "hi"}, 404, "session_not_found"),
            ({"thread_id": "../x", "message": "hi"}, 422, "bad_input"),
            ({"thread_id": thread_id, "message": ""}, 422, "bad_input"),
            ({"thread_id": thread_id, "message": "nul \x00"}, 422, "bad_input"),
            ({"thread_id": thread_id}, 422, "bad_input"),
            ({"message": "hi"}, 422, "bad_input"),
            ({"thread_id": thread_id, "message": "hi", "user_id": "bob"}, 422, "bad_input"),
            ({"thread_id": thread_id, "message": "hi", "agent": "../x"}, 422, "bad_input"),
        ):
            answer = await client.post(CHAT, json=body)
            assert (answer.status_code, answer.json()["error_code"]) == (status, code), body
        async with live.socket(session_id) as socket:
            await socket.chat("!slow 1000 20")
            busy = await client.post(CHAT, json={"thread_id": thread_id, "message": "hi"})
            assert (busy.status_code, busy.json()["error_code"]) == (409, "session_busy")
            await socket.say("cancel")
            await socket.until("done")
        async with live.http("bob") as other:
            answer = await other.post(CHAT, json={"thread_id": thread_id, "message": "hi"})
            assert answer.status_code == 404
            assert (await other.get(f"{CHAT}/{thread_id}/events")).status_code == 404
        await live.until(lambda: live.container.capacity.used == 0)


@requirement("G12")
async def test_without_room_no_run_is_started(start_server: Callable[..., LiveServer]) -> None:
    server = start_server(max_connections=1)
    async with server.http() as client:
        session_id, thread_id = await thread(client)
        body = {"thread_id": thread_id, "message": "!echo hi"}
        async with server.socket():
            full = await client.post(CHAT, json=body)
        assert (full.status_code, full.json()["error_code"]) == (503, "too_many_connections")
        assert full.headers["retry-after"]
        assert (await client.get(f"/api/v1/sessions/{session_id}/messages")).json()["total"] == 0
        await server.until(lambda: server.container.capacity.used == 0)
        assert said(events_in((await client.post(CHAT, json=body)).text)) == "hi"


@pytest.mark.slow
async def test_a_quiet_turn_has_heartbeats(
    start_server: Callable[..., LiveServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "HEARTBEAT_SECONDS", 0.05)
    server = start_server()
    async with server.http() as client:
        _, thread_id = await thread(client)
        body = {"thread_id": thread_id, "message": "!slow 2 400"}
        answer = await client.post(CHAT, json=body)
    assert ": heartbeat\n\n" in answer.text
    assert said(events_in(answer.text)) == "chunk0 chunk1 "


@requirement("G9")
async def test_a_server_that_ends_lets_the_turn_end_first(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server()
    async with server.http() as client:
        _, thread_id = await thread(client)
        body = {"thread_id": thread_id, "message": "!slow 20 20"}
        async with client.stream("POST", CHAT, json=body) as stream:
            server.ask_to_stop()
            events = await until_done(stream)
    assert (events[-1]["event"], events[-1]["data"]["cancelled"]) == ("done", False)
    assert said(events) == "".join(f"chunk{n} " for n in range(20))
