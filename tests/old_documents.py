"""Documents of the old binary formats: a Word file that LibreOffice wrote, slides made by hand.

`files/report.doc` was converted from a .docx with a heading, 61 paragraphs, a table and a last
line. The slides are a compound file with the records PowerPoint 97 writes, as [MS-CFB] and
[MS-PPT] describe them, and no more of them than a reader of text needs.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.documents import OLE

_SECTOR = 512
_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_LEAST = 4096  # a shorter stream would lie among others in the file's small sectors
_DOCUMENT, _SLIDE, _DRAWING, _LIST = 1000, 1006, 1036, 4080
_PERSIST, _HEADER, _CHARACTERS = 1011, 3999, 4000


def old_word() -> bytes:
    """A Word document of the old format."""
    return (Path(__file__).parent / "files" / "report.doc").read_bytes()


def old_slides(slides: Sequence[tuple[str, str]], *, in_boxes: bool = False) -> bytes:
    """Slides of the old format, each with a title and a text.

    PowerPoint keeps what stands in the layout's places in the document's list; what stands in
    boxes of their own is in the slide's drawing only.
    """
    listed, drawn = b"", b""
    for title, text in slides:
        words = b"".join(
            _record(_HEADER, struct.pack("<I", kind))
            + _record(_CHARACTERS, each.encode("utf-16le"))
            for kind, each in ((0, title), (1, text))
        )
        listed += _record(_PERSIST, bytes(20)) + (b"" if in_boxes else words)
        drawn += _inside(_SLIDE, _inside(_DRAWING, words if in_boxes else b""))
    stream = _inside(_DOCUMENT, _inside(_LIST, listed)) + drawn
    return compound({"PowerPoint Document": stream, "Current User": bytes(20)})


def _record(kind: int, content: bytes, version: int = 0) -> bytes:
    return struct.pack("<HHI", version, kind, len(content)) + content


def _inside(kind: int, content: bytes) -> bytes:
    return _record(kind, content, version=0xF)


def compound(streams: Mapping[str, bytes]) -> bytes:
    """A compound file with these streams, each filled up with zeros to where it may stand alone."""
    table, body, entries = [_FAT, _END], b"", [_entry("Root Entry", 5, _END, 0, child=1)]
    for number, (name, content) in enumerate(streams.items(), 1):
        padded = content.ljust(max(_LEAST, -(-len(content) // _SECTOR) * _SECTOR), b"\0")
        first, count = len(table), len(padded) // _SECTOR
        table += [*range(first + 1, first + count), _END]
        after = number + 1 if number < len(streams) else _FREE
        entries.append(_entry(name, 2, first, len(padded), right=after))
        body += padded
    directory = b"".join(entries).ljust(_SECTOR, b"\0")
    fat = struct.pack(f"<{len(table)}I", *table).ljust(_SECTOR, b"\xff")
    return _head() + fat + directory + body


def _head() -> bytes:
    """One sector of the table, number 0; the directory is in number 1."""
    shape = struct.pack("<16sHHHHH6s", bytes(16), 0x3E, 3, 0xFFFE, 9, 6, bytes(6))
    places = struct.pack("<9I", 0, 1, 1, 0, _LEAST, _END, 0, _END, 0)
    return OLE + shape + places + struct.pack("<109I", 0, *[_FREE] * 108)


def _entry(
    name: str, kind: int, first: int, size: int, *, right: int = _FREE, child: int = _FREE
) -> bytes:
    """A line of the directory; those of one level hang on each other's right hand."""
    named = name.encode("utf-16le")
    return struct.pack(
        "<64sHBBIII36sIQ",
        named,
        len(named) + 2,
        kind,
        1,
        _FREE,
        right,
        child,
        bytes(36),
        first,
        size,
    )
