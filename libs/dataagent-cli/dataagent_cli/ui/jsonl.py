"""A run as JSON lines, for programs: each numbered event in its wire form, on a line of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from dataagent_cli.ui.clean import encodable

if TYPE_CHECKING:
    from dataagent_core.runs.types import Entry


class JsonView:
    """Prints events to `out`; everything else goes to `err`."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err

    def begin(self) -> None:
        """Nothing precedes the first event."""

    def show(self, entry: Entry) -> None:
        """`{event_type, data, timestamp, seq, run_id}` and a newline."""
        self._out.write(entry.wire.decode() + "\n")
        self._out.flush()

    def pause(self) -> None:
        """Lines are whole already."""

    def resume(self) -> None:
        """Nothing was taken away."""

    def note(self, text: str) -> None:
        """A line for the person watching."""
        if text:
            self._err.write(f"{encodable(text)}\n")
            self._err.flush()
