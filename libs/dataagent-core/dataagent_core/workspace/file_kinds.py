"""File names and kinds: names safe to show, and whether content is what the name says.

Content is judged by its first bytes, text by all of them. Nothing is unpacked or parsed here, so
nothing can explode: of an Office file only the archive's directory is read. Blocking; run in a
worker thread. Files are stored under names made by the server; a person's name for a file is for
lists, headers and the model.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO, Final

from dataagent_core.errors import BadFile

MAX_NAME = 200
NO_NAME = "file"
_SEPARATORS = re.compile(r"[\\/]")
_RESERVED = re.compile(r'[:*?"<>|]')
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,10}")
_NOT_WORD = re.compile(r"[^\w-]+")
_MAX_STEM_BYTES = 120


def shown_name(given: str) -> str:
    """Return the last part of a name without hidden or reordering characters; never empty."""
    last = _SEPARATORS.split(given)[-1]
    visible = "".join(
        " " if character.isspace() else character
        for character in unicodedata.normalize("NFC", last)
        if character.isspace() or unicodedata.category(character)[0] != "C"
    )
    name = " ".join(_RESERVED.sub("_", visible).split()).strip(" .")
    if len(name) > MAX_NAME:
        extension = extension_of(name)
        name = name[: MAX_NAME - len(extension)].rstrip(" .") + extension
    return name or NO_NAME


def extension_of(name: str) -> str:
    """Return the extension in lower case, such as `.csv`; empty if it is none."""
    extension = PurePosixPath(name).suffix
    return extension.lower() if _EXTENSION.fullmatch(extension) else ""


def plain_stem(name: str) -> str:
    """Return a name without its extension, reduced to letters (of any script), digits, `_`
    and `-`.
    """
    stem = name.removesuffix(PurePosixPath(name).suffix)
    plain = _NOT_WORD.sub("_", unicodedata.normalize("NFC", stem)).strip("_-")
    short = plain.encode()[:_MAX_STEM_BYTES].decode(errors="ignore")
    return short or NO_NAME


_MIB = 1024 * 1024
_CHUNK: Final = _MIB
_MAX_PARTS: Final = 10_000
_MAX_UNPACKED: Final = 512 * _MIB
_ALWAYS_UNPACKED: Final = 64 * _MIB
_MAX_RATIO: Final = 200
_OLE: Final = bytes.fromhex("D0CF11E0A1B11AE1")
_ZIP: Final = b"PK\x03\x04"
_DIRECTORY_ENTRY: Final = b"PK\x01\x02"
_NOT_TEXT: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")
_JSON_STARTS: Final = '{["-0123456789tfn'
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_GUESSES: Final = ("utf-8", "gb18030", "cp1252")
_BINARY: Final = "application/octet-stream"

Fits = Callable[[BinaryIO], bool]


@dataclass(frozen=True, slots=True)
class UploadKind:
    """A kind of file that can be uploaded: its content type, and a check of its bytes."""

    content_type: str
    what: str
    fits: Fits
    is_text: bool = False


def check_content(stream: BinaryIO, filename: str) -> None:
    """Refuse a file whose bytes are not what its name says.

    Raises:
        BadFile: they are not, or it would unpack to more than anyone may read.
    """
    kind = allowed_kind(filename)
    if not kind.fits(stream):
        raise BadFile(
            f"The file is not {kind.what}, as its name says. Save it again in that format, or "
            "name it after what it is."
        )


def allowed_kind(filename: str) -> UploadKind:
    """Return the kind that a name's extension promises.

    Raises:
        BadFile: files of that kind are not taken.
    """
    kind = KINDS.get(extension_of(filename))
    if kind is None:
        raise BadFile(f"Files of this kind are not taken. Taken are: {', '.join(KINDS)}.")
    return kind


def content_type_of(filename: str) -> str:
    """Return the content type for downloads: anything that could run in a browser is plain
    bytes.
    """
    kind = KINDS.get(extension_of(filename))
    return kind.content_type if kind else _BINARY


def is_text(filename: str) -> bool:
    """Whether a file of that name has a preview."""
    kind = KINDS.get(extension_of(filename))
    return kind is not None and kind.is_text


def text_encoding(stream: BinaryIO) -> str | None:
    """Return the encoding in which the whole file is text; None if there is none."""
    stream.seek(0)
    head = stream.read(4)
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding if _decodes(stream, encoding) else None
    return next((name for name in _GUESSES if _decodes(stream, name)), None)


def _decodes(stream: BinaryIO, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)(errors="strict")
    stream.seek(0)
    try:
        while chunk := stream.read(_CHUNK):
            if _NOT_TEXT.search(decoder.decode(chunk)):
                return False
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _starts(*signatures: bytes) -> Fits:
    def fits(stream: BinaryIO) -> bool:
        stream.seek(0)
        return stream.read(16).startswith(signatures)

    return fits


def _is_text(stream: BinaryIO) -> bool:
    return text_encoding(stream) is not None


def _is_json(stream: BinaryIO) -> bool:
    """Check the first character only: nesting is checked by the reader."""
    encoding = text_encoding(stream)
    if encoding is None:
        return False
    stream.seek(0)
    start = stream.read(_CHUNK).decode(encoding, errors="ignore").lstrip()
    return start[:1] in _JSON_STARTS


def _is_pdf(stream: BinaryIO) -> bool:
    stream.seek(0)
    return b"%PDF-" in stream.read(1024)


def _is_parquet(stream: BinaryIO) -> bool:
    size = stream.seek(0, 2)
    if size < 12:
        return False
    stream.seek(0)
    head = stream.read(4)
    stream.seek(-4, 2)
    return head == b"PAR1" and stream.read(4) == b"PAR1"


def _is_office(folder: str) -> Fits:
    """Check that the archive has content types and the folder of its kind."""

    def fits(stream: BinaryIO) -> bool:
        if not _starts(_ZIP)(stream):
            return False
        names = _archive_names(stream)
        return "[Content_Types].xml" in names and any(each.startswith(folder) for each in names)

    return fits


def _archive_names(stream: BinaryIO) -> set[str]:
    """Return the names in an archive that is not a decompression bomb.

    Raises:
        BadFile: it is.
    """
    stream.seek(0)
    content = stream.read()
    if content.count(_DIRECTORY_ENTRY) > _MAX_PARTS:  # before anyone makes objects of them
        raise BadFile(f"The file has more than {_MAX_PARTS} parts. Split it.")
    try:
        parts = zipfile.ZipFile(stream).infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return set()
    unpacked = sum(part.file_size for part in parts)
    is_bomb = unpacked > _ALWAYS_UNPACKED and unpacked > _MAX_RATIO * len(content)
    if is_bomb or unpacked > _MAX_UNPACKED:
        raise BadFile(f"The file unpacks to {unpacked} bytes, more than are read. Split it.")
    return {part.filename for part in parts}


_OPEN_XML: Final = "application/vnd.openxmlformats-officedocument"
KINDS: Final[Mapping[str, UploadKind]] = {
    ".txt": UploadKind("text/plain", "text", _is_text, is_text=True),
    ".md": UploadKind("text/markdown", "text", _is_text, is_text=True),
    ".json": UploadKind("application/json", "JSON", _is_json, is_text=True),
    ".csv": UploadKind("text/csv", "text", _is_text, is_text=True),
    ".tsv": UploadKind("text/tab-separated-values", "text", _is_text, is_text=True),
    ".parquet": UploadKind("application/vnd.apache.parquet", "Parquet", _is_parquet),
    ".pdf": UploadKind("application/pdf", "a PDF", _is_pdf),
    ".doc": UploadKind("application/msword", "a Word document of the old format", _starts(_OLE)),
    ".docx": UploadKind(
        f"{_OPEN_XML}.wordprocessingml.document", "a Word document", _is_office("word/")
    ),
    ".ppt": UploadKind("application/vnd.ms-powerpoint", "slides of the old format", _starts(_OLE)),
    ".pptx": UploadKind(
        f"{_OPEN_XML}.presentationml.presentation", "PowerPoint slides", _is_office("ppt/")
    ),
    ".xls": UploadKind("application/vnd.ms-excel", "a workbook of the old format", _starts(_OLE)),
    ".xlsx": UploadKind(f"{_OPEN_XML}.spreadsheetml.sheet", "an Excel workbook", _is_office("xl/")),
    ".png": UploadKind("image/png", "a PNG picture", _starts(b"\x89PNG\r\n\x1a\n")),
    ".jpg": UploadKind("image/jpeg", "a JPEG picture", _starts(b"\xff\xd8\xff")),
    ".jpeg": UploadKind("image/jpeg", "a JPEG picture", _starts(b"\xff\xd8\xff")),
}
"""What can be uploaded, by extension. Pages, drawings and programs are not among it."""
