"""What is typed becomes a decision, or a sentence that says why not."""

from __future__ import annotations

import pytest

from dataagent_client import ActionRequest, Decision, EditedAction
from dataagent_server_demo.conversation import (
    BadAnswer,
    arguments_text,
    edit_decision,
    respond_decision,
)

ACTION = ActionRequest("write_file", {"file_path": "/é"}, request_id="r1")
QUESTION = ActionRequest("calc", {"unit": ""}, request_id="ask-1")


def test_other_arguments_are_an_edit_and_the_same_a_plain_yes() -> None:
    other = edit_decision(ACTION, '{"file_path": "/b"}')
    assert other == Decision("edit", edited_action=EditedAction("write_file", {"file_path": "/b"}))
    assert edit_decision(ACTION, arguments_text(ACTION)) == Decision("approve")


def test_a_question_is_answered_with_values_even_if_they_stay() -> None:
    same = edit_decision(QUESTION, arguments_text(QUESTION))
    assert same == Decision("edit", edited_action=EditedAction("calc", {"unit": ""}))


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '"a"'])
def test_what_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(BadAnswer, match="参数"):
        edit_decision(ACTION, text)


def test_words_instead_are_passed_on_and_none_are_refused() -> None:
    assert respond_decision(" use /b ") == Decision("respond", message="use /b")
    with pytest.raises(BadAnswer, match="请填写"):
        respond_decision("  ")
