"""What the events are: their names, their fields, and that they are plain frozen data."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from dataagent_core import events
from dataagent_core.events import (
    EVENT_CLASSES,
    AnyEvent,
    DoneEvent,
    ErrorEvent,
    ExecutionEvent,
    FileOperationEvent,
    TextEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from tests.requirements import requirement

EVERY = ("event_type", "timestamp")
SHAPES = {
    "text": ("content", "is_final", "agent", "is_main"),
    "thinking": ("content", "agent", "is_main"),
    "tool_call": ("tool_name", "tool_args", "tool_call_id", "agent", "is_main"),
    "tool_result": ("tool_call_id", "tool_name", "result", "status"),
    "hitl_request": ("request_id", "action", "allowed", "expires_at"),
    "todo_update": ("todos",),
    "file_operation": ("operation", "file_path", "metrics", "diff", "status"),
    "artifact": ("artifact_id", "kind", "title", "url", "preview"),
    "error": ("error", "error_code", "recoverable"),
    "done": ("token_usage", "cancelled", "reason", "metadata"),
}


@requirement("R2.1", "R2.2", "R2.3", "R2.4", "R2.6", "R11.2")
def test_every_event_has_its_fields_and_no_others() -> None:
    assert {
        kind.event_type: tuple(f.name for f in fields(kind) if f.name not in EVERY)
        for kind in EVENT_CLASSES
    } == SHAPES


@requirement("R2.1")
@pytest.mark.parametrize(
    "name",
    [
        "TextEvent",
        "ToolCallEvent",
        "ToolResultEvent",
        "HITLRequestEvent",
        "TodoUpdateEvent",
        "FileOperationEvent",
        "ErrorEvent",
        "DoneEvent",
    ],
)
def test_event_type_of_the_specification_exists(name: str) -> None:
    assert getattr(events, name) in EVENT_CLASSES


@requirement("R2.5")
@pytest.mark.parametrize("kind", EVENT_CLASSES)
def test_event_is_an_execution_event_with_to_dict(kind: type[AnyEvent]) -> None:
    assert issubclass(kind, ExecutionEvent)
    assert kind.to_dict is ExecutionEvent.to_dict


def test_a_named_agent_is_a_subagent_unless_it_is_the_main_one() -> None:
    assert TextEvent(content="a").subagent is None
    assert TextEvent(content="a", agent="sql").subagent == "sql"
    assert TextEvent(content="a", agent="sql", is_main=True).subagent is None


@requirement("R2.6")
def test_event_is_stamped_when_it_is_made_and_cannot_be_changed() -> None:
    first, second = TextEvent(content="a"), TextEvent(content="a")
    assert first.timestamp <= second.timestamp
    with pytest.raises(FrozenInstanceError):
        # that it fails is the point
        first.content = "b"  # pyright: ignore[reportAttributeAccessIssue]


@requirement("R11.2")
def test_error_is_not_recoverable_unless_it_says_so() -> None:
    flat = ErrorEvent(error="gone", timestamp=1.0).to_dict()
    assert flat == {
        "event_type": "error",
        "timestamp": 1.0,
        "error": "gone",
        "error_code": "error",
        "recoverable": False,
    }


SEED: dict[type[AnyEvent], dict[str, Any]] = {
    TextEvent: {"content": "a", "is_final": True},
    ToolCallEvent: {"tool_name": "t", "tool_args": {"a": 1}, "tool_call_id": "c"},
    ToolResultEvent: {"tool_call_id": "c", "result": "r", "status": "success"},
    FileOperationEvent: {
        "operation": "edit",
        "file_path": "/files/a",
        "metrics": {"lines_added": 1},
        "diff": None,
        "status": "success",
    },
    ErrorEvent: {"error": "gone", "recoverable": False},
    DoneEvent: {"token_usage": None, "cancelled": False},
}


@requirement("R2.2", "R2.3", "R2.4", "R11.2")
@pytest.mark.parametrize("kind", SEED)
def test_event_is_made_from_the_fields_of_the_specification_alone(kind: type[AnyEvent]) -> None:
    own: dict[str, Any] = SEED[kind]
    given: dict[str, Any] = {"event_type": kind.event_type, "timestamp": 1.0}
    event = kind(**given, **own)
    flat = event.to_dict()
    assert {name: flat[name] for name in own} == own
    assert (event.event_type, event.timestamp) == (kind.event_type, 1.0)
    assert kind(timestamp=1.0, **own) == event
    assert [each.name for each in fields(kind)][:2] == [*EVERY]


def test_event_type_of_another_class_is_refused() -> None:
    with pytest.raises(ValueError, match="TextEvent has the event_type 'text', not 'error'"):
        # that it is refused is the point
        TextEvent(event_type="error", content="a")  # pyright: ignore[reportArgumentType]


@requirement("R14.2", "P3")
@pytest.mark.parametrize(
    ("result", "written"),
    [
        (Path("/a"), "/a"),
        ({"when": date(2026, 1, 2)}, {"when": "2026-01-02"}),
        ([{3}, (1, 2)], [[3], [1, 2]]),
        ({(1, 2): b"x", 3: None}, {"(1, 2)": "b'x'", "3": None}),
    ],
)
def test_dictionary_of_any_result_can_be_written_as_json(result: Any, written: Any) -> None:
    flat = ToolResultEvent(tool_call_id="c", result=result).to_dict()
    assert json.loads(json.dumps(flat))["result"] == written
