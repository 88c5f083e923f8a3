"""Every event goes out as a dictionary or a wire message and comes back as it was."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import ANY

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataagent_core.errors import UnknownEvent
from dataagent_core.events import (
    EVENT_CLASSES,
    AnyEvent,
    ArtifactEvent,
    DoneEvent,
    ErrorEvent,
    ExecutionEvent,
    FileOperationEvent,
    HITLRequestEvent,
    TextEvent,
    ThinkingEvent,
    TodoUpdateEvent,
    ToolCallEvent,
    ToolResultEvent,
    event_from_dict,
    event_to_wire,
)
from dataagent_core.hitl import ALL_DECISIONS, ActionRequest
from tests.requirements import requirement
from tests.tiers import examples

many = settings(max_examples=examples(100))
text = st.text(max_size=40)
moment = st.floats(0, 2**33, allow_nan=False)
integers = st.integers(-(2**63), 2**63 - 1)
numbers = integers | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)
json_objects = st.dictionaries(text, json_values, max_size=4)
statuses = st.sampled_from(["success", "error", "timeout", "denied"])
speaker = st.none() | text


@st.composite
def requests(draw: st.DrawFn) -> HITLRequestEvent:
    """Approval requests; the action has the id that travels beside it, another or none."""
    request_id = draw(text)
    action = ActionRequest(
        draw(text),
        draw(json_objects),
        draw(text),
        draw(st.sampled_from([request_id, ""]) | text),
        draw(st.none() | json_objects),
        draw(st.none() | text),
    )
    return HITLRequestEvent(
        request_id=request_id,
        action=action,
        allowed=tuple(draw(st.lists(st.sampled_from(ALL_DECISIONS), unique=True))),
        expires_at=draw(st.none() | moment),
        timestamp=draw(moment),
    )


EVENTS: dict[type[ExecutionEvent], st.SearchStrategy[Any]] = {
    TextEvent: st.builds(
        TextEvent, content=text, is_final=st.booleans(), agent=speaker, timestamp=moment
    ),
    ThinkingEvent: st.builds(ThinkingEvent, content=text, agent=speaker, timestamp=moment),
    ToolCallEvent: st.builds(
        ToolCallEvent,
        tool_name=text,
        tool_args=json_objects,
        tool_call_id=text,
        agent=speaker,
        timestamp=moment,
    ),
    ToolResultEvent: st.builds(
        ToolResultEvent,
        tool_call_id=text,
        tool_name=text,
        result=json_values,
        status=statuses,
        timestamp=moment,
    ),
    HITLRequestEvent: requests(),
    TodoUpdateEvent: st.builds(
        TodoUpdateEvent, todos=st.lists(json_objects, max_size=3), timestamp=moment
    ),
    FileOperationEvent: st.builds(
        FileOperationEvent,
        operation=st.sampled_from(["read", "write", "edit", "delete"]),
        file_path=text,
        metrics=st.dictionaries(text, integers, max_size=4),
        diff=st.none() | text,
        status=statuses,
        timestamp=moment,
    ),
    ArtifactEvent: st.builds(
        ArtifactEvent,
        artifact_id=text,
        kind=st.sampled_from(["table", "chart", "file"]),
        title=text,
        url=text,
        preview=json_values,
        timestamp=moment,
    ),
    ErrorEvent: st.builds(
        ErrorEvent, error=text, error_code=text, recoverable=st.booleans(), timestamp=moment
    ),
    DoneEvent: st.builds(
        DoneEvent,
        token_usage=st.none() | st.dictionaries(text, integers, max_size=3),
        cancelled=st.booleans(),
        reason=st.sampled_from(["completed", "user_cancelled", "rejected", "timeout", "failed"]),
        timestamp=moment,
    ),
}
any_event: st.SearchStrategy[AnyEvent] = st.one_of(*EVENTS.values())


def test_there_is_a_strategy_for_every_event_class() -> None:
    assert set(EVENTS) == set(EVENT_CLASSES)


@requirement("P1", "R14.1", "R14.5")
@pytest.mark.parametrize("kind", EVENT_CLASSES)
@many
@given(data=st.data())
def test_event_rebuilt_from_its_dictionary_is_equal(
    kind: type[AnyEvent], data: st.DataObject
) -> None:
    event = data.draw(EVENTS[kind])
    assert event_from_dict(event.to_dict()) == event


@requirement("P1", "R14.4", "R14.5")
@pytest.mark.parametrize("kind", EVENT_CLASSES)
@many
@given(data=st.data())
def test_event_rebuilt_from_its_wire_message_is_equal(
    kind: type[AnyEvent], data: st.DataObject
) -> None:
    event = data.draw(EVENTS[kind])
    assert event_from_dict(json.loads(event_to_wire(event, seq=3, run_id="r"))) == event


@requirement("P2", "P3", "R2.5", "R2.6", "R14.2", "R14.3")
@many
@given(event=any_event)
def test_dictionary_is_json_with_type_and_timestamp(event: AnyEvent) -> None:
    rebuilt = json.loads(json.dumps(event.to_dict()))
    assert rebuilt["event_type"] == event.event_type
    assert rebuilt["timestamp"] == event.timestamp
    assert event_from_dict(rebuilt) == event


@requirement("P3", "R14.2", "R14.4")
@many
@given(event=any_event, seq=st.integers(1, 2**53), run_id=text)
def test_wire_message_is_json_with_the_events_own_fields_under_data(
    event: AnyEvent, seq: int, run_id: str
) -> None:
    message = json.loads(event_to_wire(event, seq=seq, run_id=run_id))
    assert list(message) == ["event_type", "data", "timestamp", "seq", "run_id"]
    flat = {"event_type": message["event_type"], "timestamp": message["timestamp"]}
    assert {**flat, **message["data"]} == json.loads(json.dumps(event.to_dict()))
    assert (message["seq"], message["run_id"]) == (seq, run_id)


@requirement("P4", "R2.2")
@many
@given(content=text, is_final=st.booleans())
def test_text_event_has_content_and_is_final(content: str, *, is_final: bool) -> None:
    flat = TextEvent(content=content, is_final=is_final).to_dict()
    assert (flat["event_type"], flat["content"], flat["is_final"]) == ("text", content, is_final)


@requirement("P5", "R2.3")
@many
@given(name=text, args=json_objects, call_id=text)
def test_tool_call_event_has_name_arguments_and_id(
    name: str, args: dict[str, Any], call_id: str
) -> None:
    flat = ToolCallEvent(tool_name=name, tool_args=args, tool_call_id=call_id).to_dict()
    assert flat["event_type"] == "tool_call"
    assert (flat["tool_name"], flat["tool_args"], flat["tool_call_id"]) == (name, args, call_id)


@requirement("P6", "R2.4")
@many
@given(call_id=text, result=json_values, status=statuses)
def test_tool_result_event_has_id_result_and_status(call_id: str, result: Any, status: Any) -> None:
    flat = ToolResultEvent(
        tool_call_id=call_id, tool_name="t", result=result, status=status
    ).to_dict()
    assert flat["event_type"] == "tool_result"
    assert (flat["tool_call_id"], flat["result"], flat["status"]) == (call_id, result, status)


broken_text = st.text(st.characters(), max_size=20)  # lone surrogates among them


@requirement("P3", "R14.4")
@many
@given(said=broken_text, key=broken_text, value=broken_text)
def test_lone_surrogates_never_keep_an_event_from_the_wire(said: str, key: str, value: str) -> None:
    for event in (
        TextEvent(content=said),
        ToolCallEvent(tool_name=said, tool_args={key: [value]}, tool_call_id="c"),
        ToolResultEvent(tool_call_id="c", tool_name="t", result={key: (value, {said})}),
    ):
        rebuilt = event_from_dict(orjson.loads(event_to_wire(event, seq=1, run_id=said)))
        assert rebuilt.event_type == event.event_type


@pytest.mark.parametrize(
    ("result", "kept"),
    [
        ("a\ud800b", "a?b"),
        ({"\udfff": 1}, {"?": 1}),
        ({1: "x"}, {"1": "x"}),
        (["\ud800", 2**70, True, None, 1.5], ["?", str(2**70), True, None, 1.5]),
        (["\ud800", 2**63 - 1, -(2**63) - 1], ["?", 2**63 - 1, str(-(2**63) - 1)]),
        (ValueError("\udc80"), "?"),
        (ValueError("plain"), "plain"),
    ],
)
def test_what_json_cannot_carry_becomes_the_nearest_it_can(result: Any, kept: Any) -> None:
    event = ToolResultEvent(tool_call_id="c", tool_name="t", result=result)
    assert orjson.loads(event_to_wire(event, seq=1, run_id="r"))["data"]["result"] == kept


@requirement("R14.5")
@pytest.mark.parametrize(
    "data",
    [
        {},
        {"event_type": "nonsense"},
        {"event_type": ["text"]},
        {"event_type": "text"},
        {"event_type": "tool_call", "tool_name": "x", "tool_args": {}},
        {"event_type": "text", "data": {"is_final": True}},
    ],
)
def test_dictionary_of_no_event_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(UnknownEvent):
        event_from_dict(data)


@requirement("R14.5")
def test_what_an_event_needs_is_named_and_its_time_is_no_part_of_it() -> None:
    with pytest.raises(UnknownEvent, match="A 'tool_call' event needs tool_args, tool_call_id"):
        event_from_dict({"event_type": "tool_call", "tool_name": "x", "timestamp": 1.0})
    assert event_from_dict({"event_type": "text", "content": "x"}) == TextEvent(
        content="x", timestamp=ANY
    )


def test_fields_of_a_later_version_are_ignored() -> None:
    flat = {**TextEvent(content="x", timestamp=1.0).to_dict(), "mood": "fine"}
    assert event_from_dict(flat) == TextEvent(content="x", timestamp=1.0)
