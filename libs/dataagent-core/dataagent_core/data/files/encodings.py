"""Finds the encoding of a text file, and gives the file as UTF-8.

The order is: a byte order mark, strict UTF-8 over the whole file, UTF-16 by its zero bytes, GB18030
where the bytes look like Chinese, and a guess by charset-normalizer, which the notes call a guess.
A decoder is always strict: no character is dropped or replaced.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from charset_normalizer import from_bytes

from dataagent_core.data.files.types import InputFile
from dataagent_core.errors import BadInput

_CHUNK = 4 * 1024 * 1024
_LOOK_BYTES = 256 * 1024
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_PAIR = re.compile(rb"[\x81-\xfe]([\x40-\x7e\x80-\xfe])")


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file in UTF-8 without a byte order mark."""

    path: str
    notes: tuple[str, ...]


def as_utf8(file: InputFile, scratch: Path) -> TextFile:
    """The file itself where it is plain UTF-8, else a copy of it in `scratch`.

    Raises:
        BadInput: no encoding reads the whole file.
    """
    encoding, mark, note = encoding_of(file)
    notes = (note,) if note else ()
    if encoding == "utf-8" and mark == 0:
        return TextFile(file.path, notes)
    target = scratch / "text"
    with target.open("wb") as out:
        for text in _decoded(file.path, encoding, mark):
            out.write(text.encode("utf-8"))
    return TextFile(str(target), notes)


def encoding_of(file: InputFile) -> tuple[str, int, str | None]:
    """The encoding, how many bytes of mark come first, and what to say about it.

    Raises:
        BadInput: as `as_utf8`.
    """
    with open(file.path, "rb") as stream:
        stream.seek(0)
        head = stream.read(_LOOK_BYTES)
    for mark, name in _MARKS:
        if head.startswith(mark):
            note = None if name == "utf-8" else f"Read as {name.upper()[:6]} by its mark."
            _must_decode(file, name, len(mark))
            return name, len(mark), note
    if (name := _unmarked_utf16(head)) and _decodes(file.path, name):
        return name, 0, "Read as UTF-16."
    if b"\0" not in head and _decodes(file.path, "utf-8"):
        return "utf-8", 0, None
    if b"\0" in head:
        raise BadInput(f"'{file.name}' is not text: it has zero bytes. Save it as CSV or .xlsx.")
    if _looks_chinese(head) and _decodes(file.path, "gb18030"):
        return "gb18030", 0, "Read as GB18030 (GBK)."
    return _guessed(file, head)


def _guessed(file: InputFile, head: bytes) -> tuple[str, int, str]:
    best = None if _looks_western(head) else from_bytes(head).best()
    for name in [best.encoding, "gb18030", "cp1252"] if best else ["cp1252", "gb18030"]:
        if _decodes(file.path, name):
            return name, 0, f"The encoding is a guess: {name}. Save it as UTF-8 to be sure."
    raise BadInput(
        f"The encoding of '{file.name}' is not known: it is not UTF-8, UTF-16 or GB18030. "
        "Save it as UTF-8 and load it again."
    )


def _unmarked_utf16(head: bytes) -> str | None:
    """UTF-16 without a mark has a zero in every other byte of its ASCII letters."""
    even, odd = head[::2].count(0), head[1::2].count(0)
    half = len(head) // 2
    if half and odd * 4 > half and even == 0:
        return "utf-16-le"
    return "utf-16-be" if half and even * 4 > half and odd == 0 else None


def _looks_chinese(head: bytes) -> bool:
    """Whether the double bytes are mostly those of common characters.

    Common Chinese has both bytes above 0xA0; Western text read by mistake has an accent followed
    by a letter.
    """
    seconds = [match[1] for match in _PAIR.finditer(head)]
    return sum(1 for one in seconds if one[0] >= 0xA1) * 2 > len(seconds)


def _looks_western(head: bytes) -> bool:
    """Whether letters with accents stand among plain ones, as in no other script."""
    letters = [letter for letter in head.decode("cp1252", errors="ignore") if letter.isalpha()]
    return sum(1 for letter in letters if not letter.isascii()) * 2 < len(letters)


def _must_decode(file: InputFile, encoding: str, mark: int) -> None:
    try:
        for _ in _decoded(file.path, encoding, mark):
            pass
    except UnicodeDecodeError as error:
        raise BadInput(
            f"'{file.name}' is marked as {encoding.upper()} but is not. Save it as UTF-8."
        ) from error


def _decodes(path: str, encoding: str) -> bool:
    try:
        for _ in _decoded(path, encoding, 0):
            pass
    except UnicodeDecodeError:
        return False
    return True


def _decoded(path: str, encoding: str, mark: int) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)(errors="strict")
    with open(path, "rb") as stream:
        stream.seek(mark)
        while chunk := stream.read(_CHUNK):
            yield decoder.decode(chunk)
        yield decoder.decode(b"", final=True)
