"""A run's input in the form it is stored in, which earlier versions wrote too."""

from __future__ import annotations

from dataagent_core.runs.types import RuleRoute, RunInput, RunOptions
from tests.requirements import requirement

STORED = {
    "message": "How many?",
    "tenant_id": "t1",
    "files": [{"file_id": "f1", "filename": "a.csv"}],
    "skill": "chart",
    "route": {"rule": "named", "note": "→ sql", "is_known": True},
    "speaker": "sql",
    "auto_approve": False,
    "api_key_id": "k1",
    "is_plan": True,
    "allow": ["sql_*"],
    "deny": ["shell"],
    "max_tokens": 500,
    "model": "small",
    "has_account": True,
    "role": "analyst",
    "traceparent": "00-1-2-01",
    "answered_by": "writer",
    "compact": "",
}
FULL = RunInput(
    message="How many?",
    compact="",
    files=({"file_id": "f1", "filename": "a.csv"},),
    skill="chart",
    tenant_id="t1",
    route=RuleRoute("named", "→ sql", is_known=True),
    speaker="sql",
    answered_by="writer",
    auto_approve=False,
    api_key_id="k1",
    is_plan=True,
    allow=("sql_*",),
    deny=("shell",),
    max_tokens=500,
    model="small",
    has_account=True,
    role="analyst",
    traceparent="00-1-2-01",
)


@requirement("G1")
def test_every_field_is_stored_and_read_again() -> None:
    assert FULL.to_dict() == STORED
    assert RunInput.from_dict(STORED) == FULL


@requirement("G1")
def test_fields_without_a_value_are_not_stored() -> None:
    assert RunInput("hi").to_dict() == {"message": "hi"}
    assert RunOptions().apply_to(RunInput("hi")).to_dict() == {"message": "hi"}


@requirement("G1")
def test_input_of_another_version_is_read_as_far_as_it_is_known() -> None:
    assert RunInput.from_dict({"message": "hi", "of_next_version": 1}) == RunInput("hi")
    assert RunInput.from_dict({}) == RunInput()
