"""A run's events as the assistant's message. No I/O."""

from __future__ import annotations

import pytest

from dataagent_core.events import DoneEvent, DoneReason, ErrorEvent, TextEvent, ThinkingEvent
from dataagent_core.runs.history import AnswerBuilder, ending_of
from tests.requirements import requirement


def told(*events: TextEvent | ThinkingEvent | ErrorEvent) -> AnswerBuilder:
    answer = AnswerBuilder()
    for event in events:
        answer.add(event)
    return answer


@requirement("R26.1")
def test_answer_is_the_main_agents_text_with_messages_apart() -> None:
    answer = told(
        TextEvent(content="", is_final=True),
        TextEvent(content="One "),
        ThinkingEvent(content="hm"),
        TextEvent(content="two."),
        TextEvent(content="", is_final=True),
        TextEvent(content="hidden", agent="sub", is_final=True),
        TextEvent(content="Three.", is_final=True),
    )
    assert answer.text == "One two.\n\nThree."
    assert (answer.has_error, answer.error) == (False, None)


@requirement("G2")
@pytest.mark.parametrize(
    ("reason", "is_cancelled", "has_error", "status", "message_status"),
    [
        ("completed", False, False, "done", "complete"),
        ("user_cancelled", True, False, "cancelled", "cancelled"),
        ("rejected", True, False, "cancelled", "cancelled"),
        ("failed", False, True, "failed", "failed"),
        ("timeout", False, True, "failed", "failed"),
        ("shutdown", True, True, "failed", "failed"),
        ("completed", False, True, "failed", "failed"),
    ],
)
def test_end_of_a_run_follows_from_its_events(
    reason: DoneReason, status: str, message_status: str, *, is_cancelled: bool, has_error: bool
) -> None:
    answer = told(TextEvent(content="x"))
    if has_error:
        answer.add(ErrorEvent(error="gone", error_code="lost", recoverable=True))
    done = DoneEvent(reason=reason, cancelled=is_cancelled, token_usage={"total_tokens": 3})
    ending = ending_of(answer, done)
    assert (ending.status, ending.message_status, ending.content) == (status, message_status, "x")
    assert ending.token_usage == {"total_tokens": 3}
    expected = {"error_code": "lost", "message": "gone", "recoverable": True}
    assert ending.error == (expected if has_error else None)
