"""Documents made to do harm end as errors that name them, in time; the program stays as it was."""

from __future__ import annotations

import asyncio
import io
import os
import resource
import struct
import zipfile
from dataclasses import replace
from pathlib import Path
from time import process_time

import psutil
import pytest

from dataagent_core.documents import Document, ReadLimits
from dataagent_core.documents.reader import DocumentReader, DocumentSource
from dataagent_core.errors import BadFile, DataAgentError, LimitReached
from tests.documents import (
    MIB,
    OLE,
    archive,
    bare_pdf,
    changed,
    laughing,
    locked_pdf,
    pdf,
    slides,
    slow_pdf,
    word,
    workbook,
)
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

from .conftest import Read

QUICK = {"timeout_seconds": 1.0, "memory_bytes": 400 * MIB}


async def refused(read: Read, name: str, content: bytes, **limits: object) -> DataAgentError:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    used = process_time()
    with pytest.raises(DataAgentError) as caught:
        await read(name, content, **{**QUICK, **limits})
    assert process_time() - used < 1.0  # the work was done elsewhere
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * 1024 < 100 * MIB
    assert name in caught.value.message
    assert isinstance(caught.value, BadFile | LimitReached)
    for inner in ("/dev/", "/tmp", "Traceback", "site-packages"):
        assert inner not in caught.value.message
    return caught.value


def bomb(size: int) -> bytes:
    """A workbook whose sheet is so many spaces; the archive is small."""
    padded = {b"<sheetData>": b"<sheetData>" + b" " * size}
    return changed(workbook(), "xl/worksheets/sheet1.xml", padded)


@requirement("G13")
async def test_a_small_file_that_takes_25_seconds_is_stopped(read: Read) -> None:
    content, before = slow_pdf(), set(psutil.Process().children())
    assert len(content) < 6_000
    error = await refused(read, "slow.pdf", content)
    assert "takes longer to read than the 1 seconds" in error.message
    left = set(psutil.Process().children()) - before
    assert [child for child in left if child.status() != "zombie"] == []


@requirement("G13")
async def test_what_was_read_before_the_limit_is_not_lost(read: Read) -> None:
    slow = slow_pdf()
    from pypdf import PdfReader, PdfWriter

    writer, out = PdfWriter(), io.BytesIO()
    for each in (pdf(["the first page"]), slow):
        for page in PdfReader(io.BytesIO(each)).pages:
            writer.add_page(page)
    writer.write(out)
    document = await read("mixed.pdf", out.getvalue(), **QUICK)
    assert "the first page" in document.text
    [cut] = document.cuts
    assert "reading was stopped" in cut
    assert "It was at page 2." in cut


@pytest.mark.slow
@requirement("G13")
async def test_archives_that_unpack_to_far_more_are_refused_unopened(read: Read) -> None:
    content = bomb(300 * MIB)
    assert len(content) < 2 * MIB
    error = await refused(read, "bomb.xlsx", content)
    assert "unpacks to" in error.message
    many = archive({"word/document.xml": b"x", **{f"word/{n}": b"" for n in range(10_001)}})
    assert "parts" in (await refused(read, "many.docx", many)).message


@pytest.mark.slow
@requirement("G13")
async def test_an_archive_that_lies_about_its_size_ends_in_its_own_process(read: Read) -> None:
    lying = bytearray(bomb(200 * MIB))
    with zipfile.ZipFile(io.BytesIO(bytes(lying))) as made:
        names = [entry.filename for entry in made.infolist()]
    entry = lying.rfind(b"PK\x05\x06")
    for _ in range(len(names) - names.index("xl/worksheets/sheet1.xml")):
        entry = lying.rfind(b"PK\x01\x02", 0, entry)
    assert struct.unpack_from("<I", lying, entry + 24)[0] > 100 * MIB
    struct.pack_into("<I", lying, entry + 24, 1000)
    outcome = await ended(read, "liar.xlsx", bytes(lying))
    assert outcome is None or len(outcome.text) < 50 * 1024


async def ended(read: Read, name: str, content: bytes) -> Document | None:
    """What was read, or None for an error that names the file."""
    try:
        return await read(name, content, **QUICK)
    except (BadFile, LimitReached) as error:
        if name in error.message:
            return None
        raise


@requirement("G13")
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("laugh.docx", laughing(word(["HERE"]), "word/document.xml", b"<w:document ")),
        ("laugh.pptx", laughing(slides(["HERE"]), "ppt/slides/slide1.xml", b"<p:sld ")),
        ("laugh.xlsx", laughing(changed(workbook(), "xl/sharedStrings.xml", {b"merged": b"HERE"}),
                                "xl/sharedStrings.xml", b"<sst ")),
    ],
)  # fmt: skip
async def test_entities_are_not_expanded_and_files_not_fetched(
    read: Read, name: str, content: bytes
) -> None:
    outcome = await ended(read, name, content)
    text = outcome.text if outcome else ""
    assert "root:" not in text
    assert text.count("ha") < 100


@requirement("G13")
@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.txt", b"", "is empty"),
        ("zero.txt", b"a\0b", "not text"),
        ("cut.pdf", pdf(["a"])[:200], "broken or cut off"),
        ("cut.docx", word(["a"])[:-200], "broken or cut off"),
        ("cut.pptx", slides(["a"])[: 10_000], "broken or cut off"),
        ("cut.xlsx", workbook()[:-100], "broken or cut off"),
        ("cut.xls", OLE + b"\0" * 700, "broken"),
        ("half.xls", OLE + b"\0" * 504 + "Workbook".encode("utf-16-le"), "broken"),
        ("locked.pdf", locked_pdf("pw"), "encrypted"),
        ("locked.xlsx", OLE + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
        ("picture.pdf", b"\x89PNG\r\n\x1a\n", "a picture"),
        ("words.pdf", b"just words", "is not a PDF"),
        ("program.docx", b"\x7fELF...", "a program"),
        ("files.zip", archive({"../../evil.txt": b"x"}), "is an archive"),
        ("none.docx", archive({"word/other.xml": b"<x/>"}), "broken"),
        ("none.pptx", archive({"ppt/other.xml": b"<x/>"}), "broken"),
    ],
)  # fmt: skip
async def test_a_file_that_cannot_be_read_is_named_with_the_way_out(
    read: Read, name: str, content: bytes, says: str
) -> None:
    assert says in (await refused(read, name, content, timeout_seconds=5.0)).message


async def test_a_pdf_locked_for_its_owner_only_opens(read: Read) -> None:
    assert "secret" in (await read("open.pdf", locked_pdf(""))).text


@requirement("G13")
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("deep.json", b"[" * 200_000),
        ("wide.csv", b"a," * 2_000_000),
        ("line.txt", b"x" * (9 * MIB)),
        ("lines.txt", b"\n" * (9 * MIB)),
    ],
)
async def test_text_of_any_shape_is_cut_and_said_to_be(
    read: Read, name: str, content: bytes
) -> None:
    document = await read(name, content)
    assert 0 < len(document.text.encode()) <= 50 * 1024
    assert "KB of text are shown" in document.cuts[0]


@requirement("G13")
async def test_a_sheet_with_two_cells_far_apart_does_not_take_the_memory(read: Read) -> None:
    far = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    content = changed(workbook(), "xl/worksheets/sheet1.xml", {b"</sheetData>": far})
    await refused(read, "sparse.xlsx", content)


@requirement("G13")
async def test_a_page_tree_that_never_ends_is_refused(read: Read) -> None:
    loop = bare_pdf(b"<< /Length 0 >>\nstream\n").replace(b"/Kids [3 0 R]", b"/Kids [2 0 R]")
    outcome = await ended(read, "loop.pdf", loop)
    assert outcome is None or outcome.text.count("## Page") <= 20


@requirement("G6", "G13")
async def test_cancelling_ends_the_process_that_reads() -> None:
    reader = DocumentReader(replace(ReadLimits(), timeout_seconds=WAIT_SECONDS))
    before = set(psutil.Process().children())
    reading = asyncio.create_task(reader.read(DocumentSource("slow.pdf", slow_pdf())))
    async with asyncio.timeout(WAIT_SECONDS):
        while not (new := set(psutil.Process().children()) - before):
            await asyncio.sleep(0.01)
    [child] = new
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert not psutil.pid_exists(child.pid)


@requirement("G13")
async def test_one_users_slow_file_does_not_block_anothers() -> None:
    reader = DocumentReader(replace(ReadLimits(), timeout_seconds=WAIT_SECONDS), at_once=2)
    before = set(psutil.Process().children())
    slow = [
        asyncio.create_task(reader.read(DocumentSource("slow.pdf", slow_pdf()), user_id="greedy"))
        for _ in range(4)
    ]
    async with asyncio.timeout(WAIT_SECONDS):
        quick = await reader.read(DocumentSource("a.txt", b"hello"), user_id="other")
    assert quick.text == "hello\n"
    assert not any(task.done() for task in slow)
    assert len(set(psutil.Process().children()) - before) <= 2
    for task in slow:
        task.cancel()
    await asyncio.gather(*slow, return_exceptions=True)
    assert set(psutil.Process().children()) - before == set()


@requirement("G13")
async def test_the_process_that_reads_is_poor_and_knows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A converter stands in for whatever a document makes the process do."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    converter = tmp_path / "catdoc"
    converter.write_text("#!/bin/sh\nnice; ulimit -t; ulimit -v; ulimit -c; tr '\\0' '\\n' "
                         "</proc/$PPID/environ; ls /proc/self/fd | wc -l\n")  # fmt: skip
    converter.chmod(0o700)
    reader = DocumentReader(programs=str(tmp_path))
    content = OLE + b"\0" * 504 + "WordDocument".encode("utf-16-le")
    document = await reader.read(DocumentSource("a.doc", content))
    nice, seconds, memory, core, *environment = document.text.splitlines()
    assert int(nice) >= os.nice(0) + 10
    assert (int(seconds), int(memory), core) == (15, 768 * 1024, "0")
    names = {line.partition("=")[0] for line in environment[:-1]}
    assert names == {"PYTHONPATH", "PYTHONUTF8"}
