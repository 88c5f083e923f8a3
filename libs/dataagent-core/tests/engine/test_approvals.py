"""LangGraph's interrupts as requests, our decisions as resume values. Pure."""

from __future__ import annotations

from typing import Any

from langgraph.types import Interrupt

from dataagent_core.engine.translate import allowed_decisions, request_of, resume_value
from dataagent_core.hitl import ALL_DECISIONS, ActionRequest, Decision, EditedAction
from tests.requirements import requirement

ARGS_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


def interrupt(schema: Any = None, **value: Any) -> Interrupt:
    shown = {"type": "tool_approval", "name": "write_file", "args": {"path": "/a"}, **value}
    return Interrupt(value=shown, id="i1", response_schema=schema)


def schema(arguments: Any, *kinds: str) -> dict[str, Any]:
    return {
        "$defs": {
            "EditedAction": {"properties": {"name": {}, "args": arguments}},
            "Arguments": ARGS_SCHEMA,
            "Path": {"type": "string"},
        },
        "discriminator": {"mapping": dict.fromkeys(kinds, "#/x")},
    }


@requirement("R3.2")
def test_tool_approval_is_a_request_with_its_interrupts_id() -> None:
    assert request_of(interrupt(description="Write it.")) == ActionRequest(
        "write_file", {"path": "/a"}, "Write it.", "i1"
    )


def test_schema_of_the_arguments_travels_with_the_request() -> None:
    assert request_of(interrupt(schema(ARGS_SCHEMA))).args_schema == ARGS_SCHEMA
    by_reference = request_of(interrupt(schema({"$ref": "#/$defs/Arguments"}))).args_schema
    assert by_reference is not None
    assert by_reference["properties"] == ARGS_SCHEMA["properties"]
    assert by_reference["$defs"]["Path"] == {"type": "string"}
    assert "EditedAction" not in by_reference["$defs"]
    assert request_of(interrupt({"$defs": {}})).args_schema is None
    assert request_of(interrupt("no schema")).args_schema is None


def test_interrupt_of_another_kind_shows_its_value() -> None:
    assert request_of(Interrupt(value="Which year?", id="i2")) == ActionRequest(
        "input", {"value": "Which year?"}, "The agent asks.", "i2"
    )


def test_allowed_are_the_kinds_the_schema_names() -> None:
    assert allowed_decisions(interrupt(schema({}, "reject", "approve"))) == ("approve", "reject")
    assert allowed_decisions(interrupt(schema({}))) == ALL_DECISIONS
    assert allowed_decisions(interrupt()) == ALL_DECISIONS


def test_decision_goes_back_in_the_form_langchain_reads() -> None:
    edit = Decision("edit", edited_action=EditedAction("write_file", {"path": "/b"}))
    assert resume_value(edit) == {
        "type": "edit",
        "edited_action": {"name": "write_file", "args": {"path": "/b"}},
    }
    assert resume_value(Decision("reject", "no")) == {"type": "reject", "message": "no"}
