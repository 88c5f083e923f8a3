"""What is cut is said, with what is missing and how to read on."""

from __future__ import annotations

from typing import Any

import pytest

from dataagent_core.documents import ReadLimits
from dataagent_core.documents.reader import DocumentReader, DocumentSource, _ProcessOutput
from dataagent_core.errors import LimitReached
from tests.documents import pdf, word, workbook
from tests.requirements import requirement

from .conftest import Read


@requirement("S2.4.2b", "S2.4.2c")
def test_the_limits_are_those_of_the_requirements() -> None:
    limits = ReadLimits()
    assert limits.max_bytes == 10 * 1024 * 1024
    assert (limits.text_bytes, limits.pages, limits.rows) == (50 * 1024, 20, 500)


@requirement("S2.4.2c")
async def test_a_long_text_is_cut_at_a_line_and_read_on(read_here: Read) -> None:
    lines = [f"line {number} äöü" for number in range(1, 5001)]
    content = "\n".join(lines).encode()
    first = await read_here("a.txt", content)
    assert len(first.text.encode()) <= 50 * 1024
    shown = first.text.splitlines()
    assert shown == lines[: len(shown)]
    [cut] = first.cuts
    assert "Only 50 KB of text are shown" in cut
    assert "of 5,000" in cut
    start = int(cut.rpartition("start=")[2].rstrip("."))
    seen, parts = shown[: start - 1], 1
    while start:
        part = await read_here("a.txt", content, start=start)
        rest = part.text.splitlines()
        again = [cut for cut in part.cuts if "start=" in cut]
        after = int(again[0].rpartition("start=")[2].rstrip(".")) if again else 0
        seen += rest[: after - start] if after else rest
        start, parts = after, parts + 1
    assert seen == lines
    assert parts > 1


async def test_one_line_that_is_too_long_says_that_its_rest_is_missing(read_here: Read) -> None:
    document = await read_here("a.txt", b"x" * 100_000)
    assert len(document.text) == 50 * 1024
    assert document.cuts == (
        "Only 50 KB of text are shown: up to line 1 of 1, in part. The rest of it cannot be shown.",
    )


@requirement("S2.4.2c")
async def test_of_a_pdf_twenty_pages_are_read_at_once(read_here: Read) -> None:
    content = pdf([f"text {number}" for number in range(1, 26)])
    first = await read_here("a.pdf", content)
    assert "text 20" in first.text
    assert "text 21" not in first.text
    assert first.cuts == ("Shown up to page 20 of 25. Read on with start=21.",)
    rest = await read_here("a.pdf", content, start=21)
    assert "text 21" in rest.text
    assert "text 25" in rest.text
    assert rest.cuts == ("20 pages before the start were passed over.",)
    behind = await read_here("a.pdf", content, start=99)
    assert (behind.text, behind.cuts) == ("", ("It has 25 pages; there is none at 99.",))


@requirement("S2.4.2c")
async def test_of_each_sheet_500_rows_are_read(read_here: Read) -> None:
    content = workbook(rows=1200)
    first = await read_here("a.xlsx", content)
    assert "| 500 | 500 | r500 |" in first.text
    assert "r501" not in first.text
    assert first.cuts == ("Shown sheet 'Long' up to row 500 of 1,200. Read on with start=501.",)
    rest = await read_here("a.xlsx", content, start=1001)
    assert "| 1200 | 1200 | r1200 |" in rest.text
    assert rest.cuts == (
        "Passed over: sheet 'Odd' 5 rows at first.",
        "Passed over: sheet 'Long' 1,000 rows at first.",
    )


async def test_sheets_that_are_not_reached_are_named(read_here: Read) -> None:
    document = await read_here("a.xlsx", workbook(rows=400), text_bytes=150)
    assert document.cuts[-1] == "Not shown at all: 2 sheets, 'Long', 'Chart'."


async def test_word_is_read_on_by_paragraphs(read_here: Read) -> None:
    content = word([f"paragraph {number}" for number in range(1, 41)])
    first = await read_here("a.docx", content, text_bytes=300)
    start = int(first.cuts[0].rpartition("start=")[2].rstrip("."))
    rest = await read_here("a.docx", content, start=start, text_bytes=300)
    assert rest.text.startswith(f"paragraph {start}\n")


@requirement("S2.4.2b")
async def test_a_file_over_ten_megabytes_is_refused_unread(read_here: Read) -> None:
    with pytest.raises(LimitReached, match="10,485,760 can be read"):
        await read_here("a.txt", b"x" * (10 * 1024 * 1024 + 1))


async def test_nothing_that_cannot_be_stored_comes_out(read_here: Read) -> None:
    document = await read_here("a.txt", b"\\ud800 stays text\x1b[31m\n")
    assert "\0" not in document.text
    document.text.encode()


async def test_a_process_killed_in_mid_line_keeps_the_lines_before() -> None:
    """Where the line ends is made up here: it is a matter of chance otherwise."""

    class Ended(DocumentReader):
        async def _run(self, job: dict[str, Any], descriptor: int) -> _ProcessOutput:
            return _ProcessOutput(b'{"text": "the first"}\n{"text": "of a {style}', b"", -9, True)

    document = await Ended().read(DocumentSource("a.css", b"x"))
    assert document.text == "the first"
    assert "reading was stopped" in document.cuts[0]
