"""Determines the kind of a document from its bytes, then from its name.

Nothing is unpacked: an archive is judged by its directory before it is opened. If the name
contradicts the bytes, the bytes decide, and a note says so.
"""

from __future__ import annotations

import io
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import BinaryIO, Final, Literal

from dataagent_core.data.files.kinds import MAX_ENTRIES, check_archive
from dataagent_core.documents.output import DocumentOutput
from dataagent_core.errors import BadFile, LimitReached

Kind = Literal[
    "text", "csv", "json", "html", "pdf", "word", "slides", "workbook", "old_word", "old_slides",
    "parquet",
]  # fmt: skip

READABLE: Final = ".txt, .md, .json, .csv, .pdf, .doc, .docx, .ppt, .pptx, .xls and .xlsx"
_BY_NAME: Final[dict[str, Kind]] = {
    ".txt": "text",
    ".md": "text",
    ".log": "text",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".html": "html",
    ".htm": "html",
    ".pdf": "pdf",
    ".doc": "old_word",
    ".docx": "word",
    ".ppt": "old_slides",
    ".pptx": "slides",
    ".xls": "workbook",
    ".xlsx": "workbook",
    ".parquet": "parquet",
}
_WHAT: Final[dict[Kind, str]] = {
    "text": "text",
    "csv": "text",
    "json": "text",
    "html": "a web page",
    "pdf": "a PDF",
    "word": "a Word document",
    "slides": "PowerPoint slides",
    "workbook": "a workbook",
    "old_word": "a Word document of the old format",
    "old_slides": "slides of the old format",
    "parquet": "a Parquet table",
}
_TEXTUAL: Final[Collection[Kind]] = ("text", "csv", "json", "html")
_FOREIGN: Final = {
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"\x1f\x8b": "packed with gzip",
    b"\x7fELF": "a program",
    b"MZ": "a program",
    b"{\\rtf": "a document in RTF. Save it as .docx",
}
_OLE: Final = bytes.fromhex("D0CF11E0A1B11AE1")
_DIRECTORY_ENTRY: Final = b"PK\x01\x02"


def kind_of(content: bytes, output: DocumentOutput) -> Kind:
    """Return the kind of a document; an archive's directory is checked.

    Raises:
        BadFile: it cannot be read as text, is encrypted, or broken.
        LimitReached: it unpacks to more than is allowed.
    """
    if not content:
        raise BadFile(f"'{output.name}' is empty.")
    named = _BY_NAME.get(PurePosixPath(output.name).suffix.lower())
    found = _by_bytes(content, named, output)
    if named is not None and found != named and not {found, named} <= {*_TEXTUAL}:
        output.notes.append(f"Its name says {_WHAT[named]}; it is {_WHAT[found]}.")
    return found


def _by_bytes(content: bytes, named: Kind | None, output: DocumentOutput) -> Kind:
    head = content[:1024]
    if b"%PDF-" in head:
        return "pdf"
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"PK\x03\x04"):
        return _office_kind(content, output)
    if head.startswith(_OLE):
        return _old_kind(content, named, output)
    for magic, what in _FOREIGN.items():
        if head.startswith(magic):
            raise BadFile(f"'{output.name}' is {what}. Text is read from {READABLE}.")
    if named is None or named in _TEXTUAL:
        return named or "text"
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:64].lower()
    if start.startswith((b"<!doctype html", b"<html", b"<table")):
        return "html"
    raise BadFile(
        f"'{output.name}' is not {_WHAT[named]}, as its name says, or it is broken. Save it "
        "again in that format."
    )


def _office_kind(content: bytes, output: DocumentOutput) -> Kind:
    names = _archive_names(content, output)
    if any(name.endswith("vbaProject.bin") for name in names):
        output.notes.append("It has macros. They were not run and are not shown.")
    if any(name.startswith("word/") for name in names):
        return "word"
    if any(name.startswith("ppt/") for name in names):
        return "slides"
    if any(name.startswith("xl/") for name in names) or "content.xml" in names:
        return "workbook"
    raise BadFile(f"'{output.name}' is an archive. Unpack it; text is read from {READABLE}.")


def _archive_names(content: bytes, output: DocumentOutput) -> set[str]:
    """Return the names in an archive that is not a decompression bomb."""
    if content.count(_DIRECTORY_ENTRY) > MAX_ENTRIES:  # before anyone makes objects of them
        raise LimitReached(f"'{output.name}' has more than {MAX_ENTRIES:,} parts. Split it.")
    limits = output.limits
    return check_archive(
        open_content(content),
        output.name,
        len(content),
        max_unpacked=limits.unpacked_bytes,
        max_ratio=limits.pack_ratio,
        advice="Split it.",
    )


def _old_kind(content: bytes, named: Kind | None, output: DocumentOutput) -> Kind:
    """Return the kind by the names of the streams inside, which are UTF-16."""
    if "EncryptedPackage".encode("utf-16-le") in content:
        raise BadFile(f"'{output.name}' is encrypted. Save it without a password.")
    streams: dict[str, Kind] = {
        "WordDocument": "old_word",
        "PowerPoint Document": "old_slides",
        "Workbook": "workbook",
        "Book": "workbook",
    }
    if "_VBA_PROJECT".encode("utf-16-le") in content:
        output.notes.append("It has macros. They were not run and are not shown.")
    found: list[Kind] = [
        kind for name, kind in streams.items() if name.encode("utf-16-le") in content
    ]
    if found:
        return named if named is not None and named in found else found[0]
    raise BadFile(f"'{output.name}' is broken, or of a kind that cannot be read. Save it again.")


def open_content(content: bytes) -> BinaryIO:
    """Return the content as a file object."""
    return io.BytesIO(content)
