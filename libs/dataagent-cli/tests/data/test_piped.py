"""Data is told from text by its beginning."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from dataagent_cli.data.piped import detect_ending, read_piped_data
from dataagent_cli.input.piped import NotText


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("a,b\n1,2\n", ".csv"),
        ("a;b\n1;2\n", ".csv"),
        ("a\tb\n1\t2\n", ".tsv"),
        ("a|b\n1|2\n", ".psv"),
        ('a,b\n"x, y\nz",2\n', ".csv"),
        ("\ufeffa,b\n1,2\n", ".csv"),
        (",a\n0,1\n1,2\n", ".csv"),
        ('[{"a": 1}, {"a": 2}]', ".json"),
        ('{"a": 1}\n{"a": 2}\n', ".jsonl"),
        ("Dear all,\nwe met, and talked, twice.\n", None),
        ("One line, with a comma\n", None),
        ("a,b\n", None),
        ("Hello\nworld\n", None),
        ("[1, 2, 3]", None),
        ("{not json}", None),
        ("a,a\n1,2\n", None),
        ("", None),
    ],
)
def test_what_text_is(text: str, ending: str | None) -> None:
    assert detect_ending(text.encode(), is_whole=True) == ending


@pytest.mark.parametrize(
    ("head", "ending"),
    [
        (b"PAR1xxxx", ".parquet"),
        (b"PK\x03\x04xxxx", ".xlsx"),
        (b"SQLite format 3\x00xx", ".sqlite"),
        (b"12345678DUCKxx", ".duckdb"),
        (b"\x89PNG\x00\x01", None),
    ],
)
def test_what_bytes_are(head: bytes, ending: str | None) -> None:
    assert detect_ending(head, is_whole=True) == ending


def test_a_cut_beginning_is_judged_by_its_whole_lines() -> None:
    assert detect_ending(b"a,b\n1,2\n3", is_whole=False) == ".csv"


def test_data_is_spooled_byte_for_byte(tmp_path: Path) -> None:
    content = b"a,b\n" + b"1,2\n" * 200_000
    path = read_piped_data(io.BytesIO(content), tmp_path, note=print)
    assert isinstance(path, Path)
    assert (path.name, path.read_bytes()) == ("input.csv", content)


def test_one_column_is_data_when_somebody_says_so(tmp_path: Path) -> None:
    assert read_piped_data(io.BytesIO(b"name\nAda\n"), tmp_path, note=print) == "name\nAda"
    path = read_piped_data(io.BytesIO(b"name\nAda\n"), tmp_path, note=print, is_data=True)
    assert isinstance(path, Path)


def test_what_is_neither_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotText):
        read_piped_data(io.BytesIO(b"\xff\x00\xfe"), tmp_path, note=print)
