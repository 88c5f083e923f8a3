"""What a socket does with input it cannot use: it says so and lives on."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import TYPE_CHECKING

import pytest
from websockets.exceptions import InvalidStatus

from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import LiveServer


def frame(command: str, **payload: str) -> str:
    return json.dumps({"type": command, "payload": payload})


DEEP = "[" * 100_000 + "]" * 100_000
BAD_FRAMES: dict[str, str | bytes] = {
    "not json": "hello",
    "empty": "",
    "cut json": '{"type": "chat", "payload"',
    "array": "[]",
    "number": "5",
    "null": "null",
    "no payload": '{"type": "ping"}',
    "no type": '{"payload": {}}',
    "payload is text": '{"type": "ping", "payload": "x"}',
    "payload is null": '{"type": "ping", "payload": null}',
    "type is a number": '{"type": 5, "payload": {}}',
    "unknown type": '{"type": "explode", "payload": {}}',
    "long unknown type": json.dumps({"type": "x" * 10_000, "payload": {}}),
    "extra key": '{"type": "ping", "payload": {}, "session_id": "x"}',
    "extra field": '{"type": "ping", "payload": {"a": 1}}',
    "binary": b'{"type": "ping", "payload": {}}',
    "binary garbage": b"\x00\xff\xfe",
    "lone surrogate": '{"type": "chat", "payload": {"message": "\\ud800"}}',
    "surrogate key": '{"type": "chat", "payload": {"\\udfff": "x"}}',
    "nul": '{"type": "chat", "payload": {"message": "a\\u0000b"}}',
    "nul in an id": '{"type": "cancel", "payload": {"run_id": "a\\u0000"}}',
    "no message": '{"type": "chat", "payload": {}}',
    "empty message": '{"type": "chat", "payload": {"message": ""}}',
    "blank message": '{"type": "chat", "payload": {"message": " \\n "}}',
    "message is a number": '{"type": "chat", "payload": {"message": 5}}',
    "message is a list": '{"type": "chat", "payload": {"message": ["x"]}}',
    "huge id": json.dumps(
        {"type": "chat", "payload": {"message": "x", "client_message_id": "i" * 100_000}}
    ),
    "huge run id": json.dumps({"type": "cancel", "payload": {"run_id": "r" * 100_000}}),
    "bad assistant": '{"type": "chat", "payload": {"message": "x", "assistant_id": "../../etc"}}',
    "unknown file": '{"type": "chat", "payload": {"message": "x", "file_ids": ["f1"]}}',
    "unknown skill": '{"type": "chat", "payload": {"message": "x", "skill": "nope"}}',
    "deep": '{"type": "ping", "payload": ' + DEEP + "}",
    "infinite": '{"type": "ping", "payload": {"n": 1e999}}',
    "not a number": '{"type": "ping", "payload": {"n": NaN}}',
    "ten megabytes": json.dumps({"type": "chat", "payload": {"message": "x" * 10_000_000}}),
    "two megabytes": json.dumps({"type": "chat", "payload": {"message": "x" * 2_000_000}}),
    "cancel of nothing": '{"type": "cancel", "payload": {}}',
    "cancel of an unknown run": '{"type": "cancel", "payload": {"run_id": "r1"}}',
    "cancel of another session": '{"type": "cancel", "payload": {"session_id": "other"}}',
    "decision on nothing": frame("hitl_decision", request_id="q", type="approve"),
    "unknown decision": frame("hitl_decision", request_id="q", type="maybe"),
    "decision without id": '{"type": "hitl_decision", "payload": {"type": "approve"}}',
    "second auth": '{"type": "auth", "payload": {"api_key": "k"}}',
}


@requirement("P26", "R17.3")
async def test_every_bad_frame_gets_an_error_and_the_connection_lives_on(live: LiveServer) -> None:
    async with live.socket() as socket:
        for name, frame in BAD_FRAMES.items():
            await socket.raw.send(frame)
            answer = await socket.receive()
            assert answer["event_type"] == "error", name
            assert answer.keys() == {"event_type", "data", "timestamp"}, name
            assert answer["data"].keys() >= {"error", "error_code", "recoverable"}, name
            assert answer["data"]["error_code"] != "internal_error", name
            assert len(answer["data"]["error"]) < 500, name
        await socket.chat("!echo still here")
        events = await socket.until("done")
    assert events[0]["data"]["content"] == "still here"


async def test_text_in_any_language_and_of_the_largest_size_is_taken(live: LiveServer) -> None:
    async with live.socket() as socket:
        await socket.chat("!echo žluťoučký 🐎 数据 \u2028")
        assert "🐎 数据" in (await socket.until("done"))[0]["data"]["content"]
        await socket.chat("!echo ok\n" + "\u0001" * 900_000)
        await socket.until("done")


@requirement("R17.3")
async def test_invalid_utf8_is_refused_with_1007_and_an_endless_frame_with_1009(
    live: LiveServer,
) -> None:
    for frame, code in (
        (b"\x81\x82\x00\x00\x00\x00\xff\xfe", 1007),
        (b"\x81\xff\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00", 1009),
        (b"\xf1\x80\x00\x00\x00\x00", 1002),
    ):
        async with live.socket(user="bob") as socket:
            socket.raw.transport.write(frame)
            assert await socket.closed() == code


async def test_a_message_in_thousands_of_fragments_is_one_message(live: LiveServer) -> None:
    text = json.dumps({"type": "chat", "payload": {"message": "!echo " + "x" * 5000}})
    async with live.socket() as socket:
        await socket.raw.send(iter(text))
        await socket.next("accepted")
        await socket.until("done")


@pytest.mark.parametrize("after", ["x", "-1", "1.5", "9" * 40, "%00", ""])
async def test_a_cursor_that_is_no_number_is_refused_with_422(live: LiveServer, after: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with live.socket(after=after):
            pass
    assert refused.value.response.status_code == 422
    assert b'"error_code":"bad_input"' in bytes(refused.value.response.body)


async def test_a_cursor_from_the_future_starts_at_the_present(live: LiveServer) -> None:
    async with live.socket(after=10_000) as socket:
        await socket.chat("!echo hi")
        assert (await socket.until("done"))[0]["seq"] == 1


@requirement("G13", "P36")
async def test_a_flood_of_messages_is_slowed_down_and_others_are_served(live: LiveServer) -> None:
    ping = '{"type": "ping", "payload": {}}'
    async with live.socket() as flooder, live.socket(user="bob") as other:

        async def flood() -> None:
            while True:
                await flooder.raw.send(ping)

        flooding = asyncio.create_task(flood())
        await flooder.until("pong")
        for number in range(3):
            await other.chat(f"!echo {number}")
            await other.until("done")
        flooding.cancel()
        flooder.raw.transport.abort()


@requirement("G13")
async def test_a_flood_of_control_frames_is_ended(live: LiveServer) -> None:
    async with live.socket() as flooder, live.socket(user="bob") as other:
        flooder.raw.transport.write(b"\x89\x80\x00\x00\x00\x00" * 20_000)
        await other.chat("!echo quick")
        await other.until("done")
        assert await flooder.closed() == 1008


async def test_a_60_kb_header_is_refused_and_the_client_is_told(live: LiveServer) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with live.socket(user=None, headers={"X-API-Key": "k" * 60_000}):
            pass
    assert refused.value.response.status_code == 431


async def test_half_a_handshake_holds_no_slot(
    start_server: Callable[..., LiveServer],
) -> None:
    server = start_server(max_connections=2)
    halves = [await asyncio.open_connection(*server.address) for _ in range(20)]
    for _, writer in halves:
        writer.write(f"GET /ws/chat/{uuid.uuid4()} HTTP/1.1\r\nUpgrade: webs".encode())
    async with server.socket() as socket:
        await socket.say("ping")
        await socket.next("pong")
    for _, writer in halves:
        writer.close()
