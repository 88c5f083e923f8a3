"""Workbooks for the tests, small ones made with XlsxWriter or by hand, and hostile ones."""
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportArgumentType=false

from __future__ import annotations

import datetime as dt
import io
import zipfile
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import xlsxwriter

Cell = str | int | float | bool | dt.date | dt.datetime | None


def xlsx(
    sheets: Mapping[str, Sequence[Sequence[Cell]]],
    *,
    merged: Sequence[tuple[int, int, int, int, str]] = (),
    errors: Sequence[tuple[int, int]] = (),
    formulas: Mapping[tuple[int, int], tuple[str, Cell]] = MappingProxyType({}),
) -> bytes:
    """A workbook; `merged`, `errors` and `formulas` are for its first sheet."""
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    date = book.add_format({"num_format": "yyyy-mm-dd"})
    stamp = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
    for name, rows in sheets.items():
        sheet = book.add_worksheet(name)
        cells = [(r, c, cell) for r, row in enumerate(rows) for c, cell in enumerate(row)]
        for r, c, cell in cells:
            if isinstance(cell, dt.date):
                form = stamp if isinstance(cell, dt.datetime) else date
                sheet.write_datetime(r, c, cell, form)
            elif isinstance(cell, str):
                sheet.write_string(r, c, cell)
            elif cell is not None:
                sheet.write(r, c, cell)
    first = book.worksheets()[0]
    for top, left, bottom, right, text in merged:
        first.merge_range(top, left, bottom, right, text)
    for r, c in errors:
        first.write_formula(r, c, "=1/0", None, "#DIV/0!")
    for (r, c), (formula, value) in formulas.items():
        first.write_formula(r, c, formula, None, value)
    book.close()
    return out.getvalue()


_PARTS = {
    "[Content_Types].xml": """<?xml version="1.0"?><Types
 xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels"
 ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override
 PartName="/xl/workbook.xml"
 ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
 /></Types>""",
    "_rels/.rels": """<?xml version="1.0"?><Relationships
 xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1"
 Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
 Target="xl/workbook.xml"/></Relationships>""",
    "xl/workbook.xml": """<?xml version="1.0"?><workbook
 xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"
 xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet
 name="S" sheetId="1" r:id="rId1"/></sheets></workbook>""",
    "xl/_rels/workbook.xml.rels": """<?xml version="1.0"?><Relationships
 xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1"
 Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"
 Target="worksheets/sheet1.xml"/></Relationships>""",
}
_SHEET = (
    '<?xml version="1.0"?>{doctype}<worksheet '
    'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{rows}'
    "</sheetData></worksheet>"
)


def bare_xlsx(rows: str, *, doctype: str = "", padding: int = 0) -> bytes:
    """A workbook of one sheet with this XML in it, followed by so many spaces."""
    out = io.BytesIO()
    head, tail = _SHEET.format(doctype=doctype, rows=rows + "\0").split("\0")
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, text in _PARTS.items():
            archive.writestr(name, text)
        with archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as part:
            part.write(head.encode())
            block = b" " * (1024 * 1024)
            for _ in range(padding // len(block)):
                part.write(block)
            part.write(tail.encode())
    return out.getvalue()


def ods(rows: Sequence[Sequence[tuple[str, str]]]) -> bytes:
    """An OpenDocument sheet; a cell is its type and its value."""
    cells = {
        "string": '<table:table-cell office:value-type="string"><text:p>{}</text:p>'
        "</table:table-cell>",
        "float": '<table:table-cell office:value-type="float" office:value="{}"/>',
        "date": '<table:table-cell office:value-type="date" office:date-value="{}"/>',
    }
    body = "".join(
        "<table:table-row>"
        + "".join(cells[kind].format(value) for kind, value in row)
        + "</table:table-row>"
        for row in rows
    )
    content = (
        '<?xml version="1.0"?><office:document-content '
        'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" office:version="1.2">'
        '<office:body><office:spreadsheet><table:table table:name="T">'
        f"{body}</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        archive.writestr(
            "META-INF/manifest.xml",
            '<?xml version="1.0"?><manifest:manifest '
            'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        )
    return out.getvalue()
