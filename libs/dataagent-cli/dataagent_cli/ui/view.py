"""What a turn shows itself through: one interface for a screen, plain text and JSON lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dataagent_core.runs.types import Entry


class View(Protocol):
    """Shows one turn after another."""

    def begin(self) -> None:
        """A turn starts."""
        ...

    def show(self, entry: Entry) -> None:
        """Show one numbered event."""
        ...

    def pause(self) -> None:
        """Leave the screen to someone else, until the next entry."""
        ...

    def resume(self) -> None:
        """Somebody was asked and has answered: the run goes on."""
        ...

    def note(self, text: str) -> None:
        """Say something that is not part of the answer."""
        ...
