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
    read_here: Read, content: bytes, text: str, note: str | None
) -> None:
    document = await read_here("a.csv", content)
    assert document.text == text
    assert document.cuts == ()
    assert [note in each for each in document.notes if note] == ([True] if note else [])


async def test_json_is_shown_as_it_is_and_described(read_here: Read) -> None:
    records = json.dumps([{"a": 1}, {"a": 2}])
    document = await read_here("a.json", records.encode())
    assert (document.text, document.what) == (f"{records}\n", "JSON, 1 line, an array of 2")
    assert document.has_rows
    config = await read_here("b.json", b'{"a": {"b": 1}}')
    assert config.what.endswith("an object with 1 key")
    assert not config.has_rows
    broken = await read_here("c.json", b'{"a": ')
    assert "not valid JSON" in broken.notes[0]


async def test_pdf_pages_are_distinguished(read_here: Read) -> None:
    document = await read_here("a.pdf", pdf(["first page", "second page"]))
    assert document.what == "PDF, 2 pages"
    assert document.text.split("\n\n")[:4] == [
        "## Page 1",
        "first page",
        "## Page 2",
        "second page",
    ]


async def test_a_pdf_without_text_says_so(read_here: Read) -> None:
    document = await read_here("scan.pdf", pdf([""]))
    assert "no text" in document.notes[0]


async def test_word_keeps_headings_and_tables_in_order(read_here: Read) -> None:
    content = word(["Report", "We sold.", "More."], [["a", "b"], ["1", "x|y"]])
    document = await read_here("a.docx", content)
    assert document.text == (
        "# Report\n\nWe sold.\n\nMore.\n\n| a | b |\n| --- | --- |\n| 1 | x\\|y |\n\n"
    )
    assert document.what == "Word document, 4 paragraphs (a table is one)"


async def test_word_names_what_it_does_not_read(read_here: Read) -> None:
    content = changed(word(["a"]), "word/document.xml", {}, **{"word/comments.xml": b"<x/>"})
    document = await read_here("a.docx", content)
    assert document.notes == ("Not read: comments.",)


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("<w:p><w:ins><w:r><w:t>new</w:t></w:r></w:ins></w:p>", "insertions"),
        ("<w:sdt><w:sdtContent><w:p><w:r><w:t>x</w:t></w:r></w:p></w:sdtContent></w:sdt>", "form"),
        ("<w:p><w:r><w:pict><w:txbxContent><w:p/></w:txbxContent></w:pict></w:r></w:p>", "boxes"),
        ("<w:tbl><w:tr><w:tc><w:tbl/><w:p/></w:tc></w:tr></w:tbl>", "tables inside tables"),
    ],
)
async def test_word_names_what_it_does_not_read_of_the_text(
    read_here: Read, inside: str, said: str
) -> None:
    edit = {b"<w:body>": f"<w:body>{inside}".encode()}
    content = changed(word(["a"]), "word/document.xml", edit)
    [note] = (await read_here("a.docx", content)).notes
    assert note.startswith("Not read: ")
    assert said in note


@pytest.mark.parametrize("picture", ["r:link", "r:embed"])
async def test_slides_name_pictures_also_where_they_are_links_or_missing(
    read_here: Read, picture: str
) -> None:
    named = '<p:cNvPr id="9" name="x"/>'
    shown = (
        f"<p:pic><p:nvPicPr>{named}<p:cNvPicPr/><p:nvPr/></p:nvPicPr>"
        f'<p:blipFill><a:blip {picture}="rId99"/></p:blipFill><p:spPr/></p:pic>'
    )
    frame = (
        f"<p:graphicFrame><p:nvGraphicFramePr>{named}<p:cNvGraphicFramePr/><p:nvPr/>"
        "</p:nvGraphicFramePr><p:xfrm/>"
        '<a:graphic><a:graphicData uri="x"/></a:graphic></p:graphicFrame>'
    )
    edit = {b"</p:spTree>": f"{shown}{shown}{frame}</p:spTree>".encode()}
    content = changed(slides(["One"]), "ppt/slides/slide1.xml", edit)
    document = await read_here("a.pptx", content)
    assert document.text.startswith("## Slide 1: One")
    assert document.notes == ("Not read: 2 pictures, 1 other object.",)


@pytest.mark.parametrize(
    ("encoding", "meta"),
    [
        ("gb18030", "<meta charset='gb2312'>"),
        ("gb18030", "<meta http-equiv='Content-Type' content='text/html; charset=GBK'>"),
        ("utf-8", ""),
        ("utf-8", "<meta charset='nonsense'>"),
        ("utf-16", ""),
    ],
)
async def test_a_page_is_read_in_the_encoding_it_names(
    read_here: Read, encoding: str, meta: str
) -> None:
    page = f"<html><head>{meta}</head><body><p>销售额镕</p></body></html>"
    document = await read_here("page.html", page.encode(encoding))
    assert document.text == "销售额镕\n"


async def test_slides_have_titles_bodies_and_notes(read_here: Read) -> None:
    document = await read_here("a.pptx", slides(["One", "Two"], notes="say hello"))
    assert document.text == (
        "## Slide 1: One\n\nbody of One\n\nSpeaker's notes: say hello\n\n"
        "## Slide 2: Two (hidden)\n\nbody of Two\n\n"
    )


async def test_a_workbook_shows_addresses_dates_formulas_errors_and_hidden_sheets(
    read_here: Read,
) -> None:
    document = await read_here("a.xlsx", workbook())
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


async def test_a_workbook_of_the_old_format_is_read_without_a_converter(read_here: Read) -> None:
    document = await read_here("a.xls", old_workbook())
    assert document.text.splitlines()[-3:] == [
        "| 2 | 苹果 | 12.5 | 2026-01-05 |",
        "| 3 | b | 30 |  |",
        "",
    ]
    assert document.has_rows


def test_columns_are_named_as_excel_names_them() -> None:
    named = {0: "A", 25: "Z", 26: "AA", 701: "ZZ", 702: "AAA", 16383: "XFD"}
    assert {index: column_letters(index) for index in named} == named


async def test_bytes_decide_where_the_name_is_wrong(read_here: Read) -> None:
    document = await read_here("report.doc", word(["Real Word"]))
    assert "# Real Word" in document.text
    assert document.notes == (
        "Its name says a Word document of the old format; it is a Word document.",
    )
    page = await read_here("old.xls", b"<html><table><tr><td>1</td></tr></table></html>")
    assert "| 1 |" in page.text


async def test_macros_are_neither_run_nor_hidden(read_here: Read) -> None:
    content = changed(workbook(), "xl/workbook.xml", {}, **{"xl/vbaProject.bin": b"Sub Auto_Open"})
    document = await read_here("a.xlsx", content)
    assert "It has macros. They were not run and are not shown." in document.notes
    plain = b"wordprocessingml.document.main+xml"
    macro = changed(
        word(["a"]), "[Content_Types].xml", {plain: b"wordprocessingml.macroEnabled.main+xml"}
    )
    with pytest.raises(BadFile, match="macros or a template"):
        await read_here("a.docx", macro)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", CHINESE.encode("gb18030")),
        ("a.json", b'[{"a": 1}]'),
        ("a.pdf", pdf(["first page"])),
        ("a.docx", word(["Report", "We sold."])),
        ("a.pptx", slides(["One", "Two"], notes="say hello")),
        ("a.xlsx", workbook()),
        ("a.xls", old_workbook()),
    ],
)
async def test_a_process_of_its_own_reads_the_same(
    read: Read, read_here: Read, name: str, content: bytes
) -> None:
    assert await read(name, content) == await read_here(name, content)
