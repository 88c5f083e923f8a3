"""Calls as texts to edit, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dataagent_cli.hitl.call_preview import apply_draft, draft_call
from dataagent_core.errors import BadDecision
from dataagent_core.hitl import ActionRequest


@pytest.mark.parametrize(
    ("name", "args", "text", "suffix"),
    [
        ("shell", {"command": "ls", "timeout_seconds": 5}, "ls", ".sh"),
        ("sql_db_query", {"query": "SELECT 1"}, "SELECT 1", ".sql"),
        ("write_file", {"file_path": "/a/b.csv", "content": "x"}, "x", ".csv"),
        ("write_file", {"file_path": "/a", "content": "x"}, "x", ".txt"),
        ("say", {"words": "hi"}, "hi", ".txt"),
        ("edit_file", {"old_string": "a"}, "a", ".txt"),
        ("move", {"a": "1", "b": "2"}, '{\n  "a": "1",\n  "b": "2"\n}\n', ".json"),
        ("count", {"n": 2**70}, '{\n  "n": 1180591620717411303424\n}\n', ".json"),
    ],
)
def test_a_call_about_one_text_is_that_text_and_any_other_is_json(
    name: str, args: dict[str, Any], text: str, suffix: str
) -> None:
    made = draft_call(ActionRequest(name, args))
    assert (made.text, made.suffix) == (text, suffix)
    assert apply_draft(ActionRequest(name, args), made).args == args


def test_only_the_line_end_that_an_editor_adds_is_taken_away() -> None:
    for before, typed, after in (("a", "b\n", "b"), ("a\n", "b\n", "b\n"), ("a", "b\n\n", "b\n")):
        action = ActionRequest("write_file", {"file_path": "/x", "content": before})
        edited = apply_draft(action, replace(draft_call(action), text=typed))
        assert edited.args["content"] == after


@pytest.mark.parametrize(
    ("text", "told"), [("{", "not JSON"), ("[1]", "a JSON object"), ('{"n": "x"}', "do not fit")]
)
def test_what_cannot_be_a_call_is_refused_with_a_reason(text: str, told: str) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    action = ActionRequest("count", {"n": 1}, args_schema=schema)
    with pytest.raises(BadDecision, match=told):
        apply_draft(action, replace(draft_call(action), text=text))
