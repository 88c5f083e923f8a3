"""What can be answered to an approval, and which keys say so. Plain data."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from dataagent_core.hitl import DecisionType

Answer = Literal["approve", "stop", "reject", "edit", "approve_kind", "approve_all"]


class Interrupted(Exception):
    """Ctrl-C was pressed instead of an answer."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of the question: what it says, the letter that picks it, what it needs."""

    answer: Answer
    label: str
    key: str
    needs: DecisionType


CHOICES = (
    Choice("approve", "Approve", "y", "approve"),
    Choice("reject", "Reject, and say why", "n", "reject"),
    Choice("edit", "Edit the call first", "e", "edit"),
    Choice("approve_kind", "Approve every {name} of this conversation", "k", "approve"),
    Choice("approve_all", "Approve everything from now on (mode auto)", "a", "approve"),
)


def choices_for(name: str, allowed: Collection[DecisionType]) -> list[Choice]:
    """The choices a request takes, with the tool's name in them."""
    return [
        Choice(each.answer, each.label.format(name=name), each.key, each.needs)
        for each in CHOICES
        if each.needs in allowed
    ]
