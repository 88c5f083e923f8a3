"""State of one conversation in a client that keeps it itself (the terminal)."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class SessionState:
    """What a terminal session remembers between turns."""

    thread_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    auto_approve: bool = False
    current_todos: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def toggle_auto_approve(self) -> bool:
        """Switch auto-approval and return the new value."""
        self.auto_approve = not self.auto_approve
        return self.auto_approve
