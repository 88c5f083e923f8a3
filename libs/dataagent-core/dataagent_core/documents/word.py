"""Reads Word documents with python-docx: paragraphs and tables in order. Runs in the reading
process.

Headings are marked as in Markdown. Headers, footnotes, comments and text boxes are not read, but
noted.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO

import docx
from docx.document import Document as WordDocument
from docx.opc.exceptions import PackageNotFoundError
from docx.table import Table
from docx.text.paragraph import Paragraph

from dataagent_core.documents.output import DocumentOutput, as_table, count_of
from dataagent_core.errors import BadFile

_UNREAD = {
    "word/footnotes.xml": "footnotes",
    "word/endnotes.xml": "endnotes",
    "word/comments.xml": "comments",
}
_UNREAD_INSIDE = {
    ".//w:txbxContent": "text boxes",
    ".//w:sdt[.//w:t]": "fields of a form or a table of contents",
    ".//w:ins[.//w:t]": "insertions that nobody has accepted yet",
    ".//w:tc//w:tbl": "tables inside tables",
}


def read_word(stream: BinaryIO, output: DocumentOutput) -> None:
    """Write the blocks, from the start on.

    Raises:
        BadFile: it is broken, or has macros in a way that makes it another kind of file.
    """
    document = _open_document(stream, output)
    total = sum(1 for _ in document.iter_inner_content())
    output.what = f"Word document, {count_of(total, 'paragraph')} (a table is one)"
    _note_unread_parts(stream, document, output)
    first = output.begin_at("paragraph", total)
    last = first
    for block in islice(_blocks(document), first, None):
        last += 1
        if block and not output.add(f"{block}\n\n"):
            break
    output.ended_at("paragraph", last, total)


def _open_document(stream: BinaryIO, output: DocumentOutput) -> WordDocument:
    try:
        return docx.Document(stream)
    except (PackageNotFoundError, KeyError) as error:
        raise BadFile(f"'{output.name}' is broken or cut off. Save it again as .docx.") from error
    except ValueError as error:  # python-docx says so of other content types
        raise BadFile(
            f"'{output.name}' is a document with macros or a template. Save it as .docx."
        ) from error


def _blocks(document: WordDocument) -> Iterator[str]:
    for block in document.iter_inner_content():
        yield _table(block) if isinstance(block, Table) else _paragraph(block)


def _paragraph(paragraph: Paragraph) -> str:
    text = paragraph.text.strip()
    style = paragraph.style.name if paragraph.style is not None else None
    if not text or style is None:
        return text
    if style == "Title":
        return f"# {text}"
    if style.startswith("Heading "):
        level = style.removeprefix("Heading ")
        return f"{'#' * min(int(level), 6)} {text}" if level.isdigit() else text
    return f"- {text}" if style.startswith("List ") else text


def _table(table: Table) -> str:
    """Return the rows of the XML: python-docx's own cells take quadratic time."""
    body: Any = table._tbl  # pyright: ignore[reportPrivateUsage] no public way is linear
    return as_table([[_text(cell) for cell in row.tc_lst] for row in body.tr_lst])


def _text(cell: Any) -> str:
    return " ".join(str(paragraph.text) for paragraph in cell.p_lst).strip()


def _note_unread_parts(stream: BinaryIO, document: WordDocument, output: DocumentOutput) -> None:
    stream.seek(0)
    with zipfile.ZipFile(stream) as archive:
        parts = set(archive.namelist())
    unread = [what for part, what in _UNREAD.items() if part in parts]
    if any(part.startswith(("word/header", "word/footer")) for part in parts):
        unread.append("headers and footers")
    root: Any = document.element
    unread += [what for place, what in _UNREAD_INSIDE.items() if root.xpath(f"boolean({place})")]
    if unread:
        output.notes.append(f"Not read: {', '.join(unread)}.")
