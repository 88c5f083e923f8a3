"""The books of open sockets stay right, whatever order they come and go in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import MutableMapping
from typing import Any

import pytest
from fastapi import HTTPException
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.websockets import WebSocket

from dataagent_core.errors import SessionBusy, TooManyConnections
from dataagent_core.events import TextEvent
from dataagent_server.deps.connections import Capacity
from dataagent_server.ws.manager import Connection, ConnectionManager
from dataagent_server.ws.outbox import text_frame
from tests.requirements import requirement
from tests.tiers import examples


@requirement("P37", "P38", "P28", "R23.5")
@settings(max_examples=examples(100))
@given(
    st.integers(1, 8),
    st.lists(st.tuples(st.sampled_from(["open", "close"]), st.integers(0, 3)), max_size=60),
)
def test_counts_stay_consistent_and_the_limit_holds(
    limit: int, steps: list[tuple[str, int]]
) -> None:
    capacity = Capacity(limit)
    manager = ConnectionManager(capacity=capacity)
    held: list[Connection] = []
    for action, number in steps:
        if action == "open" and len(held) == limit:
            with pytest.raises(TooManyConnections):
                manager.open(f"s{number}")
        elif action == "open":
            held.append(manager.open(f"s{number}"))
        elif held:
            left = held.pop(number % len(held))
            manager.close(left)
            manager.close(left)  # a second time does nothing
        assert manager.count == capacity.used == len(held)
        for session in {f"s{n}" for n in range(4)}:
            expected = [each for each in held if each.session_id == session]
            assert sorted(each.connection_id for each in manager.of_session(session)) == sorted(
                each.connection_id for each in expected
            )


def test_strangers_hold_at_most_half_of_the_slots() -> None:
    manager = ConnectionManager(4)
    for _ in range(2):
        manager.expect_auth(manager.open("s"))
    third = manager.open("s")
    with pytest.raises(TooManyConnections):
        manager.expect_auth(third)
    third.user_id = "alice"  # one with a key in its handshake gets in all the same
    assert manager.count == 3


@given(st.integers(0, 140_000))
def test_a_frame_is_what_the_standard_says(size: int) -> None:
    from websockets.frames import Frame, Opcode

    payload = b"x" * size
    assert text_frame(payload) == Frame(Opcode.TEXT, payload).serialize(mask=False)


# -- a program of one's own ---------------------------------------------------------------------


class Wire:
    """A socket that is connecting, and what is sent to its client."""

    def __init__(self) -> None:
        self.sent: list[MutableMapping[str, Any]] = []
        self.is_gone = False

    def socket(self) -> WebSocket:
        scope: dict[str, Any] = {"type": "websocket", "path": "/", "headers": [], "extensions": {}}
        return WebSocket(scope, self._receive, self._send)

    async def _receive(self) -> MutableMapping[str, Any]:
        return {"type": "websocket.connect"}

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        if self.is_gone:
            raise OSError
        self.sent.append(message)

    @property
    def texts(self) -> list[dict[str, Any]]:
        return [json.loads(each["text"]) for each in self.sent if "text" in each]


@requirement("R17.4", "R17.5", "P27", "P36")
async def test_an_event_goes_to_every_socket_of_its_session_and_to_no_other() -> None:
    manager = ConnectionManager()
    first, second, other, gone = Wire(), Wire(), Wire(), Wire()
    for wire, session in ((first, "s"), (second, "s"), (gone, "s"), (other, "t")):
        assert await manager.connect(wire.socket(), session)
    gone.is_gone = True
    await manager.send_event("s", TextEvent(content="hi", timestamp=1.5))
    expected = {"content": "hi", "is_final": False, "agent": None, "is_main": False}
    for wire in (first, second):
        assert wire.texts == [{"event_type": "text", "data": expected, "timestamp": 1.5}]
    assert other.texts == []
    assert manager.count == 3  # who is gone is forgotten
    await manager.send_event("nobody", TextEvent(content="hi"))


@requirement("R17.6", "R23.6", "P28", "P38")
async def test_a_full_manager_takes_a_socket_when_another_has_left() -> None:
    manager = ConnectionManager(max_connections=1)
    await manager.check_capacity()
    kept, refused = Wire(), Wire()
    assert await manager.connect(kept.socket(), "s")
    assert not await manager.connect(refused.socket(), "t")
    assert refused.sent == []
    with pytest.raises(HTTPException) as full:
        await manager.check_capacity()
    assert full.value.status_code == 503
    manager.disconnect("s")
    assert await manager.connect(refused.socket(), "t")


async def test_a_client_that_left_before_it_was_accepted_takes_no_room() -> None:
    manager, left = ConnectionManager(max_connections=1), Wire()
    left.is_gone = True
    assert not await manager.connect(left.socket(), "s")
    assert manager.count == 0


@requirement("R24.2", "R24.6", "P39", "P41")
async def test_a_turn_is_begun_once_and_cancelled_and_leaves_nothing() -> None:
    manager = ConnectionManager()
    forever = asyncio.Event()
    assert await manager.cancel_task("s") is False
    task = await manager.start_task("s", forever.wait())
    with pytest.raises(SessionBusy):
        await manager.start_task("s", forever.wait())
    assert await manager.cancel_task("s") is True
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await manager.cancel_task("s") is False
    again = await manager.start_task("s", asyncio.sleep(0, "done"))
    assert await again == "done"
    third = await manager.start_task("s", forever.wait())
    manager.disconnect("s")
    with pytest.raises(asyncio.CancelledError):
        await third
