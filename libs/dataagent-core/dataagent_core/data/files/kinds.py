"""The kind of a file: by its first bytes, then by its name.

A name that says one thing over bytes that say another is decided by the bytes. Office files are zip
archives: the sizes in their directory are checked before anything is unpacked, and a reader is held
to them.
"""

from __future__ import annotations

import zipfile
from pathlib import PurePosixPath
from typing import BinaryIO, Final, Literal

from dataagent_core.data.files.types import FileLimits, InputFile
from dataagent_core.errors import BadInput, LimitReached

MAX_ENTRIES: Final = 10_000
_SMALL_BYTES: Final = 64 * 1024 * 1024


def check_archive(
    stream: BinaryIO, name: str, byte_size: int, *, max_unpacked: int, max_ratio: int, advice: str
) -> set[str]:
    """The names of the parts of an archive of so many bytes. `advice` ends a refusal for its size.

    Raises:
        BadInput: it is broken or encrypted.
        LimitReached: it unpacks to more than is allowed, or than can be true of so few bytes.
    """
    try:
        entries = zipfile.ZipFile(stream).infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        # zipfile has not implemented every kind of packing there is
        raise BadInput(f"'{name}' is broken or cut off: {error}. Save it again.") from error
    if any(entry.flag_bits & 1 for entry in entries):
        raise BadInput(f"'{name}' is encrypted. Save it without a password.")
    unpacked = sum(entry.file_size for entry in entries)
    is_bomb = unpacked > _SMALL_BYTES and unpacked > max_ratio * byte_size
    if is_bomb or unpacked > max_unpacked or len(entries) > MAX_ENTRIES:
        raise LimitReached(
            f"'{name}' unpacks to {unpacked:,} bytes in {len(entries):,} parts; {max_unpacked:,} "
            f"bytes in {MAX_ENTRIES:,} parts are allowed. {advice}"
        )
    return {entry.filename for entry in entries}


FileKind = Literal["text", "json", "parquet", "workbook"]

EXTENSIONS: dict[str, FileKind] = {
    ".csv": "text",
    ".tsv": "text",
    ".tab": "text",
    ".txt": "text",
    ".psv": "text",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".xlsx": "workbook",
    ".xlsm": "workbook",
    ".xls": "workbook",
    ".xlsb": "workbook",
    ".ods": "workbook",
}
_SUPPORTED = "CSV, TSV, Excel (.xlsx, .xls, .xlsb, .ods), Parquet or JSON"
_OLE = bytes.fromhex("D0CF11E0A1B11AE1")
_FOREIGN = {
    b"%PDF": "a PDF",
    b"\x1f\x8b": "packed with gzip",
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ": "packed with xz",
    b"\x28\xb5\x2f\xfd": "packed with zstd",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"SQLite format 3": "a SQLite database: register it as a database source",
    b"\x7fELF": "a program",
    b"MZ": "a program",
}
_LOOKED_AT_BYTES = 64 * 1024 * 1024


def kind_of(file: InputFile, limits: FileLimits) -> FileKind:
    """The kind of a file; a workbook has been checked for what it unpacks to.

    Raises:
        BadInput: it is of no kind that can become a table, or is encrypted.
        LimitReached: it unpacks to more than is allowed.
    """
    if file.byte_size == 0:
        raise BadInput(f"'{file.name}' is empty. Load a file that has rows.")
    with open(file.path, "rb") as stream:
        stream.seek(0)
        head = stream.read(4096)
        if head.startswith(b"PAR1"):
            return "parquet"
        if head.startswith(b"PK\x03\x04"):
            _check_archive(file, stream, limits)
            return "workbook"
        if head.startswith(_OLE):
            _check_unencrypted(file, stream)
            return "workbook"
    for magic, what in _FOREIGN.items():
        if head.startswith(magic):
            raise BadInput(f"'{file.name}' is {what}. A table comes from {_SUPPORTED}.")
    return _text_kind(file, head)


def _text_kind(file: InputFile, head: bytes) -> FileKind:
    extension = PurePosixPath(file.name).suffix.lower()
    named = EXTENSIONS.get(extension)
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:64].lower()
    if start.startswith((b"<!doctype html", b"<html", b"<table", b"<?xml")):
        raise BadInput(
            f"'{file.name}' is a web page or XML. Open it in Excel and save it as .xlsx or CSV."
        )
    if named in ("text", "json"):
        return named
    if named == "parquet":
        raise BadInput(f"'{file.name}' is not a Parquet file. Export it again.")
    return "json" if start.startswith((b"{", b"[")) and named is None else "text"


def _check_archive(file: InputFile, stream: BinaryIO, limits: FileLimits) -> None:
    """See what a workbook unpacks to before anyone unpacks it."""
    names = check_archive(
        stream,
        file.name,
        file.byte_size,
        max_unpacked=limits.max_unpacked_bytes,
        max_ratio=limits.max_pack_ratio,
        advice="Save the table as CSV or Parquet.",
    )
    if not names & {"xl/workbook.xml", "xl/workbook.bin", "content.xml"}:
        raise BadInput(
            f"'{file.name}' is an archive without a workbook. Unpack it; a table comes from "
            f"{_SUPPORTED}."
        )


def _check_unencrypted(file: InputFile, stream: BinaryIO) -> None:
    """An encrypted .xlsx is an OLE file with a part of this name."""
    stream.seek(0)
    if "EncryptedPackage".encode("utf-16-le") in stream.read(_LOOKED_AT_BYTES):
        raise BadInput(f"'{file.name}' is encrypted. Save it without a password.")
