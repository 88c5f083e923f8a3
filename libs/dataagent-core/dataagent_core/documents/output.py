"""The output of a reading: text within its limits, notes about it, and tables as Markdown.

Text is written piece by piece, so that what was read before a limit ended the process is not lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How much of a document is read, and how much memory and time that may take.

    What is left out is always said. Time is both processor time and time on the clock.
    """

    max_bytes: int = 10 * _MIB
    text_bytes: int = 50 * 1024
    pages: int = 20  # of a PDF
    rows: int = 500  # of each sheet
    unpacked_bytes: int = 256 * _MIB
    pack_ratio: int = 200  # of an archive that unpacks to more than a few MiB
    memory_bytes: int = 768 * _MIB
    timeout_seconds: float = 15.0


@dataclass(frozen=True, slots=True)
class Document:
    """A document's text. `cuts` say what is missing, `notes` what else the reader should know."""

    what: str  # "PDF, 57 pages"
    text: str
    cuts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    has_rows: bool = False  # it can be a table


def as_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a Markdown table, the first as its head; empty without rows."""
    if not rows:
        return ""
    width = max(len(row) for row in rows)
    lines = [as_row([*row, *[""] * (width - len(row))]) for row in rows]
    return "\n".join([lines[0], as_row(["---"] * width), *lines[1:]])


def as_row(cells: Sequence[str]) -> str:
    """Return a row, with characters escaped that would end it or a cell."""
    return "| " + " | ".join(map(_plain, cells)) + " |"


def _plain(cell: str) -> str:
    if "|" not in cell and "\n" not in cell and "\r" not in cell:
        return cell
    return " ".join(cell.replace("|", "\\|").splitlines())


_TOGETHER = 100
"""So many parts go out at once; each is a line, or a page."""
_MUCH = 4
"""A quarter of the limit is too much to leave empty."""


class DocumentOutput:
    """The output of one document."""

    def __init__(
        self, name: str, limits: ReadLimits, say: Callable[[dict[str, Any]], None], *, start: int
    ) -> None:
        """Write through `say`; `start` is the first page, row or line, from 1."""
        self.name = name
        self.limits = limits
        self.start = start
        self.what = ""
        self.notes: list[str] = []
        self.cuts: list[str] = []
        self.has_rows = False
        self.is_full = False
        self._say = say
        self._room = limits.text_bytes
        self._is_in_part = False
        self._pending: list[str] = []

    def at(self, place: str) -> None:
        """Report the part being read, in case reading ends there."""
        self.flush()
        self._say({"at": place})

    def add(self, text: str) -> bool:
        """Write a part's text as far as the limit allows, and return whether all of it fitted.

        Of a part that is too long the beginning is given, if it would be much to leave out.
        """
        if self.is_full:
            return False
        encoded = text.replace("\0", "").encode("utf-8", errors="replace")
        if len(encoded) > self._room:
            self.is_full = True
            self._is_in_part = self._room * _MUCH > self.limits.text_bytes
            encoded = _cut_at_line_end(encoded[: self._room]) if self._is_in_part else b""
        self._room -= len(encoded)
        self._pending.append(encoded.decode("utf-8", errors="ignore"))
        if self.is_full or len(self._pending) >= _TOGETHER:
            self.flush()
        return not self.is_full

    def flush(self) -> None:
        """Write the buffered text."""
        if self._pending:
            self._say({"text": "".join(self._pending)})
            self._pending.clear()

    def begin_at(self, part: str, total: int) -> int:
        """Return how many of the document's parts (lines, pages) are skipped.

        A start behind the end is said, and nothing is read.
        """
        if self.start > max(total, 1):
            self.cuts.append(f"It has {count_of(total, part)}; there is none at {self.start:,}.")
        elif self.start > 1:
            self.cuts.append(f"{count_of(self.start - 1, part)} before the start were passed over.")
        return self.start - 1

    def ended_at(self, part: str, last: int, total: int, *, where: str = "") -> None:
        """Note what is missing after the last part read, and how to continue."""
        if self.is_full and not self._is_in_part:
            last -= 1
        place = f"{where}up to {part} {last:,} of {total:,}"
        if not self.is_full:
            if self.start <= last < total:
                self.cuts.append(f"Shown {place}. Read on with start={last + 1}.")
            return
        shown = f"Only {self.limits.text_bytes // 1024} KB of text are shown: {place}"
        if not self._is_in_part:
            self.cuts.append(f"{shown}. Read on with start={last + 1}.")
        elif last > self.start:
            self.cuts.append(f"{shown}, in part. Read on with start={last}.")
        elif last < total:
            self.cuts.append(f"{shown}, in part. What comes after that {part}: start={last + 1}.")
        else:
            self.cuts.append(f"{shown}, in part. The rest of it cannot be shown.")


def count_of(number: int, part: str) -> str:
    """Format a count: `1 page`, `1,200 pages`."""
    return f"{number:,} {part}" if number == 1 else f"{number:,} {part}s"


def _cut_at_line_end(encoded: bytes) -> bytes:
    """Cut at the end of a line, if that loses little."""
    end = encoded.rfind(b"\n") + 1
    return encoded[:end] if end > len(encoded) // 2 else encoded
