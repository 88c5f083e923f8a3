"""The old binary formats, by the converters that people install: real files, real programs."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest

from dataagent_core.documents import Document
from dataagent_core.documents.reader import DocumentReader, DocumentSource
from dataagent_core.errors import BadFile
from tests.documents import compound, old_office, old_slides, old_word, slides
from tests.requirements import requirement

REVIEW = [("Quarterly review", "Revenue grew by 12 %\rCosts fell"), ("Outlook", "北京 and Zürich")]


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Where converters are looked for: a folder that has what a test puts into it."""
    folder = tmp_path / "programs"
    folder.mkdir()
    return folder


def installed(programs: Path, *names: str) -> DocumentReader:
    """A reader on a machine that has these converters and no other."""
    for name in names:
        found = shutil.which(name)
        if found is None:
            pytest.fail(f"{name} is not installed: apt-get install antiword catdoc")
        (programs / name).symlink_to(found)
    return DocumentReader(programs=str(programs))


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@requirement("S2.4.2d")
@pytest.mark.parametrize("converter", ["antiword", "catdoc"])
async def test_a_word_document_gives_its_text_and_its_table(programs: Path, converter: str) -> None:
    reader = installed(programs, converter)
    document = await reader.read(DocumentSource("report.doc", old_word()))
    assert document.what == "Word document of the old format"
    text = " ".join(document.text.replace("|", " ").split())
    assert text.startswith(
        "Quarterly report Revenue grew by 12 % in Zürich. 收入增长。 Paragraph 1:"
    )
    assert text.endswith("Paragraph 60: the figures of this region are in the table below. "
                         "region amount north 40 The end.")  # fmt: skip
    rest = await reader.read(DocumentSource("report.doc", old_word()), start=30)
    assert "Quarterly report" not in rest.text
    assert rest.text.strip().endswith("The end.")


@requirement("S2.4.2d")
async def test_slides_give_titles_and_texts_and_say_what_is_not_read(programs: Path) -> None:
    reader = installed(programs, "catppt")
    document = await reader.read(DocumentSource("review.ppt", old_slides(REVIEW)))
    assert [line for line in document.text.splitlines() if line.strip()] == [
        "Quarterly review",
        "Revenue grew by 12 %",
        "Costs fell",
        "Outlook",
        "北京 and Zürich",
    ]
    assert document.notes == (
        "Text in boxes of their own, tables and notes are not read from this old format. Save it "
        "as .pptx to have all of it.",
    )


async def test_slides_with_text_in_boxes_alone_are_not_said_to_be_empty(programs: Path) -> None:
    reader = installed(programs, "catppt")
    document = await reader.read(DocumentSource("review.ppt", old_slides(REVIEW, in_boxes=True)))
    assert document.text == ""
    assert (
        "The converter found no text in it. If it has some, save it as .pptx" in (document.notes[0])
    )
    program(programs, "soffice", f'cp "{programs}/modern" "$7/document.pptx"')
    (programs / "modern").write_bytes(slides(["Converted"]))
    assert (
        "## Slide 1: Converted"
        in (await reader.read(DocumentSource("review.ppt", old_slides(REVIEW, in_boxes=True)))).text
    )


async def test_what_one_converter_refuses_another_reads(programs: Path) -> None:
    """The first that is tried need not be the one that can."""
    reader = installed(programs, "antiword", "catdoc")
    with pytest.raises(BadFile, match="broken or encrypted"):
        await reader.read(DocumentSource("a.doc", old_office("WordDocument")))
    nothing = await reader.read(DocumentSource("a.doc", compound({"WordDocument": bytes(5000)})))
    assert "found no text" in nothing.notes[0]
    (programs / "antiword").unlink()
    program(programs, "antiword", "exit 1")
    document = await reader.read(DocumentSource("report.doc", old_word()))
    assert "The end." in document.text


@requirement("G13")
@pytest.mark.parametrize("name", ["report.doc", "review.ppt"])
@pytest.mark.parametrize("damage", ["cut", "mixed", "names only"])
async def test_a_broken_file_is_named_or_read_in_part_and_never_stalls(
    programs: Path, name: str, damage: str
) -> None:
    reader = installed(programs, "antiword", "catdoc", "catppt")
    content = old_word() if name.endswith("doc") else old_slides(REVIEW)
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "mixed":
        content = content[:1536] + bytes(each ^ 0x5A for each in content[1536:])
    else:
        stream = "WordDocument" if name.endswith("doc") else "PowerPoint Document"
        content = old_office(stream)
    outcome: Document | str
    try:
        outcome = await reader.read(DocumentSource(name, content))
    except BadFile as error:
        outcome = error.message
        assert name in outcome
    if isinstance(outcome, Document):
        assert len(outcome.text) < 50 * 1024


# -- without one --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "stream", "modern"),
    [("a.doc", "WordDocument", ".docx"), ("a.ppt", "PowerPoint Document", ".pptx")],
)
async def test_without_a_converter_an_old_file_says_what_to_do(
    programs: Path, name: str, stream: str, modern: str
) -> None:
    reader = DocumentReader(programs=str(programs))
    with pytest.raises(BadFile) as caught:
        await reader.read(DocumentSource(name, old_office(stream)))
    assert f"Save it as {modern}" in caught.value.message
    assert "install" in caught.value.message
    assert "LibreOffice" in caught.value.message
