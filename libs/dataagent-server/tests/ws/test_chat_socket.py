"""A conversation over `/ws/chat/{session_id}`, as a client has it."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING

import pytest
from websockets.exceptions import InvalidStatus

from dataagent_core.events import TextEvent, event_from_dict
from dataagent_server import serve
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import LiveServer


def seqs(messages: list[dict[str, object]]) -> list[object]:
    return [message["seq"] for message in messages if "seq" in message]


@requirement("R17.1", "R17.4", "R17.5", "P27", "R14.4")
async def test_events_arrive_live_in_order_with_type_data_and_timestamp(live: LiveServer) -> None:
    async with live.socket() as socket:
        accepted = await socket.chat("!slow 5 10")
        events = await socket.until("done")
    assert seqs(events) == list(range(1, len(events) + 1))
    assert all(
        event.keys() == {"event_type", "data", "timestamp", "seq", "run_id"} for event in events
    )
    assert {event["run_id"] for event in events} == {accepted["run_id"]}
    rebuilt = [event_from_dict(event) for event in events]
    text = "".join(event.content for event in rebuilt if isinstance(event, TextEvent))
    assert text == "chunk0 chunk1 chunk2 chunk3 chunk4 "
    assert len([event for event in events if event["event_type"] == "text"]) > 1


@requirement("R17.2")
async def test_a_fresh_uuid_becomes_the_callers_session(live: LiveServer) -> None:
    async with live.socket() as socket:
        assert socket.connected["data"] == {
            "session_id": socket.session_id,
            "last_seq": 0,
            "active_run": None,
        }
    async with live.http() as client:
        found = await client.get(f"/api/v1/sessions/{socket.session_id}")
    assert found.json()["user_id"] == "alice"


@requirement("R17.2")
@pytest.mark.parametrize("session_id", ["nope", "x" * 200, "a%00b", "..%5c..", "%F0%9F%92%A9"])
async def test_an_unknown_id_that_is_no_uuid_is_refused(live: LiveServer, session_id: str) -> None:
    async with live.socket(session_id, is_greeted=False) as socket:
        assert (await socket.next("error"))["data"]["error_code"] == "session_not_found"
        assert await socket.closed() == 4404


async def test_a_socket_elsewhere_is_refused_in_the_envelope(live: LiveServer) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with live.socket("..%2f.."):
            pass
    assert refused.value.response.status_code == 404
    assert b'"error_code":"not_found"' in bytes(refused.value.response.body)


@requirement("R17.2")
async def test_another_users_session_is_refused(live: LiveServer) -> None:
    async with live.socket() as mine:
        await mine.chat("!echo secret")
        await mine.until("done")
    async with live.socket(mine.session_id, user="bob", is_greeted=False) as theirs:
        error = await theirs.next("error")
        assert await theirs.closed() == 4403
    assert "secret" not in str(error)


async def test_accepted_comes_before_the_runs_events_and_names_the_message(
    live: LiveServer,
) -> None:
    accepted: dict[str, str] = {}
    async with live.socket() as socket:
        for number in range(5):
            accepted = await socket.chat(f"!echo {number}", client_message_id=f"m{number}")
            assert accepted["client_message_id"] == f"m{number}"
            await socket.until("done")
        async with live.http() as client:
            history = await client.get(f"/api/v1/sessions/{socket.session_id}/messages")
    ids = [item["message_id"] for item in history.json()["items"]]
    assert accepted["message_id"] in ids


@requirement("G15")
async def test_the_same_client_message_id_twice_is_one_run(live: LiveServer) -> None:
    async with live.socket() as socket:
        first = await socket.chat("!echo once", client_message_id="same")
        await socket.until("done")
        second = await socket.chat("!echo once", client_message_id="same")
        assert second["run_id"] == first["run_id"]
        await socket.chat("!echo next", client_message_id="other")
        events = await socket.until("done")
    assert first["run_id"] not in {event["run_id"] for event in events}


@requirement("G7")
async def test_a_second_message_while_one_runs_is_refused_and_the_first_goes_on(
    live: LiveServer,
) -> None:
    async with live.socket() as socket:
        await socket.chat("!slow 20 20")
        await socket.say("chat", {"message": "!echo two", "client_message_id": "two"})
        refusal = next(m for m in await socket.until("error") if m["event_type"] == "error")
        assert refusal["data"]["error_code"] == "session_busy"
        assert refusal["data"]["client_message_id"] == "two"
        assert "seq" not in refusal
        assert (await socket.until("done"))[-1]["data"]["cancelled"] is False


@requirement("R17.7")
async def test_ping_is_answered_with_pong(live: LiveServer) -> None:
    async with live.socket() as socket:
        await socket.say("ping")
        assert (await socket.next("pong"))["data"] == {}


@requirement("R17.7")
async def test_the_server_pings_and_drops_a_peer_that_is_gone(
    start_server: Callable[..., LiveServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serve, "PING_SECONDS", 0.1)
    server = start_server()
    reader, writer = await asyncio.open_connection(*server.address)
    writer.write(_handshake(str(uuid.uuid4())))
    await reader.readuntil(b"\r\n\r\n")
    await server.until(lambda: server.connections.count == 1)
    await server.until(lambda: server.connections.count == 0)
    writer.close()


@requirement("R17.6", "P28", "G5")
async def test_a_dropped_connection_is_cleaned_up_and_its_run_goes_on(live: LiveServer) -> None:
    async with live.socket() as socket:
        accepted = await socket.chat("!slow 15 20")
        await socket.next("text")
        socket.raw.transport.abort()
    await live.until(lambda: not live.connections.of_session(socket.session_id))
    async with live.socket(socket.session_id, after=0) as again:
        events = await again.until("done")
    assert events[-1]["data"]["cancelled"] is False
    assert events[-1]["run_id"] == accepted["run_id"]
    assert seqs(events) == list(range(1, len(events) + 1))


@requirement("R17.6")
async def test_on_disconnect_cancel_stops_the_run_when_its_last_reader_leaves(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(on_disconnect="cancel")
    async with server.socket() as first:
        async with server.socket(first.session_id):
            accepted = await first.chat("!slow 500 20")
            await first.next("text")
        await first.next("text")  # the other reader's end is not the end
    async with (
        server.http() as client,
        client.stream("GET", f"/api/v1/runs/{accepted['run_id']}/events") as stream,
    ):
        lines = [line async for line in stream.aiter_lines()]
    assert '"cancelled":true' in next(line for line in reversed(lines) if line.startswith("data:"))


@requirement("G4")
async def test_a_reader_that_comes_back_gets_the_rest_and_nothing_twice(live: LiveServer) -> None:
    async with live.socket() as socket:
        await socket.chat("!slow 30 10")
        seen = [await socket.next("text") for _ in range(3)]
    async with live.socket(socket.session_id, after=3) as again:
        rest = await again.until("done")
    joined = [*seen, *rest]
    assert seqs(joined) == list(range(1, len(joined) + 1))
    text = "".join(each["data"]["content"] for each in joined if each["event_type"] == "text")
    assert text == "".join(f"chunk{number} " for number in range(30))


async def test_without_a_cursor_a_reader_gets_what_comes_from_now_on(live: LiveServer) -> None:
    async with live.socket() as socket:
        await socket.chat("!echo old")
        last = (await socket.until("done"))[-1]["seq"]
    async with live.socket(socket.session_id) as again:
        assert again.connected["data"]["last_seq"] == last
        await again.chat("!echo new")
        assert (await again.receive())["seq"] == last + 1


async def test_a_reader_that_comes_in_the_middle_learns_of_the_active_run(live: LiveServer) -> None:
    async with live.socket() as socket:
        accepted = await socket.chat("!slow 30 10")
        async with live.socket(socket.session_id) as second:
            assert second.connected["data"]["active_run"] == accepted["run_id"]
            tail = await second.until("done")
        whole = await socket.until("done")
    assert tail == whole[-len(tail) :]


async def test_several_sockets_watch_one_session_and_one_may_leave(live: LiveServer) -> None:
    async with live.socket() as first, live.socket(first.session_id) as second:
        assert len(live.connections.of_session(first.session_id)) == 2
        async with live.socket(first.session_id):
            pass
        await second.chat("!echo both")
        assert await first.until("done") == await second.until("done")


async def test_a_socket_is_told_that_its_session_was_deleted(live: LiveServer) -> None:
    async with live.socket() as socket, live.http() as client:
        assert (await client.delete(f"/api/v1/sessions/{socket.session_id}")).status_code == 204
        assert (await socket.next("error"))["data"]["error_code"] == "session_not_found"
        assert await socket.closed() == 4404
        gone = await client.get(f"/api/v1/sessions/{socket.session_id}")
        assert gone.status_code == 404


@requirement("P36", "R23.4", "R23.2")
async def test_one_clients_work_does_not_hold_up_anothers(live: LiveServer) -> None:
    async with live.socket() as busy, live.socket(user="bob") as other:
        await busy.chat("!slow 200 20")
        await busy.next("text")
        await other.chat("!echo quick")
        await other.until("done")
        assert (
            await live.on_server(live.container.core.runs.active_run(busy.session_id))
        ) is not None
        await busy.say("cancel")
        await busy.until("done")


def _handshake(session_id: str) -> bytes:
    return (
        f"GET /ws/chat/{session_id} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nX-API-Key: alice-key-4f9a0c\r\n\r\n"
    ).encode()
