"""Reads the old binary formats of Word and PowerPoint through a converter installed on the machine.

Runs in the reading process, whose limits apply to the converter too. The first small text extractor
that finds text is used, else LibreOffice. Each reads files that another cannot: antiword refuses
very short ones, catppt ignores text boxes. Without a converter the error says what to install.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dataagent_core.documents.output import DocumentOutput
from dataagent_core.errors import BadFile

OldKind = Literal["old_word", "old_slides"]


@dataclass(frozen=True, slots=True)
class Converter:
    """A program that writes a file's text to its output. `misses` is what it never reads."""

    program: str
    arguments: tuple[str, ...]
    misses: str = ""


_EXTRACTORS: dict[OldKind, tuple[Converter, ...]] = {
    "old_word": (
        Converter("antiword", ("-m", "UTF-8.txt", "-w", "0")),
        Converter("catdoc", ("-d", "utf-8", "-w")),
    ),
    "old_slides": (
        Converter("catppt", ("-d", "utf-8"), "Text in boxes of their own, tables and notes"),
    ),
}
_OFFICES = ("soffice", "libreoffice")
_WHAT: dict[OldKind, tuple[str, str, str]] = {
    "old_word": ("Word document of the old format", ".docx", "antiword, catdoc or LibreOffice"),
    "old_slides": ("Slides of the old format", ".pptx", "catdoc (for catppt) or LibreOffice"),
}


def read_old(
    content: bytes, kind: OldKind, output: DocumentOutput, scratch: Path, *, path: str
) -> None:
    """Write the text to the output; programs are searched along `path`.

    Raises:
        BadFile: there is no converter, or it cannot read the file.
    """
    place = scratch / ("document.doc" if kind == "old_word" else "document.ppt")
    place.write_bytes(content)
    output.what = _WHAT[kind][0]
    ended: list[str | None] = []
    for converter in _EXTRACTORS[kind]:
        if program := shutil.which(converter.program, path=path):
            text = _run([program, *converter.arguments, str(place)], scratch, output)
            if text is not None and text.strip():
                _give(text, output)
                _note_missing(converter, kind, output)
                return
            ended.append(text)
    for name in _OFFICES:
        if program := shutil.which(name, path=path):
            _convert(program, place, kind, output)
            return
    _refuse(kind, ended, output)


def _note_missing(converter: Converter, kind: OldKind, output: DocumentOutput) -> None:
    if converter.misses:
        output.notes.append(
            f"{converter.misses} are not read from this old format. Save it as {_WHAT[kind][1]} "
            "to have all of it."
        )


def _refuse(kind: OldKind, ended: Sequence[str | None], output: DocumentOutput) -> None:
    """Raise the reason for the missing text: none found, a broken file, or no converter.

    Raises:
        BadFile: it is broken, or there is no converter.
    """
    what, modern, programs = _WHAT[kind]
    if "" in [text and text.strip() for text in ended]:
        output.notes.append(
            f"The converter found no text in it. If it has some, save it as {modern} and upload "
            "that."
        )
        return
    if ended:
        raise _unreadable(output)
    raise BadFile(
        f"'{output.name}' is a file of the old binary format ({what}), and no converter for it "
        f"is installed here. Save it as {modern} and upload that, or ask the operator to install "
        f"{programs}."
    )


def _give(text: str, output: DocumentOutput) -> None:
    lines = text.splitlines()
    first = output.begin_at("line", len(lines))
    last = first
    for line in lines[first:]:
        last += 1
        if not output.add(f"{line}\n"):
            break
    output.ended_at("line", last, len(lines))


def _convert(program: str, place: Path, kind: OldKind, output: DocumentOutput) -> None:
    """Convert with LibreOffice to the modern format, and read that."""
    modern = "docx" if kind == "old_word" else "pptx"
    profile = place.parent / "profile"
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))  # it maps far more than it uses
    arguments = ["--headless", "--norestore", f"-env:UserInstallation=file://{profile}"]
    arguments += ["--convert-to", modern, "--outdir", str(place.parent), str(place)]
    ended = _run([program, *arguments], place.parent, output)
    converted = place.with_suffix(f".{modern}")
    if ended is None or not converted.exists():
        raise _unreadable(output)
    with converted.open("rb") as stream:
        if kind == "old_word":
            from dataagent_core.documents.word import read_word

            read_word(stream, output)
        else:
            from dataagent_core.documents.slides import read_slides

            read_slides(stream, output)


def _run(command: Sequence[str], scratch: Path, output: DocumentOutput) -> str | None:
    """Return a program's output; None if it could not read the file."""
    output.at("the converter's output")
    ended = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=scratch,
        env={"HOME": str(scratch), "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"},
        check=False,
    )
    if ended.returncode != 0:
        return None
    return ended.stdout.decode("utf-8", errors="replace")


def _unreadable(output: DocumentOutput) -> BadFile:
    return BadFile(f"'{output.name}' is broken or encrypted: the converter cannot read it.")
