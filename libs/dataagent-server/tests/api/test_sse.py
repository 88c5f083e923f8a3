"""Events as Server-Sent Events."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from dataagent_core.errors import BadInput
from dataagent_core.events import TextEvent, event_to_wire
from dataagent_core.runs.types import Entry
from dataagent_server.api import streaming
from dataagent_server.api.streaming import cursor, sse_text
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import LiveServer


async def read_until(stream: httpx.Response, last: str) -> list[dict[str, Any]]:
    """The events up to and with the first of that type."""
    events: list[dict[str, Any]] = []
    event: dict[str, Any] = {}
    async for line in stream.aiter_lines():
        if line:
            name, _, value = line.partition(": ")
            event[name] = json.loads(value) if name == "data" else value
            continue
        if "data" in event:
            events.append(event)
            if event["event"] == last:
                return events
        event = {}
    return events


def test_an_event_has_an_id_a_type_and_its_wire_form() -> None:
    wire = event_to_wire(TextEvent(content="a\nb", timestamp=1.0), seq=7, run_id="r")
    text = sse_text(Entry(7, "r", wire)).decode()
    assert text == f"id: 7\nevent: text\ndata: {wire.decode()}\n\n"


def test_the_browsers_cursor_wins_over_the_address() -> None:
    assert cursor(3, None) == 3
    assert cursor(3, "7") == 7
    assert cursor(3, "") == 3
    for bad in ("x", "-1", "1e3", "9" * 30, "٣"):
        with pytest.raises(BadInput):
            cursor(0, bad)


@requirement("G4")
async def test_a_session_stream_goes_on_from_last_event_id_and_nothing_is_lost(
    live: LiveServer,
) -> None:
    async with live.socket() as socket, live.http() as client:
        url = f"/api/v1/sessions/{socket.session_id}/events"
        await socket.chat("!slow 20 10")
        async with client.stream("GET", url) as stream:
            assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
            assert stream.headers["x-accel-buffering"] == "no"
            first = await read_until(stream, "text")
        async with client.stream("GET", url, headers={"Last-Event-ID": first[-1]["id"]}) as stream:
            rest = await read_until(stream, "done")
        over_socket = await socket.until("done")
    assert [event["data"] for event in [*first, *rest]] == over_socket
    assert [event["id"] for event in [*first, *rest]] == [str(each["seq"]) for each in over_socket]


async def test_a_run_stream_ends_with_the_run(live: LiveServer) -> None:
    async with live.http() as client:
        answer = (await client.post("/api/v1/chat", json={"message": "!slow 3 5"})).json()
        url = f"/api/v1/runs/{answer['run_id']}/events"
        whole = await client.get(url)
        rest = await client.get(url, params={"after": 2})
    assert whole.text.count("event: done") == rest.text.count("event: done") == 1
    assert "id: 1\n" in whole.text
    assert "id: 2\n" not in rest.text
    assert "id: 3\n" in rest.text


async def test_a_quiet_stream_has_heartbeats(
    start_server: Callable[..., LiveServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "HEARTBEAT_SECONDS", 0.05)
    server = start_server()
    async with (
        server.socket() as socket,
        server.http() as client,
        client.stream("GET", f"/api/v1/sessions/{socket.session_id}/events") as stream,
    ):
        lines = stream.aiter_lines()
        assert [await anext(lines) for _ in range(3)] == [": heartbeat", "", ": heartbeat"]


@requirement("G16")
async def test_a_stream_whose_client_left_gives_its_slot_back(live: LiveServer) -> None:
    async with live.socket() as socket:
        url = f"/api/v1/sessions/{socket.session_id}/events"
        async with live.http() as client, client.stream("GET", url):
            await live.until(lambda: live.container.capacity.used == 2)
        await live.until(lambda: live.container.capacity.used == 1)


async def test_a_stream_of_a_session_that_is_not_there_is_404(live: LiveServer) -> None:
    async with live.http() as client:
        answer = await client.get("/api/v1/sessions/nope/events")
        assert (answer.status_code, answer.json()["error_code"]) == (404, "session_not_found")
        answer = await client.get("/api/v1/runs/nope/events")
        assert (answer.status_code, answer.json()["error_code"]) == (404, "run_not_found")


@requirement("G9")
async def test_a_server_that_ends_ends_its_streams_and_sockets(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server()
    async with server.socket() as socket, server.http() as client:
        await socket.chat("!slow 20 20")
        async with client.stream("GET", f"/api/v1/sessions/{socket.session_id}/events") as stream:
            await socket.next("text")
            server.ask_to_stop()
            over_stream, over_socket = await asyncio.gather(
                read_until(stream, "done"), socket.until("done")
            )
            assert over_stream[-1]["event"] == over_socket[-1]["event_type"] == "done"
            assert stream.is_closed or await _rest(stream) == []
        assert await socket.closed() in (1001, 1012)


async def _rest(stream: httpx.Response) -> list[str]:
    with suppress(httpx.StreamConsumed):
        return [line async for line in stream.aiter_lines()]
    return []
