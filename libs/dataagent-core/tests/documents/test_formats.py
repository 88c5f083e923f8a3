"""Every kind of document gives its text, and says what it could not give."""

from __future__ import annotations

import json

import pytest

from dataagent_core.documents.workbook import column_letters
from dataagent_core.errors import BadFile
from tests.documents import changed, old_workbook, pdf, slides, word, workbook

from .conftest import Read

CHINESE = "名称,金额\n苹果,12\n"
WESTERN = "Größe;café;naïve\n"


@pytest.mark.parametrize(
    ("content", "text", "note"),
    [
        (CHINESE.encode(), CHINESE, None),
        (CHINESE.encode("utf-8-sig"), CHINESE, None),
        (CHINESE.encode("utf-16"), CHINESE, "UTF-16"),
        ("hello, plain\n".encode("utf-16-le"), "hello, plain\n", "UTF-16"),
        (CHINESE.encode("gb18030"), CHINESE, "GB18030"),
        (WESTERN.encode("latin-1"), WESTERN, "guess: cp1252"),
        (b"a\r\nb\rc", "a\nb\nc\n", None),
    ],
)
async def test_text_is_read_in_the_encoding_it_has(
    read: Read, content: bytes, text: str, note: str | None
) -> None:
    document = await read("a.csv", content)
    assert document.text == text
    assert document.cuts == ()
    assert [note in each for each in document.notes if note] == ([True] if note else [])


async def test_json_is_shown_as_it_is_and_described(read: Read) -> None:
    records = json.dumps([{"a": 1}, {"a": 2}])
    document = await read("a.json", records.encode())
    assert (document.text, document.what) == (f"{records}\n", "JSON, 1 line, an array of 2")
    assert document.has_rows
    config = await read("b.json", b'{"a": {"b": 1}}')
    assert config.what.endswith("an object with 1 key")
    assert not config.has_rows
    broken = await read("c.json", b'{"a": ')
    assert "not valid JSON" in broken.notes[0]


async def test_pdf_pages_are_told_apart(read: Read) -> None:
    document = await read("a.pdf", pdf(["first page", "second page"]))
    assert document.what == "PDF, 2 pages"
    assert document.text.split("\n\n")[:4] == [
        "## Page 1",
        "first page",
        "## Page 2",
        "second page",
    ]


async def test_a_pdf_without_text_says_so(read: Read) -> None:
    document = await read("scan.pdf", pdf([""]))
    assert "no text" in document.notes[0]


async def test_word_keeps_headings_and_tables_in_order(read: Read) -> None:
    content = word(["Report", "We sold.", "More."], [["a", "b"], ["1", "x|y"]])
    document = await read("a.docx", content)
    assert document.text == (
        "# Report\n\nWe sold.\n\nMore.\n\n| a | b |\n| --- | --- |\n| 1 | x\\|y |\n\n"
    )
    assert document.what == "Word document, 4 paragraphs (a table is one)"


async def test_word_names_what_it_does_not_read(read: Read) -> None:
    content = changed(word(["a"]), "word/document.xml", {}, **{"word/comments.xml": b"<x/>"})
    document = await read("a.docx", content)
    assert document.notes == ("Not read: comments.",)


async def test_slides_have_titles_bodies_and_notes(read: Read) -> None:
    document = await read("a.pptx", slides(["One", "Two"], notes="say hello"))
    assert document.text == (
        "## Slide 1: One\n\nbody of One\n\nSpeaker's notes: say hello\n\n"
        "## Slide 2: Two (hidden)\n\nbody of Two\n\n"
    )


async def test_a_workbook_shows_addresses_dates_formulas_errors_and_hidden_sheets(
    read: Read,
) -> None:
    document = await read("a.xlsx", workbook())
    assert document.text == (
        "## Sheet 'Odd' (5 rows, 3 columns)\n\n"
        "| row | B | C | D |\n| --- | --- | --- | --- |\n"
        "| 2 | merged |  |  |\n"
        "| 3 | a\\|b | 5 | true |\n"
        "| 4 | 2026-01-05 |  |  |\n"
        "| 5 | =B3&C3 | 5 | #DIV/0! |\n\n"
        "## Sheet 'Long' (3 rows, 2 columns, hidden)\n\n"
        "| row | A | B |\n| --- | --- | --- |\n"
        "| 1 | 1 | r1 |\n| 2 | 2 | r2 |\n| 3 | 3 | r3 |\n\n"
    )
    assert document.what == "Workbook, 3 sheets"
    assert document.has_rows
    assert document.notes == (
        "Sheet 'Odd': saved without a result, shown as they are and without a value in a table: "
        "1 formula.",
        "Sheet 'Odd': 1 cell with an error, such as #N/A.",
        "Sheet 'Odd': merged cells B2:C2; the value stands in the first of them.",
        "'Chart' is no sheet of cells and was not read.",
    )


async def test_a_workbook_of_the_old_format_is_read_without_a_converter(read: Read) -> None:
    document = await read("a.xls", old_workbook())
    assert document.text.splitlines()[-3:] == [
        "| 2 | 苹果 | 12.5 | 2026-01-05 |",
        "| 3 | b | 30 |  |",
        "",
    ]
    assert document.has_rows


def test_columns_are_named_as_excel_names_them() -> None:
    named = {0: "A", 25: "Z", 26: "AA", 701: "ZZ", 702: "AAA", 16383: "XFD"}
    assert {index: column_letters(index) for index in named} == named


async def test_bytes_decide_where_the_name_is_wrong(read: Read) -> None:
    document = await read("report.doc", word(["Real Word"]))
    assert "# Real Word" in document.text
    assert document.notes == (
        "Its name says a Word document of the old format; it is a Word document.",
    )
    page = await read("old.xls", b"<html><table><tr><td>1</td></tr></table></html>")
    assert "| 1 |" in page.text


async def test_macros_are_neither_run_nor_hidden(read: Read) -> None:
    content = changed(workbook(), "xl/workbook.xml", {}, **{"xl/vbaProject.bin": b"Sub Auto_Open"})
    document = await read("a.xlsx", content)
    assert "It has macros. They were not run and are not shown." in document.notes
    plain = b"wordprocessingml.document.main+xml"
    macro = changed(
        word(["a"]), "[Content_Types].xml", {plain: b"wordprocessingml.macroEnabled.main+xml"}
    )
    with pytest.raises(BadFile, match="macros or a template"):
        await read("a.docx", macro)
