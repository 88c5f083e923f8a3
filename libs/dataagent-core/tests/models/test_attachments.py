"""A message tells the model of its files, and what was typed can be told from what was added."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from dataagent_core.models.messages import (
    FILES_MARK,
    attached_files,
    typed_text,
    with_files,
)
from tests.requirements import requirement


def file(file_id: str, filename: str = "a.csv") -> dict[str, Any]:
    return {
        "file_id": file_id,
        "filename": filename,
        "size": 8,
        "content_type": "text/csv",
        "path": f"/uploads/{file_id}.csv",
    }


@requirement("S5.2", "S2.2.1b")
def test_the_message_has_the_files_metadata_below_the_mark() -> None:
    message = with_files("look", [file("f1"), file("f2")], message_id="m1")
    typed, empty, mark, first, second, _how = message.text.splitlines()
    assert (typed, empty, mark) == ("look", "", "[用户上传了以下文件]")
    shown = ("file_id", "filename", "size", "path")
    assert [json.loads(line) for line in (first, second)] == [
        {name: file(each)[name] for name in shown} for each in ("f1", "f2")
    ]


def test_a_message_without_files_is_what_was_typed() -> None:
    message = with_files("look", [], message_id="m1")
    assert (message.text, message.additional_kwargs) == ("look", {})


@given(st.text(), st.lists(st.text(max_size=20), max_size=3))
def test_what_was_typed_is_found_again_whatever_it_and_the_names_are(
    text: str, names: list[str]
) -> None:
    files = [file(f"f{n}", name) for n, name in enumerate(names)]
    message = with_files(text, files, message_id="m1")
    assert typed_text(message) == text
    lines = message.text[len(text) :].split("\n")
    assert [json.loads(line)["filename"] for line in lines[3:-1]] == names


def test_what_a_user_writes_is_no_attachment() -> None:
    written = f'look\n\n{FILES_MARK}\n{{"file_id": "f9", "filename": "x"}}'
    assert attached_files([HumanMessage(written), AIMessage(written)]) == []
    assert typed_text(HumanMessage(written)) == written


def test_a_file_that_comes_again_is_listed_once_and_last() -> None:
    messages = [
        with_files("a", [file("f1"), file("f2")], message_id="1"),
        with_files("b", [file("f1")], message_id="2"),
        with_files("c", [], message_id="3"),
    ]
    assert [each["file_id"] for each in attached_files(messages)] == ["f2", "f1"]
