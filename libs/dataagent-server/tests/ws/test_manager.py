"""The books of open sockets stay right, whatever order they come and go in."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataagent_core.errors import TooManyConnections
from dataagent_server.deps.capacity import Capacity
from dataagent_server.deps.rate import TokenBucket
from dataagent_server.ws.frames import text_frame
from dataagent_server.ws.manager import Connection, ConnectionManager
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
    manager = ConnectionManager(capacity)
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
    manager = ConnectionManager(Capacity(4))
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


def test_a_bucket_allows_a_burst_and_then_its_rate() -> None:
    bucket = TokenBucket(rate_per_second=10, burst=3, now=0.0)
    assert [bucket.delay(0.0) for _ in range(3)] == [0.0, 0.0, 0.0]
    assert bucket.delay(0.0) == pytest.approx(0.1)
    assert bucket.delay(1.0) == 0.0
