"""What can be answered to an approval, and which keys say so. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Answer = Literal["approve", "reject", "approve_all"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of the question: what it says, and the letter that picks it."""

    answer: Answer
    label: str
    key: str


CHOICES = (
    Choice("approve", "Approve", "y"),
    Choice("reject", "Reject and stop", "n"),
    Choice("approve_all", "Approve this and all that follow", "a"),
)
