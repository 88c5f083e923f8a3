"""The count of long-lived connections."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataagent_core.errors import TooManyConnections, UserLimit
from dataagent_server.deps import Capacity
from tests.requirements import requirement
from tests.tiers import examples


@requirement("P37", "P38")
@settings(max_examples=examples(100))
@given(limit=st.integers(1, 20), moves=st.lists(st.booleans(), max_size=60))
def test_never_more_than_the_limit_and_every_slot_comes_back(limit: int, moves: list[bool]) -> None:
    capacity = Capacity(limit)
    held = 0
    for is_taken in moves:
        if is_taken and held == limit:
            with pytest.raises(TooManyConnections):
                capacity.take()
        elif is_taken:
            capacity.take()
            held += 1
        elif held:
            capacity.release()
            held -= 1
        assert capacity.used == held <= limit


@requirement("P28")
def test_a_slot_is_given_back_when_its_holder_fails() -> None:
    capacity = Capacity(1)
    with pytest.raises(ValueError, match="broken"), capacity.slot("anna"):
        raise ValueError("broken")
    assert capacity.used == 0


def test_one_user_cannot_take_all_slots() -> None:
    capacity = Capacity(5, per_user=2)
    for _ in range(2):
        capacity.take("anna")
    with pytest.raises(UserLimit) as refused:
        capacity.take("anna")
    assert refused.value.details == {"what": "connections", "limit": 2, "used": 2}
    capacity.take()
    with pytest.raises(UserLimit):
        capacity.assign("anna")
    capacity.assign("bert")
    capacity.release("anna")
    capacity.take("anna")
    assert capacity.used == 3
