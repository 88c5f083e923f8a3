from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import ToolMessage

from dataagent_core.events import FileOperationEvent
from dataagent_core.tools import FileOpRecord, FileOpTracker
from dataagent_core.tools.file_ops import MAX_DIFFED_LINES, diff_texts
from tests.requirements import requirement
from tests.tiers import examples

TEXTS = st.text(alphabet="ab\n", max_size=60)


def message(content: str = "ok", *, status: Any = "success", call: str = "c1") -> ToolMessage:
    return ToolMessage(content, tool_call_id=call, status=status)


@requirement("R8.2", "P15")
@settings(max_examples=examples(100))
@given(
    before=TEXTS,
    after=TEXTS,
    tool=st.sampled_from(["read_file", "write_file", "edit_file", "delete"]),
)
def test_every_file_operation_is_tracked(before: str, after: str, tool: str) -> None:
    tracker = FileOpTracker()
    tracker.start_operation(tool, {"file_path": "/files/a", "content": after}, "c1", before=before)
    record = tracker.complete_with_message(message(after), after=after)
    assert record is not None
    event = FileOperationEvent(**record.event_data())
    assert (event.file_path, event.status) == ("/files/a", "success")
    if tool != "read_file":
        grown = len(after.splitlines()) - len(before.splitlines())
        assert event.metrics["lines_added"] - event.metrics["lines_removed"] == grown


@requirement("R8.2")
@given(before=TEXTS, after=TEXTS)
def test_a_diff_is_there_exactly_when_lines_differ(before: str, after: str) -> None:
    _, diff = diff_texts("/a", before, after)
    assert (diff is None) == (before.splitlines() == after.splitlines())


@requirement("R8.2", "P15")
def test_a_write_of_a_new_file_compared_whole() -> None:
    tracker = FileOpTracker()
    tracker.start_operation("write_file", {"file_path": "/files/a", "content": "x\ny\n"}, "c1")
    assert tracker.complete_with_message(message()) == FileOpRecord(
        tool_name="write_file",
        tool_call_id="c1",
        operation="write",
        file_path="/files/a",
        status="success",
        metrics={"lines_added": 2, "lines_removed": 0, "lines_written": 2, "bytes_written": 4},
        diff="--- a/files/a\n+++ b/files/a\n@@ -0,0 +1,2 @@\n+x\n+y",
    )


@requirement("R8.2")
def test_an_edit_is_applied_to_what_was_there() -> None:
    tracker = FileOpTracker()
    args = {"file_path": "/a", "old_string": "b", "new_string": "B", "replace_all": True}
    tracker.start_operation("edit_file", args, "c1", before="b\na\nb\n")
    record = tracker.complete_with_message(message())
    assert record is not None
    assert (record.metrics["lines_added"], record.metrics["lines_removed"]) == (2, 2)


@requirement("R8.2")
@pytest.mark.parametrize(
    ("content", "lines"), [("@@ lines 11-20 of 99 | next offset 20 @@\na\nb", 10), ("a\nb\nc", 3)]
)
def test_lines_read_are_those_the_model_was_given(content: str, lines: int) -> None:
    tracker = FileOpTracker()
    tracker.start_operation("read_file", {"file_path": "/a"}, "c1")
    record = tracker.complete_with_message(message(content))
    assert record is not None
    assert record.metrics == {"lines_read": lines}


@requirement("R8.2")
def test_calls_are_told_apart_and_answered_once() -> None:
    tracker = FileOpTracker()
    tracker.start_operation("read_file", {"file_path": "/a"}, "c1")
    tracker.start_operation("read_file", {"file_path": "/b"}, "c2")
    tracker.start_operation("ls", {"path": "/"}, "c3")
    second = tracker.complete_with_message(message(call="c2"))
    assert second is not None
    assert second.file_path == "/b"
    assert tracker.complete_with_message(message(call="c2")) is None
    assert tracker.complete_with_message(message(call="c3")) is None


@requirement("R8.2")
def test_a_failed_call_has_no_diff() -> None:
    tracker = FileOpTracker()
    tracker.start_operation("write_file", {"file_path": "/a", "content": "x"}, "c1")
    record = tracker.complete_with_message(message(status="error"))
    assert record is not None
    assert (record.status, record.diff, record.metrics) == ("error", None, {})


@requirement("R8.2")
def test_large_files_have_a_note_in_place_of_a_diff() -> None:
    tracker = FileOpTracker()
    many = "x\n" * (MAX_DIFFED_LINES + 1)
    tracker.start_operation("write_file", {"file_path": "/a", "content": many}, "c1")
    record = tracker.complete_with_message(message())
    assert record is not None
    assert record.diff == f"[diff left out: 0 lines before, {MAX_DIFFED_LINES + 1} after]"
    tracker.start_operation("edit_file", {"file_path": "/a"}, "c1", is_too_large=True)
    record = tracker.complete_with_message(message())
    assert record is not None
    assert record.diff == "[diff left out: the file is too large]"
    _, long = diff_texts("/a", "", "y" * 60_000)
    assert long is not None
    assert "[diff cut: " in long
