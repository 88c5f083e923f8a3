"""Ledger entries as events of `/api/chat`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dataagent_core.events import (
    EVENT_CLASSES,
    AnyEvent,
    ArtifactEvent,
    DoneEvent,
    ErrorEvent,
    FileOperationEvent,
    HITLRequestEvent,
    TextEvent,
    ThinkingEvent,
    TodoUpdateEvent,
    ToolCallEvent,
    ToolResultEvent,
    event_to_wire,
)
from dataagent_core.hitl import ActionRequest
from dataagent_core.runs.types import Entry
from dataagent_server.api.web.chat import chat_text
from tests.requirements import requirement

CASES: list[tuple[AnyEvent, str, dict[str, Any]]] = [
    (TextEvent(content="a\nb"), "text_delta", {"text": "a\nb"}),
    (
        TextEvent(content="", is_final=True, agent="sql"),
        "text_delta",
        {"text": "", "is_final": True, "agent": "sql"},
    ),
    (ThinkingEvent(content="hm"), "thinking", {"content": "hm"}),
    (
        ToolCallEvent(tool_name="ls", tool_args={"path": "/数据"}, tool_call_id="c1"),
        "tool_call_start",
        {"id": "c1", "name": "ls", "args": {"path": "/数据"}},
    ),
    (
        ToolResultEvent(tool_call_id="c1", tool_name="ls", result=["a"], status="error"),
        "tool_call_result",
        {"id": "c1", "name": "ls", "status": "error", "output": ["a"]},
    ),
    (
        HITLRequestEvent(
            request_id="q",
            action=ActionRequest("rm", {"x": 1}, "Remove", request_id="q"),
            allowed=("approve",),
        ),
        "hitl_request",
        {
            "request_id": "q",
            "action": {"name": "rm", "args": {"x": 1}, "description": "Remove", "kind": "rm"},
            "allowed": ["approve"],
            "expires_at": None,
        },
    ),
    (TodoUpdateEvent(todos=[{"content": "x"}]), "todo_update", {"todos": [{"content": "x"}]}),
    (
        FileOperationEvent(operation="write", file_path="/a"),
        "file_operation",
        {
            "operation": "write",
            "file_path": "/a",
            "metrics": {},
            "diff": None,
            "status": "success",
        },
    ),
    (
        ArtifactEvent(artifact_id="a", kind="table", title="T", url="/u"),
        "artifact",
        {"artifact_id": "a", "kind": "table", "title": "T", "url": "/u", "preview": None},
    ),
    (
        ErrorEvent(error="gone", error_code="lost", recoverable=True),
        "error",
        {"message": "gone", "error_code": "lost", "recoverable": True},
    ),
    (
        DoneEvent(cancelled=True, reason="user_cancelled"),
        "done",
        {
            "token_usage": None,
            "cancelled": True,
            "reason": "user_cancelled",
            "metadata": None,
        },
    ),
]


@requirement("S4a")
@pytest.mark.parametrize(("event", "name", "data"), CASES)
def test_an_event_has_its_name_and_all_its_data(
    event: AnyEvent, name: str, data: dict[str, Any]
) -> None:
    text = chat_text(Entry(7, "r1", event_to_wire(event, seq=7, run_id="r1"))).decode()
    first, second, third, *end = text.split("\n")
    assert (first, second, end) == ("id: 7", f"event: {name}", ["", ""])
    assert json.loads(third.removeprefix("data: ")) == {**data, "seq": 7, "run_id": "r1"}


def test_every_kind_of_event_has_a_case() -> None:
    assert {type(event) for event, _, _ in CASES} == set(EVENT_CLASSES)
