"""Reports: the shape of the document, hostile answers in every form, comparison with a baseline."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dataagent_client import (
    ActionRequest,
    DoneEvent,
    HITLRequestEvent,
    TextEvent,
    TodoUpdateEvent,
    ToolCallEvent,
)
from dataagent_harbor import BadQuestionSet, Question
from dataagent_harbor.report import Report, as_html, as_junit, as_markdown, report_of
from dataagent_harbor.report.document import load_report, regressions, steps_of
from dataagent_harbor.results import GradedResult, ResultFile, load_results
from dataagent_harbor.scoring import Check, Verdict
from dataagent_harbor.statistics import TokenPrices
from dataagent_harbor.transcripts import Transcript
from tests.requirements import requirement

HOSTILE = "<script>alert(1)</script> | ]]> \x00 \x1b[2J"
ASKED = [
    Question("How many?", "a", category="count", expected_keywords=("3",)),
    Question(HOSTILE, "b", category="<b>"),
]


def results() -> list[GradedResult]:
    right = Transcript(
        end="answered",
        answer="3",
        seconds=1.5,
        first_token_seconds=0.5,
        tokens={"input_tokens": 7, "output_tokens": 2},
    )
    call = ToolCallEvent(
        tool_name=HOSTILE, tool_args={"a": HOSTILE}, tool_call_id="1", timestamp=1.0
    )
    wrong = Transcript(
        end="answered", answer=HOSTILE * 200, seconds=2.5, events=(call.to_dict(),), losses=2
    )
    failed = Verdict("failed", (Check("keywords", is_met=False, detail=HOSTILE),))
    return [
        GradedResult(ASKED[0], 1, Verdict("passed", matched_keywords=("3",)), right),
        GradedResult(ASKED[1], 1, failed, wrong),
    ]


@pytest.fixture
def report() -> Report:
    return report_of(results(), about={"set": "a set"}, prices=TokenPrices(1_000_000, 2_000_000))


@requirement("R27.5")
def test_the_report_counts_and_lists_what_failed(report: Report) -> None:
    latency = {"mean": 2.0, "p50": 1.5, "p90": 2.5, "p95": 2.5, "p99": 2.5, "max": 2.5}
    first = dict.fromkeys(("mean", "p50", "p90", "p95", "p99", "max"), 0.5)
    count = {"total": 1, "passed": 1, "failed": 0, "error": 0, "timeout": 0, "success_rate": 1.0}
    failed = {**count, "passed": 0, "failed": 1, "success_rate": 0.0}
    assert report["summary"] == {
        "total": 2,
        "passed": 1,
        "failed": 1,
        "error": 0,
        "timeout": 0,
        "success_rate": 0.5,
        "latency": latency,
        "latency_corrected": {**latency, "by": "interval", "interval": 1.5, "added": 0},
        "service_time": latency,
        "first_token": first,
        "tokens": {"input_tokens": 7, "output_tokens": 2},
        "cost": {"total": 11.0, "currency": "USD", "by": "prices"},
        "by_category": {
            "<b>": {**failed, "p50": 2.5, "p95": 2.5},
            "count": {**count, "p50": 1.5, "p95": 1.5},
        },
        "affected": ["b"],
    }
    assert [row["id"] for row in report["failures"]] == ["b"]
    assert report["results"][0]["matched_keywords"] == ["3"]
    assert report["results"][0]["cost"] == 11.0
    assert report["failures"][0]["is_answer_cut"]


def test_questions_that_were_asked_while_the_server_was_unavailable_are_named(
    report: Report,
) -> None:
    assert report["affected"] == [
        {
            "id": "b",
            "round": 1,
            "status": "failed",
            "connection_losses": 2,
            "how": "resumed: the connection was lost and opened again",
        }
    ]
    assert "Server unavailable" in as_html(report)
    assert "## Server unavailable" in as_markdown(report)


def test_a_transcript_joins_text_and_names_the_call_that_asks_for_approval() -> None:
    request = ActionRequest("write_file", {"path": "/a"}, request_id="r")
    events = (
        TextEvent(content="Let me "),
        TextEvent(content="see."),
        TodoUpdateEvent(todos=[]),
        HITLRequestEvent(request_id="r", action=request),
        DoneEvent(reason="rejected"),
    )
    assert steps_of(event.to_dict() for event in events) == [
        {"kind": "text", "title": "answer", "text": "Let me see."},
        {
            "kind": "hitl_request",
            "title": "asks for approval of write_file",
            "text": '{\n "path": "/a"\n}',
        },
        {"kind": "done", "title": "ends: rejected", "text": ""},
    ]


def test_with_a_rate_latency_counts_from_when_a_question_was_due() -> None:
    late = Transcript(end="answered", seconds=9.0, waited_seconds=8.0)
    found = report_of([GradedResult(ASKED[0], 1, Verdict("passed"), late)], about={})["summary"]
    assert found["latency"]["p50"] == found["latency_corrected"]["p50"] == 9.0
    assert found["latency_corrected"]["by"] == "due"
    assert found["service_time"]["p50"] == 1.0


def test_a_hostile_answer_stays_text_in_every_form(report: Report) -> None:
    page = as_html(report)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "calls &lt;script&gt;" in page
    assert "<script>" not in as_markdown(report)
    suite = ElementTree.fromstring(as_junit(report))
    assert suite.attrib["failures"] == "1"
    (failure,) = suite.iter("failure")
    assert failure.text is not None
    assert "<script>" in failure.text


def test_what_passed_and_does_not_now_is_a_regression(report: Report) -> None:
    now = copy.deepcopy(report)
    assert regressions(now, report, slower_by=1.2) == []
    now["results"][0]["status"] = "failed"
    assert regressions(now, report) == ["a: passed 1 of 1 times, now 0 of 1"]


def test_slower_by_more_than_allowed_is_a_regression(report: Report) -> None:
    now = copy.deepcopy(report)
    now["summary"]["latency"]["p95"] = 5.0
    assert regressions(now, report) == []
    (line,) = regressions(now, report, slower_by=1.5)
    assert line.startswith("latency p95: 5.00 s, 2.00 times")


def test_what_is_no_report_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"results": 3}))
    with pytest.raises(BadQuestionSet, match="is no report"):
        load_report(path)


def test_kept_results_are_those_that_were_written_without_errors_and_cut_lines(
    tmp_path: Path,
) -> None:
    path = tmp_path / "kept.jsonl"
    lost = GradedResult(ASKED[0], 2, Verdict("error"), Transcript(end="error"))
    away = GradedResult(ASKED[1], 2, Verdict("timeout"), Transcript(end="timeout", losses=3))
    with ResultFile(path) as file:
        for result in (*results(), lost, away):
            file.add(result)
    path.write_text(path.read_text() + '{"key": "a#3", "id"')
    assert load_results(path, ASKED, rounds=2) == results()


@pytest.mark.parametrize("cut", [b'{"key": "a#3", "id"', '{"answer": "值'.encode()[:-1]])
def test_what_comes_after_a_line_that_was_cut_off_is_kept(tmp_path: Path, cut: bytes) -> None:
    path = tmp_path / "kept.jsonl"
    path.write_bytes(cut)
    for result in results():
        with ResultFile(path) as file:
            file.add(result)
    assert load_results(path, ASKED, rounds=2) == results()


def test_an_answer_with_a_line_end_of_its_own_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    odd = GradedResult(
        ASKED[0], 1, Verdict("passed"), Transcript(end="answered", answer="a\u2028b\x85c")
    )
    with ResultFile(path) as file:
        file.add(odd)
    assert load_results(path, ASKED, rounds=1) == [odd]


def test_what_was_asked_again_counts_once_and_a_changed_question_is_asked_anew(
    tmp_path: Path,
) -> None:
    path = tmp_path / "kept.jsonl"
    again = GradedResult(ASKED[0], 1, Verdict("failed"), Transcript(end="answered"))
    later = GradedResult(ASKED[0], 2, Verdict("passed"), Transcript(end="answered"))
    with ResultFile(path) as file:
        for result in (*results(), again, later):
            file.add(result)
    assert load_results(path, ASKED, rounds=1) == [again, results()[1]]
    changed = [Question("How many, really?", "a"), ASKED[1]]
    assert load_results(path, changed, rounds=1) == results()[1:]


def test_a_page_needs_nothing_from_elsewhere(report: Report) -> None:
    page = as_html(report)
    assert not re.search(r"(?:src|href)=|url\(|@import|<script|https?://(?!127)", page)
