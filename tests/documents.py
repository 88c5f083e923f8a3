"""Documents for the tests: plain ones by common libraries; hostile and old ones made by hand.

`files/report.doc` was converted by LibreOffice from a .docx with a heading, 61 paragraphs, a table
and a last line. Old slides are a compound file with the records PowerPoint 97 writes, as [MS-CFB]
and [MS-PPT] describe them, reduced to those that a reader of text needs.
"""
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportArgumentType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false

from __future__ import annotations

import base64
import datetime as dt
import io
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import docx
import xlsxwriter
from pptx import Presentation
from pypdf import PdfReader, PdfWriter
from reportlab.pdfgen import canvas

MIB = 1024 * 1024
OLE = bytes.fromhex("D0CF11E0A1B11AE1")
_SECTOR = 512
_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_LEAST = 4096  # a shorter stream would lie among others in the file's small sectors
_DOCUMENT, _SLIDE, _DRAWING, _LIST = 1000, 1006, 1036, 4080
_PERSIST, _HEADER, _CHARACTERS = 1011, 3999, 4000


def pdf(pages: Sequence[str]) -> bytes:
    """A PDF with one line of text on each page."""
    out = io.BytesIO()
    drawing = canvas.Canvas(out)
    for text in pages:
        drawing.drawString(100, 700, text)
        drawing.showPage()
    drawing.save()
    return out.getvalue()


def locked_pdf(password: str) -> bytes:
    """A PDF that opens with a password."""
    writer, out = PdfWriter(), io.BytesIO()
    for page in PdfReader(io.BytesIO(pdf(["secret"]))).pages:
        writer.add_page(page)
    writer.encrypt(password, owner_password="owner", algorithm="AES-256")
    writer.write(out)
    return out.getvalue()


def slow_pdf() -> bytes:
    """About 5 kB whose one page takes some 25 s to read: 3 MiB of operators, packed."""
    operators = b"BT /F1 12 Tf " + b"(a) Tj " * (3 * MIB // 7) + b"ET"
    packed = zlib.compress(operators, 9)
    return bare_pdf(b"<< /Length %d /Filter /FlateDecode >>\nstream\n" % len(packed) + packed)


def bare_pdf(content: bytes) -> bytes:
    """A PDF of one page with this content stream."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        content + b"\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, offsets = bytearray(b"%PDF-1.4\n"), list[int]()
    for number, one in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n" % number + one + b"\nendobj\n"
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, table)
    return bytes(out)


def word(paragraphs: Sequence[str], table: Sequence[Sequence[str]] = ()) -> bytes:
    """A Word document: the first paragraph is a heading; a table stands at the end."""
    document, out = docx.Document(), io.BytesIO()
    for number, text in enumerate(paragraphs):
        document.add_heading(text, 1) if number == 0 else document.add_paragraph(text)
    if table:
        made = document.add_table(len(table), len(table[0]))
        for row, cells in enumerate(table):
            for column, text in enumerate(cells):
                made.cell(row, column).text = text
    document.save(out)
    return out.getvalue()


def slides(titles: Sequence[str], *, notes: str = "") -> bytes:
    """Slides with a title and a line each; notes are on the first, the last is hidden."""
    presentation, out = Presentation(), io.BytesIO()
    for title in titles:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = f"body of {title}"
    if notes:
        presentation.slides[0].notes_slide.notes_text_frame.text = notes
    presentation.slides[len(titles) - 1].element.set("show", "0")
    presentation.save(out)
    return out.getvalue()


def sheet(name: str, rows: Sequence[Sequence[object]]) -> bytes:
    """A workbook with one plain sheet."""
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    page = book.add_worksheet(name)
    for at, row in enumerate(rows):
        page.write_row(at, 0, row)
    book.close()
    return out.getvalue()


def workbook(rows: int = 3) -> bytes:
    """A workbook with all that can be odd about one, and so many rows on its second sheet."""
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    first, second = book.add_worksheet("Odd"), book.add_worksheet("Long")
    day = book.add_format({"num_format": "yyyy-mm-dd"})
    first.merge_range(1, 1, 1, 2, "merged")
    first.write_row(2, 1, ["a|b", 5.0, True])
    first.write_datetime(3, 1, dt.date(2026, 1, 5), day)
    first.write_formula(4, 1, "=B3&C3", None, "")
    first.write_formula(4, 2, "=SUM(C3:C3)", None, 5)
    first.write_formula(4, 3, "=1/0", None, "#DIV/0!")
    for row in range(rows):
        second.write_row(row, 0, [row + 1, f"r{row + 1}"])
    second.hide()
    book.add_chartsheet("Chart")
    book.close()
    return out.getvalue()


_OLD_WORKBOOK = (
    "c-rk)O=uHA6#izDG(WcaX;YyUN+?)uZ3Xe-rLGFvleKzLM9{<yB5hI$^^hL4w&o;);7RGFP!C?JUi?7?y?GEKdJq"
    "I5(W56pL7~n1-pg)HszL)=sLU7U&CHwmW?tsayxHAX#aL<XUS}CAup1s!>>!$Ibc#~YtwcfXw#`L14^Xl-))j&Qa"
    "%7Vak6T{)*@x`!G7Q}HJ|_u$pmYM~Fg%`3C)N=A#D=6|8wN=#%#tRI4za3L<Y|#@BJW7gCnEQV=Bmg+>RVFBQ8b7"
    "9b~(HFn9(h5Veq&Qg!4``JJ607yo)bhQ`Npc?9H7`j;*tXE^jmDK@J^CXVW>ZM{o-vAWs;`WCkp&gg7~S9$)PQ@W"
    "nmV&k|a{wt5B9f2-H~|DX?$6Ibf58(v@v_9;0e1#CdX%Pk%p8nYJBOIrexNSjS&(saO+nep@42@hZ;^F;bSJ$r_>"
    "Pb$RWUBW@ME*!MTF=-}gAtL3N9F{2Avv~XS>w~Eg^Q35|<O-->6r0&D*to<DB8O46%9VY>*d}sXM%^UkPLXjknev"
    "{IcBgP)M*3Wq)*hN?r{ImbrKY@<%7ssdA9fW!n!QwB7%ET37v7q4=%$OyB0m3S(69Q{%^QqIrkg7#sJs{1@k@XS7"
    "*WS|+qn%RSmGl^h>5J$cy-ir&2ZL=+3GiJC2U@gr!>D3_LVjcaNCOpF_~w`IQ2Y3c)Y?FjF97#Nxrs?R@~=C3W7f"
    "of`*2MhK7cQhK9!Sqq^Zdl6##u1%BxFJKuGdC{^@llK&P*FiyV-da2xxEaf@m8`?h`;ZyEdYLy)Kdm-Z}&7Q+3Qe"
    "www!~2(B+EnfTSv4{G_l{7b^H&<N^B>Ru1DFri7y"
)


def old_workbook() -> bytes:
    """A workbook of the old binary format: name, amount and day, two rows below."""
    return zlib.decompress(base64.b85decode(_OLD_WORKBOOK))


def archive(parts: Mapping[str, bytes | str]) -> bytes:
    """A ZIP archive with these parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        for name, content in parts.items():
            made.writestr(name, content)
    return out.getvalue()


def changed(content: bytes, part: str, edit: dict[bytes, bytes], **more: bytes) -> bytes:
    """An Office file with one part edited, and others added."""
    with zipfile.ZipFile(io.BytesIO(content)) as before:
        parts: dict[str, bytes | str] = {name: before.read(name) for name in before.namelist()}
    text = parts[part]
    assert isinstance(text, bytes)
    for old, new in edit.items():
        assert old in text
        text = text.replace(old, new)
    return archive({**parts, part: text, **more})


def laughing(content: bytes, part: str, root: bytes) -> bytes:
    """An Office file with a billion laughs, and a file of the host, in one of its parts."""
    lines = b"".join(
        b'<!ENTITY e%d "%s">' % (number, b"&e%d;" % (number - 1) * 10) for number in range(1, 10)
    )
    doctype = (
        b'<!DOCTYPE x [<!ENTITY e0 "ha">' + lines + b'<!ENTITY f SYSTEM "file:///etc/passwd">]>'
    )
    return changed(content, part, {root: doctype + root, b"HERE": b"&e9;&f;"})


def old_office(stream: str) -> bytes:
    """What starts like a file of the old binary formats and names this stream."""
    return OLE + b"\0" * 504 + stream.encode("utf-16-le") + b"\0" * 512


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
