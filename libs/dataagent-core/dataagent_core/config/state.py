"""State of one conversation in a client that stores it itself (the terminal)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Mode = Literal["manual", "auto", "plan"]
"""Who approves risky calls: a person; no one is asked; all are refused."""

_NEXT: dict[Mode, Mode] = {"manual": "auto", "auto": "plan", "plan": "manual"}


@dataclass(slots=True)
class SessionState:
    """What a terminal session remembers between turns; `thread_id` is its conversation's."""

    thread_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    auto_approve: bool = False
    current_todos: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    is_planning: bool = False
    approved_kinds: set[str] = field(default_factory=set[str])  # `ActionRequest.kind`
    token_usage: dict[str, int] = field(default_factory=dict[str, int])

    def toggle_auto_approve(self) -> bool:
        """Switch auto-approval and return the new value."""
        self.auto_approve = not self.auto_approve
        return self.auto_approve

    def count(self, usage: Mapping[str, int]) -> None:
        """Add what a run used."""
        for kind, tokens in usage.items():
            self.token_usage[kind] = self.token_usage.get(kind, 0) + tokens

    @property
    def mode(self) -> Mode:
        """Which of the three it is now; planning wins."""
        if self.is_planning:
            return "plan"
        return "auto" if self.auto_approve else "manual"

    def switch(self, mode: Mode | None = None) -> Mode:
        """Go to a mode, or to the next one; returns it."""
        chosen = mode or _NEXT[self.mode]
        self.is_planning, self.auto_approve = chosen == "plan", chosen == "auto"
        return chosen
