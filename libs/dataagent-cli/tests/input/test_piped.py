"""Text piped into the program."""

from __future__ import annotations

import io
import os

import pytest

from dataagent_cli.headless import full_question
from dataagent_cli.input import NotText, read_piped
from dataagent_cli.input import piped as piped_module
from dataagent_cli.streams import Streams
from dataagent_core.errors import BadInput


def streams(data: bytes | None) -> Streams:
    source = None if data is None else io.BytesIO(data)
    return Streams(io.StringIO(), io.StringIO(), source)


@pytest.mark.parametrize(
    ("question", "data", "whole"),
    [
        ("Sum up", b"a,b\n1,2\n", "Sum up\n\na,b\n1,2"),
        ("Sum up", b"", "Sum up"),
        ("Sum up", None, "Sum up"),
        ("", "你好\n".encode(), "你好"),
        ("q", b"\xef\xbb\xbfwith a mark", "q\n\nwith a mark"),
    ],
)
def test_piped_text_is_added_to_the_question(question: str, data: bytes | None, whole: str) -> None:
    assert full_question(question, streams(data)) == whole


def test_no_question_at_all_is_an_error() -> None:
    with pytest.raises(BadInput, match="dataagent -p"):
        full_question(" ", streams(b"\n"))


def test_bytes_that_are_not_text_are_refused_not_mangled() -> None:
    with pytest.raises(NotText, match="byte 3 of 4"):
        full_question("q", streams(b"ab\xff\xfe"))


def test_a_silent_pipe_is_waited_for_and_the_person_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piped_module, "_PATIENCE_SECONDS", 0.0)
    reading, writing = os.pipe()
    notes: list[str] = []

    def note(text: str) -> None:
        notes.append(text)
        os.write(writing, b"late\n")
        os.close(writing)

    with os.fdopen(reading, "rb") as source:
        assert read_piped(source, note=note) == "late"
    assert notes == ["waiting for standard input\nhint: add </dev/null to ask without it."]
