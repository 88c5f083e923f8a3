"""What text and ids may hold, and how times are written."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dataagent_server.models import ChatRequest, SessionInfo
from tests.requirements import requirement


@given(message=st.text(min_size=1))
def test_a_message_is_taken_as_it_is_or_refused(message: str) -> None:
    is_storable = "\x00" not in message and not any("\ud800" <= c <= "\udfff" for c in message)
    if is_storable:
        assert ChatRequest(message=message).message == message
    else:
        with pytest.raises(ValidationError):
            ChatRequest(message=message)


@pytest.mark.parametrize("session_id", ["x" * 129, "../etc", "a b", ""])
def test_an_id_that_cannot_be_ours_is_refused(session_id: str) -> None:
    with pytest.raises(ValidationError):
        ChatRequest(message="hi", session_id=session_id)


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValidationError):
        ChatRequest.model_validate({"message": "hi", "user_id": "bob"})


@requirement("R13.1")
def test_a_session_is_shown_with_utc_times_to_the_millisecond() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
    info = SessionInfo(
        session_id="s",
        thread_id="t",
        user_id="u",
        assistant_id="a",
        title="T",
        created_at=moment,
        last_active=moment,
        metadata={},
    )
    assert info.model_dump(mode="json")["created_at"] == "2026-01-02T03:04:05.678Z"
