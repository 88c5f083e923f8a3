"""What the user is told when a turn fails, and what only the log is told."""

from __future__ import annotations

import logging
from unittest.mock import ANY

import pytest
from langgraph.errors import GraphRecursionError

from dataagent_core.engine.translate import error_event
from dataagent_core.errors import DataAgentError, ModelRefused, ModelUnavailable, QuotaExceeded
from dataagent_core.events import ErrorEvent
from tests.requirements import requirement


@requirement("R11.1", "R11.2")
@pytest.mark.parametrize(
    ("error", "code", "is_recoverable"),
    [
        (ModelUnavailable("gone"), "model_unavailable", True),
        (ModelRefused("wrong key"), "model_refused", False),
        (QuotaExceeded("full"), "quota_exceeded", True),
    ],
)
def test_our_errors_are_passed_on_as_they_are(
    error: DataAgentError, code: str, *, is_recoverable: bool
) -> None:
    assert error_event(error) == ErrorEvent(
        error=error.message, error_code=code, recoverable=is_recoverable, timestamp=ANY
    )


@requirement("R11.2", "R11.3")
@pytest.mark.parametrize(
    ("error", "code"),
    [(TimeoutError(), "run_timeout"), (GraphRecursionError("25 steps"), "step_limit")],
)
def test_limits_of_a_turn_are_recoverable(error: Exception, code: str) -> None:
    event = error_event(error)
    assert (event.error_code, event.recoverable) == (code, True)


@requirement("R11.1", "R11.4", "R11.5")
def test_any_other_error_is_for_the_log_alone(caplog: pytest.LogCaptureFixture) -> None:
    try:
        raise ValueError("password=hunter2 in /srv/secret")
    except ValueError as error:
        event = error_event(error)
    assert (event.error_code, event.recoverable) == ("internal", False)
    assert "hunter2" not in event.error
    assert "/srv" not in event.error
    (record,) = caplog.records
    assert (record.levelno, record.name) == (logging.ERROR, "dataagent_core.engine.translate")
    assert "hunter2" in caplog.text


@requirement("R11.5")
def test_expected_errors_are_logged_as_warnings(caplog: pytest.LogCaptureFixture) -> None:
    for error in (ModelRefused("no"), TimeoutError(), GraphRecursionError()):
        error_event(error)
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
