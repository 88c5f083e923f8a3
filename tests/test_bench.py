"""The benchmarks list their parts, and report a failed part or program instead of measuring it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import bench
from bench.__main__ import PARTS, run_parts
from bench.b_streams import Search
from bench.load import was_cancelled
from bench.m_terminal import time_to_prompt
from bench.meter import least_disturbed, percentile
from bench.processes import OTHERS, Worker, clean_environment, finish
from bench.report import BenchOptions, Report, Row
from dataagent_core.events import DoneEvent, event_to_wire


def program(folder: Path, text: str) -> str:
    """A program without arguments."""
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_every_part_is_a_module_and_is_in_the_readme() -> None:
    folder = Path(bench.__file__).parent
    modules = {path.stem for path in folder.glob("[a-z]_*.py") if "\ndef run(" in path.read_text()}
    assert {*PARTS.values()} == modules
    assert [*PARTS] == sorted(module[0] for module in modules)
    readme = folder.joinpath("README.md").read_text(encoding="utf-8")
    assert {*re.findall(r"^\| ([a-z]) \|", readme, re.MULTILINE)} == set(PARTS)


def test_a_part_that_fails_stops_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The parts are stand-ins: real ones take minutes."""

    def fails(_: Report) -> None:
        raise ConnectionRefusedError("nothing listens")

    def finds(report: Report) -> None:
        report.add(Row("z", "found", 1.0))

    for letter, name, part in (("y", "failing", fails), ("z", "complete", finds)):
        monkeypatch.setitem(PARTS, letter, name)
        monkeypatch.setitem(sys.modules, f"bench.{name}", SimpleNamespace(run=part))
    report = Report(BenchOptions())
    assert not run_parts(report, ["y", "z"])
    assert [row.name for row in report.rows] == ["found"]
    assert "error: part y failed" in capsys.readouterr().err
    assert run_parts(report, ["z"])


def test_a_worker_that_has_ended_is_reported() -> None:
    with (
        Worker("bench.no_such_module", core=OTHERS) as worker,
        pytest.raises(RuntimeError, match=r"bench\.no_such_module ended with 1"),
    ):
        worker.ask(do="anything")


def test_a_program_that_fails_is_not_measured(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="ended with 3"):
        finish([program(tmp_path, "exit 3")])


def test_a_program_that_ends_before_its_prompt_is_an_error(tmp_path: Path) -> None:
    environment = clean_environment()
    assert time_to_prompt(program(tmp_path, "printf 'hello\\n❯ '; cat"), environment).seconds > 0
    with pytest.raises(RuntimeError, match="ended before its prompt"):
        time_to_prompt(program(tmp_path, "printf hello"), environment)


def test_a_percentile_of_no_values_is_an_error() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([1.0], 0.95) == 1.0
    with pytest.raises(RuntimeError, match="nothing was measured"):
        percentile([], 0.95)


def test_the_first_calm_measurement_counts_or_the_calmest() -> None:
    shares = iter([0.5, 0.3, 0.01, 0.0])
    assert least_disturbed(lambda: next(shares), 2, float) == 0.3
    assert least_disturbed(lambda: next(shares), 2, float) == 0.01
    assert list(shares) == [0.0]


def test_a_run_that_ended_by_itself_was_not_cancelled() -> None:
    ends = [DoneEvent(cancelled=True, reason="user_cancelled"), DoneEvent()]
    events = [event_to_wire(end, seq=1, run_id="run").decode() for end in ends]
    assert [was_cancelled(each) for each in events] == [True, False]


def search_for(most: int) -> Search:
    """The search for how many streams are carried if these are the most."""
    search = Search()
    while (sessions := search.next(tolerance=5)) is not None:
        search.record(sessions, 0.05 if sessions <= most else 0.15)
    return search


def test_the_number_of_streams_is_found_only_inside_the_interval() -> None:
    assert abs(search_for(200).answer - 200) <= 5
    assert search_for(200).is_found
    assert not search_for(1000).is_found
    assert not search_for(0).is_found
