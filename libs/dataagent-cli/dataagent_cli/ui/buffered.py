"""A run that is shown when it is over: what was said and made is kept, nothing goes to `out`.

For answers in one piece (`--output-format json` and `csv`). Errors, calls and notes go to `err` as
they happen, as with plain text. Above: `headless.py` writes what was kept.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, TextIO

from dataagent_cli.ui.plain import PlainRenderer
from dataagent_core.events import ArtifactEvent, ErrorEvent

if TYPE_CHECKING:
    from dataagent_core.runs.types import Entry


class BufferedView(PlainRenderer):
    """Plain text, except that the answer stays here."""

    def __init__(self, err: TextIO) -> None:
        self._buffer = io.StringIO()
        super().__init__(self._buffer, err)
        self.run_id: str | None = None
        self.tables: list[str] = []
        self.error: ErrorEvent | None = None

    @property
    def answer(self) -> str:
        """What the agent said."""
        return self._buffer.getvalue().rstrip("\n")

    def show(self, entry: Entry) -> None:
        """Keep what belongs to the answer; show the rest."""
        self.run_id = entry.run_id
        super().show(entry)

    def render_artifact(self, event: ArtifactEvent) -> None:
        """Remember a table."""
        if event.kind == "table":
            self.tables.append(event.artifact_id)
        super().render_artifact(event)

    def render_error(self, event: ErrorEvent) -> None:
        """Remember what went wrong."""
        self.error = event
        super().render_error(event)
