"""Runs of the benchmarks are stored, and rows that became slower are found."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from bench import history
from bench.page import as_html
from bench.report import BenchOptions, Report, Row, at_least, below


def report(**values: float) -> Report:
    """A quick run with a speed, a time and a row without a target."""
    rows = [
        Row("a", "speed", values["speed"], target=at_least(0.7)),
        Row("f", "time", values["time"], unit="ms", target=below(300)),
        Row("a", "beside", values.get("beside", 1.0)),
    ]
    return Report(BenchOptions(is_quick=True), rows=rows)


def test_a_row_that_is_15_percent_worse_is_found_on_either_side(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    history.append_run(report(speed=1.0, time=100), file)
    before = history.load_values(is_quick=True, file=file)

    def slower(**values: float) -> list[str]:
        return [one.row.name for one in history.slower(report(**values).rows, before)]

    assert slower(speed=1.0, time=100) == []
    assert slower(speed=0.88, time=114) == []
    assert slower(speed=0.86, time=116) == ["speed", "time"]
    assert slower(speed=2.0, time=50, beside=0.1) == []


def test_a_row_that_was_zero_is_worse_once_it_misses_its_target() -> None:
    imported = Row("e", "imported", 1.0, unit="imported", target=below(1))
    stopped = Row("a", "speed", 0.0, target=at_least(0.7))
    weight = Row("c", "memory", 2.0, unit="KB", target=below(20))

    def slower(row: Row, before: float) -> list[str]:
        load_values = {(row.part, row.name): [history.StoredValue("then", before)]}
        return [str(one) for one in history.slower([row], load_values)]

    assert slower(imported, 0.0) == ["imported: 1 imported, was 0; it misses its target"]
    assert slower(imported, 1.0) == []
    assert slower(stopped, 1.0) == ["speed: 0 ×, was 1; it misses its target"]
    assert slower(stopped, 0.0) == []
    assert slower(weight, 0.0) == []
    assert history.better(weight, replace(weight, value=0.0)).value == 0.0
    assert history.better(replace(weight, value=0.0), weight).value == 0.0


def test_a_run_is_compared_with_the_last_stored_one_of_its_kind(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    history.append_run(report(speed=2.0, time=100), file)
    history.append_run(report(speed=1.0, time=100), file)
    assert (
        history.slower(
            report(speed=1.0, time=100).rows, history.load_values(is_quick=True, file=file)
        )
        == []
    )
    assert history.load_values(is_quick=False, file=file) == {}
    assert history.load_values(is_quick=True, file=tmp_path / "none.jsonl") == {}


def test_the_better_of_two_measurements_counts() -> None:
    fast, slow = report(speed=1.0, time=100).rows, report(speed=0.5, time=200).rows
    for better, worse in zip(fast[:2], slow[:2], strict=True):
        assert history.better(better, worse) is better
        assert history.better(worse, better) is better


def test_the_page_has_every_row_with_its_target_and_trend(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    history.append_run(report(speed=1.0, time=100), file)
    history.append_run(report(speed=1.2, time=90), file)
    run = report(speed=0.5, time=80)
    run.add(Row("a", "a <b> & c", 1.0))
    found = as_html(run, {"a": "Turns"}, history.load_values(is_quick=True, file=file), "today")
    assert "1 of 2 targets met" in found
    assert '<td class="number missed">0.50 ×</td>' in found
    assert '<td class="number met">80.00 ms</td>' in found
    assert 'aria-label="1, 1.2, 0.5"' in found
    assert "a &lt;b&gt; &amp; c" in found
    assert not re.search(r"<script|https?://", found)
