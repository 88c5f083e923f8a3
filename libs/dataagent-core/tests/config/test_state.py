"""What a terminal session remembers between turns."""

from __future__ import annotations

import uuid

from dataagent_core.config import SessionState
from tests.requirements import requirement


@requirement("R6.5")
def test_each_session_has_a_thread_of_its_own() -> None:
    states = [SessionState() for _ in range(100)]
    assert len({state.thread_id for state in states}) == 100
    assert all(str(uuid.UUID(state.thread_id)) == state.thread_id for state in states)
    assert SessionState(thread_id="t1").thread_id == "t1"


@requirement("R6.5")
def test_auto_approval_is_off_and_can_be_switched() -> None:
    state = SessionState()
    assert state.auto_approve is False
    assert state.toggle_auto_approve() is True
    assert state.auto_approve is True
    assert state.toggle_auto_approve() is False


@requirement("R6.5")
def test_todos_are_not_shared_between_sessions() -> None:
    first, second = SessionState(), SessionState()
    first.current_todos.append({"content": "x", "status": "pending"})
    assert second.current_todos == []


@requirement("R6.5")
def test_state_has_thread_approval_and_plan() -> None:
    state = SessionState("t1", True, [{"content": "a"}])
    assert (state.thread_id, state.auto_approve, state.current_todos) == (
        "t1",
        True,
        [{"content": "a"}],
    )
