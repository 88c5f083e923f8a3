"""What comes of a document, and how much one reading may take. Plain values."""

from __future__ import annotations

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How much is read of a document, and what reading it may cost.

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
    """A document's text. `cuts` say what is missing of it, `notes` what else to know."""

    what: str  # "PDF, 57 pages"
    text: str
    cuts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    has_rows: bool = False  # it can be a table
