"""The choices of an approval, with their labels and keys."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from dataagent_cli.ui.clean import one_line
from dataagent_core.hitl import ActionRequest, DecisionType

ApprovalAnswer = Literal[
    "approve", "stop", "reject", "edit", "approve_kind", "approve_all", "confirm", "back"
]


class PromptInterrupted(Exception):
    """Ctrl-C was pressed instead of an answer."""


@dataclass(frozen=True, slots=True)
class ApprovalChoice:
    """One choice: its label, its key, and the decision that the request must allow."""

    answer: ApprovalAnswer
    label: str
    key: str
    needs: DecisionType


CHOICES = (
    ApprovalChoice("approve", "Approve", "y", "approve"),
    ApprovalChoice("reject", "Reject, and say why", "n", "reject"),
    ApprovalChoice("edit", "Edit the call first", "e", "edit"),
    ApprovalChoice("approve_kind", "Approve every {kind} in this conversation", "k", "approve"),
    ApprovalChoice("approve_all", "Approve everything from now on (mode auto)", "a", "approve"),
)
CONFIRMATIONS = (
    ApprovalChoice("back", "No, go back", "n", "approve"),
    ApprovalChoice("confirm", "Yes", "y", "approve"),
)
"""The second step of an approval that covers more than the call shown."""


def choices_for(action: ActionRequest, allowed: Collection[DecisionType]) -> list[ApprovalChoice]:
    """The choices that a request allows, with the kind of the call in their labels."""
    return [
        replace(each, label=each.label.format(kind=kind_text(action)))
        for each in CHOICES
        if each.needs in allowed and (each.answer != "approve_kind" or action.kind is not None)
    ]


def kind_text(action: ActionRequest) -> str:
    """The kind of a call as users read it: `write_file`, `shell: git status …`."""
    kind = action.kind or action.name
    return one_line(kind if kind == action.name else f"{kind} …")
