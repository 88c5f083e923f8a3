"""What a runner's answers mean, also when they lie."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.errors import SandboxGone
from dataagent_core.sandbox.results import clean_path, code_result, file_changes
from dataagent_core.sandbox.runner.frames import Frame
from dataagent_core.sandbox.types import CodeResult, OutputFile
from tests.requirements import requirement

WHOLE: dict[str, Any] = {
    "status": "ok",
    "exit_code": 0,
    "stdout": 2,
    "stderr": 3,
    "is_cut": True,
    "files": [["output/a.txt", 4]],
    "left_out": 1,
    "wall": 0.5,
    "cpu": 0.25,
    "rss": 1000,
    "names": ["x"],
    "state_lost": False,
}
BODY = b"hiohofour"


@requirement("S10.3")
def test_a_whole_answer_is_read_whole() -> None:
    assert code_result(Frame("result", WHOLE, BODY), ran_out_of_memory=False) == CodeResult(
        status="ok",
        stdout="hi",
        stderr="oho",
        is_cut=True,
        exit_code=0,
        files=(OutputFile("output/a.txt", b"four"),),
        files_left_out=1,
        wall_seconds=0.5,
        cpu_seconds=0.25,
        max_rss_bytes=1000,
        names=("x",),
        state_lost=False,
    )


@requirement("S10.3")
def test_a_run_killed_for_memory_is_reported_as_such() -> None:
    killed = Frame("result", {**WHOLE, "status": "killed", "exit_code": -9}, BODY)
    assert code_result(killed, ran_out_of_memory=True).status == "memory"
    assert code_result(killed, ran_out_of_memory=False).status == "killed"
    assert code_result(Frame("result", WHOLE, BODY), ran_out_of_memory=True).status == "ok"


@requirement("S10.3")
@pytest.mark.parametrize(
    "lie", [{"status": "fine"}, {"status": None}, {"files": [["a", 10**9]]}, {"files": [["a"]]}]
)
def test_an_answer_that_cannot_be_is_none(lie: dict[str, Any]) -> None:
    with pytest.raises(SandboxGone):
        code_result(Frame("result", {**WHOLE, **lie}, BODY), ran_out_of_memory=False)


@requirement("P52")
@given(st.text() | st.text("./\\\x00\n\u202e", max_size=12))
def test_a_path_that_is_shown_is_relative_and_visible(path: str) -> None:
    clean = clean_path(path)
    assert clean
    assert not clean.startswith("/")
    assert all(part not in {"", ".", ".."} for part in clean.split("/"))
    assert not set(clean) & set("\\\x00\n\r\x1b\u202e")
    assert clean_path(clean) == clean


@requirement("S10.3")
def test_changes_of_no_known_kind_are_passed_over() -> None:
    listed = [["a", "written", 3, "s"], ["b", "deleted", 0, ""], ["c", "moved", 1, "s"], "d", [1]]
    found = file_changes(Frame("done", {"changes": listed}))
    assert [(change.path, change.kind) for change, _ in found] == [
        ("a", "written"),
        ("b", "deleted"),
    ]
