"""Decisions as they come over the wire."""

from __future__ import annotations

import pytest

from dataagent_core.errors import BadDecision
from dataagent_core.hitl import Decision, EditedAction
from dataagent_server.hitl import decision_of
from dataagent_server.models.chat import DecisionRequest
from tests.requirements import requirement


@requirement("R18.3")
@pytest.mark.parametrize(
    ("sent", "decision"),
    [
        ({"type": "approve"}, Decision("approve")),
        ({"type": "reject", "message": "no"}, Decision("reject", "no")),
        ({"type": "respond", "message": "use March"}, Decision("respond", "use March")),
        (
            {"type": "edit", "edited_action": {"name": "ls", "args": {"path": "/"}}},
            Decision("edit", None, EditedAction("ls", {"path": "/"})),
        ),
    ],
)
def test_each_kind_of_answer_is_understood(sent: dict[str, object], decision: Decision) -> None:
    assert decision_of(DecisionRequest.model_validate(sent)) == decision


@requirement("R18.3")
@pytest.mark.parametrize("sent", [{"type": "edit"}, {"type": "respond"}])
def test_an_answer_without_its_content_is_refused(sent: dict[str, object]) -> None:
    with pytest.raises(BadDecision):
        decision_of(DecisionRequest.model_validate(sent))
