"""A file is what its name says, or is refused; a name is only ever a name."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.errors import BadFile
from dataagent_core.workspace.file_kinds import (
    MAX_NAME,
    allowed_kind,
    check_content,
    content_type_of,
    extension_of,
    plain_stem,
    shown_name,
)
from tests.requirements import requirement

OLE = bytes.fromhex("D0CF11E0A1B11AE1")
ELF = b"\x7fELF\x02\x01\x01\x00" + b"\x00" * 64


def office(folder: str, *, size: int = 10, parts: int = 0) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(f"{folder}/main.xml", b"\0" * size)
        for number in range(parts):
            archive.writestr(f"{folder}/{number}", b"")
    return packed.getvalue()


GOOD = {
    "a.txt": "Grüße 你好".encode(),
    "gbk.csv": "姓名,年龄\n张三,30\n".encode("gbk"),
    "western.csv": "caf\xe9;1,5\n".encode("cp1252"),
    "utf16.csv": "a,b\n1,2\n".encode("utf-16"),
    "bom.tsv": b"\xef\xbb\xbfa\tb\n",
    "a.md": b"# Title\n",
    "a.json": b'  {"a": 1}',
    "deep.json": b"[" * 200_000,
    "a.parquet": b"PAR1" + b"\0" * 16 + b"PAR1",
    "a.pdf": b"%PDF-1.7\n",
    "a.doc": OLE + b"\0" * 8,
    "a.xls": OLE,
    "a.ppt": OLE,
    "a.docx": office("word"),
    "a.pptx": office("ppt"),
    "A.XLSX": office("xl"),
    "a.png": b"\x89PNG\r\n\x1a\n\0\0",
    "a.jpg": b"\xff\xd8\xff\xe0",
    "a.jpeg": b"\xff\xd8\xff\xe0",
}
BAD = {
    "program.txt": ELF,
    "program.csv": ELF,
    "nul.txt": b"a\0b",
    "text.json": b"hello",
    "text.pdf": b"hello",
    "text.png": b"<svg onload=alert(1)>",
    "text.xlsx": b"a,b\n",
    "word.xlsx": office("word"),
    "broken.xlsx": b"PK\x03\x04" + b"x" * 50,
    "bomb.xlsx": office("xl", size=70 * 1024 * 1024),
    "parts.xlsx": office("xl", parts=10_001),
    "zip.xls": office("xl"),
    "half.parquet": b"PAR1" + b"\0" * 16,
    "tiny.parquet": b"PAR1",
}
NOT_TAKEN = [
    "a.html",
    "a.svg",
    "a.exe",
    "a.js",
    "a.zip",
    "a.txt.exe",
    "a",
    "",
    ".txt",
    "a.",
    "a.tx\u202et",
]


@requirement("S2.4.2a")
@pytest.mark.parametrize("name", GOOD)
def test_a_file_that_is_what_its_name_says_is_accepted(name: str) -> None:
    check_content(io.BytesIO(GOOD[name]), name)


@requirement("G13")
@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_something_else_is_refused(name: str) -> None:
    with pytest.raises(BadFile):
        check_content(io.BytesIO(BAD[name]), name)


@requirement("S2.4.2a", "S10.4")
@pytest.mark.parametrize("name", NOT_TAKEN)
def test_kinds_that_are_not_on_the_list_are_refused(name: str) -> None:
    with pytest.raises(BadFile):
        allowed_kind(name)


def test_what_could_run_in_a_browser_is_sent_as_plain_bytes() -> None:
    for name in ("a.html", "a.svg", "a.xml", "a.js", "a"):
        assert content_type_of(name) == "application/octet-stream"


NAMES = {
    "../../etc/passwd.txt": "passwd.txt",
    "..\\..\\boot.csv": "boot.csv",
    "/etc/a.txt": "a.txt",
    "C:a.txt": "C_a.txt",
    "C:\\x\\a.txt": "a.txt",
    "a\0b.txt": "ab.txt",
    "two\r\nlines.txt": "two lines.txt",
    'quo"te.txt': "quo_te.txt",
    "right\u202etxt.exe": "righttxt.exe",
    "CON": "CON",
    "": "file",
    "..": "file",
    "销售 2024.csv": "销售 2024.csv",
    "x" * 4000 + ".csv": "x" * (MAX_NAME - 4) + ".csv",
}


@requirement("R33.4")
@pytest.mark.parametrize("given_name", NAMES)
def test_a_name_is_never_a_path(given_name: str) -> None:
    assert shown_name(given_name) == NAMES[given_name]


@given(st.text(max_size=400))
def test_no_name_is_empty_long_or_has_a_separator(text: str) -> None:
    name, stem = shown_name(text), plain_stem(shown_name(text))
    assert 0 < len(name) <= MAX_NAME
    assert not set(name) & set('/\\\0\r\n"')
    assert stem
    assert len(stem.encode()) <= 120
    assert not set(stem) & set("./\\ ")
    assert len(extension_of(name)) <= 11
