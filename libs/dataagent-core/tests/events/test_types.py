"""What the events are: their names, their fields, and that they are plain frozen data."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest

from dataagent_core import events
from dataagent_core.events import EVENT_CLASSES, AnyEvent, ErrorEvent, ExecutionEvent, TextEvent
from tests.requirements import requirement

SHAPES = {
    "text": ("content", "is_final", "agent"),
    "thinking": ("content", "agent"),
    "tool_call": ("tool_name", "tool_args", "tool_call_id", "agent"),
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
        kind.event_type: tuple(f.name for f in fields(kind) if f.name != "timestamp")
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


@requirement("R2.6")
def test_event_is_stamped_when_it_is_made_and_cannot_be_changed() -> None:
    first, second = TextEvent(content="a"), TextEvent(content="a")
    assert first.timestamp <= second.timestamp
    with pytest.raises(FrozenInstanceError):
        first.content = "b"  # pyright: ignore[reportAttributeAccessIssue] that it fails is the point


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
