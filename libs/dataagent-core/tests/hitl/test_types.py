"""Requests and decisions: what is asked, what can be answered, what is refused."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.errors import BadDecision
from dataagent_core.hitl import ALL_DECISIONS, ActionRequest, Decision, EditedAction, HITLHandler
from tests.requirements import requirement

text = st.text(max_size=20)
arguments = st.dictionaries(text, st.none() | st.booleans() | st.integers() | text, max_size=4)
decisions = st.one_of(
    st.builds(Decision, st.sampled_from(["approve", "reject"]), st.none() | text),
    st.builds(Decision, st.just("respond"), st.text(min_size=1, max_size=20)),
    st.builds(
        Decision, st.just("edit"), st.none() | text, st.builds(EditedAction, text, arguments)
    ),
)


@requirement("R3.1")
def test_handler_is_asked_with_the_request_and_the_session() -> None:
    method = HITLHandler.request_approval
    assert inspect.iscoroutinefunction(method)
    assert list(inspect.signature(method).parameters) == ["self", "action_request", "session_id"]


@requirement("R3.2")
def test_action_request_has_name_arguments_and_description() -> None:
    assert {"name", "args", "description"} <= {f.name for f in fields(ActionRequest)}
    assert ActionRequest("write_file", {"a": 1}, "Write it.", "q1").to_dict() == {
        "name": "write_file",
        "args": {"a": 1},
        "description": "Write it.",
        "kind": "write_file",
    }


@requirement("R3.3")
def test_decision_has_type_and_message() -> None:
    assert {"type", "message"} <= {f.name for f in fields(Decision)}
    assert ALL_DECISIONS == ("approve", "reject", "edit", "respond")


@requirement("R3.2")
@given(text, arguments, text, text, st.none() | arguments)
def test_request_rebuilt_from_its_dictionary_is_equal(
    name: str,
    args: dict[str, Any],
    description: str,
    request_id: str,
    schema: dict[str, Any] | None,
) -> None:
    request = ActionRequest(name, args, description, request_id, schema)
    assert ActionRequest.from_dict(request.to_dict(), request_id) == request


@requirement("R3.3")
@given(decisions)
def test_decision_rebuilt_from_its_dictionary_is_equal(decision: Decision) -> None:
    assert Decision.from_dict(decision.to_dict()) == decision


@requirement("R3.3", "G11")
@pytest.mark.parametrize(
    "data",
    [
        {},
        {"type": "maybe"},
        {"type": None},
        {"type": ["approve"]},
        {"type": "approve", "message": 3},
        {"type": "respond"},
        {"type": "respond", "message": ""},
        {"type": "edit"},
        {"type": "edit", "edited_action": {"name": "x"}},
        {"type": "edit", "edited_action": {"name": "x", "args": []}},
        {"type": "edit", "edited_action": "x"},
    ],
)
def test_decision_that_is_none_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(BadDecision):
        Decision.from_dict(data)


def test_action_beside_a_plain_approval_is_left_out() -> None:
    data: dict[str, Any] = {"type": "approve", "edited_action": {"name": "x", "args": {}}}
    assert Decision.from_dict(data) == Decision("approve")


@requirement("R3.2", "R3.3")
def test_request_and_decision_are_read_like_dictionaries_too() -> None:
    request = ActionRequest(name="write_file", args={"a": 1}, description="Write it.")
    assert (request["name"], request["args"], request["description"]) == (
        "write_file",
        {"a": 1},
        "Write it.",
    )
    decision = Decision(type="reject")
    assert (decision["type"], decision["message"]) == ("reject", None)
    assert Decision(type="reject", message=None) == decision
    assert (decision.get("message", "none"), decision.get("no", "none")) == (None, "none")
    assert ("type" in decision, "no" in decision) == (True, False)
    assert dict(decision) == {"type": "reject", "message": None, "edited_action": None}
    with pytest.raises(KeyError):
        request["to_dict"]


@requirement("R3.3")
@given(decision=decisions)
def test_dictionary_is_as_good_an_answer_as_a_decision(decision: Decision) -> None:
    assert Decision.of(decision) is decision
    again = Decision.of(decision.to_dict())
    assert (again.type, again.edited_action) == (decision.type, decision.edited_action)
    assert Decision.of({"type": "approve", "message": None}) == Decision("approve")


def test_answer_that_is_no_decision_is_refused() -> None:
    answer: Any = "approve"
    with pytest.raises(BadDecision, match="not str"):
        Decision.of(answer)
