"""000 R27, R28: Harbor grades a server, and LangSmith hears of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.running import Running, running
from tests.acceptance.states import states
from tests.programs import quick
from tests.standins.langsmith_server import LangSmith, langsmith

QUESTIONS: list[dict[str, Any]] = [
    {
        "question": "!echo There are 42 albums.",
        "expected_keywords": ["42", "albums"],
        "category": "count",
        "difficulty": "easy",
    },
    {
        "question": "!echo 2026-03-01",
        "expected_pattern": r"^\d{4}-\d{2}-\d{2}$",
        "category": "dates",
        "difficulty": "hard",
    },
    {"question": "!echo Nothing.", "expected_keywords": ["42"], "category": "count"},
    {"question": "!fail", "category": "failing"},
    {"question": "!slow 100000 50", "category": "slow"},
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("server")) as started:
        yield started


def harbor(
    server: Running, folder: Path, *words: str, questions: object = None, **env: str
) -> dict[str, Any]:
    """The report of a run over the questions."""
    path, report = folder / "questions.json", folder / "report.json"
    path.write_text(json.dumps(questions or QUESTIONS), encoding="utf-8")
    subprocess.run(
        [
            *(quick("dataagent-harbor"), "run", str(path), "--url", server.url),
            *("--output", str(report), *words),
        ],
        env={"DATAAGENT_API_KEY": "alice-key", "PATH": "", **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return json.loads(report.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", params=["rest", "ws"])
def report(
    request: pytest.FixtureRequest, server: Running, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """The report of the questions, asked in one way."""
    words = ("--mode", request.param, "--concurrency", "5", "--timeout", "3")
    return harbor(server, tmp_path_factory.mktemp("harbor"), *words)


@states("R27.1", "questions from a JSON file")
@states("R27.2", "question", "expected_keywords", "expected_pattern", "category", "difficulty")
@states("R27.3", "--concurrency")
@states("R27.6", "over REST", "over WebSocket")
@states("R27.4", "status passed", "status failed", "status timeout")
def test_each_question_has_its_status(report: dict[str, Any]) -> None:
    statuses = [each["status"] for each in report["results"]]
    assert [*statuses[:3], statuses[4]] == ["passed", "passed", "failed", "timeout"]


@states("R27.4", "status error")
def test_a_run_that_ended_in_an_error_is_an_error(report: dict[str, Any]) -> None:
    assert report["results"][3]["status"] == "error"
    assert report["summary"]["error"] == 1


@states("R27.4", "response_time", "matched_keywords")
def test_each_result_says_how_long_it_took_and_what_fitted(report: dict[str, Any]) -> None:
    first, second, third, *_ = report["results"]
    assert all(each["response_time"] > 0 for each in (first, second, third))
    assert set(first["matched_keywords"]) == {"42", "albums"}
    assert third["matched_keywords"] == []
    assert (first["category"], first["difficulty"]) == ("count", "easy")


@states("R27.5", "the rate of success", "the mean response time", "the failed cases")
def test_the_report_has_its_figures(report: dict[str, Any]) -> None:
    summary = report["summary"]
    assert (summary["total"], summary["passed"], summary["timeout"]) == (5, 2, 1)
    assert summary["failed"] + summary["error"] == 2
    assert summary["success_rate"] == pytest.approx(0.4)
    assert summary["latency"]["mean"] > 0
    assert len(report["failures"]) == 3
    assert {each["status"] for each in report["failures"]} <= {"failed", "error", "timeout"}


# -- R28: LangSmith ---------------------------------------------------------------------------


@pytest.fixture
def smith() -> Iterator[LangSmith]:
    with langsmith() as stand_in:
        yield stand_in


@states("R28.1", "LANGSMITH_API_KEY", "LANGSMITH_TRACING_V2")
@states("R28.2", "a trace for each question")
@states("R28.4", "results as feedback")
@states("R28.5", "question_id", "category", "response_time")
def test_each_question_is_traced_with_its_feedback(
    server: Running, smith: LangSmith, tmp_path: Path
) -> None:
    env = {
        "LANGSMITH_API_KEY": "a-key",
        "LANGSMITH_TRACING_V2": "true",
        "LANGSMITH_ENDPOINT": smith.url,
    }
    asked = [{"id": "one", **QUESTIONS[0]}, {"id": "two", **QUESTIONS[2]}]
    harbor(server, tmp_path, questions=asked, **env)
    about = {
        run["extra"]["metadata"]["question_id"]: run["extra"]["metadata"]
        for run in smith.runs.values()
    }
    assert set(about) == {"one", "two"}
    assert all(each["category"] == "count" for each in about.values())
    assert all(each["response_time"] > 0 for each in about.values())
    passed = {
        each["run_id"]: each["score"] for each in smith.feedback.values() if each["key"] == "passed"
    }
    assert sorted(passed.values()) == [0, 1]


@states("R28.3", "a data set of the questions")
def test_the_questions_become_a_data_set(server: Running, smith: LangSmith, tmp_path: Path) -> None:
    env = {
        "LANGSMITH_API_KEY": "a-key",
        "LANGSMITH_TRACING_V2": "true",
        "LANGSMITH_ENDPOINT": smith.url,
    }
    asked = [{"id": "one", **QUESTIONS[0]}]
    harbor(server, tmp_path, "--langsmith-dataset", "albums", questions=asked, **env)
    assert "albums" in str(smith.datasets)
    assert "There are 42 albums." in str(smith.examples)


@states("R28.1", "nothing is traced unless it is switched on")
def test_nothing_is_traced_unless_it_is_switched_on(
    server: Running, smith: LangSmith, tmp_path: Path
) -> None:
    asked = [{"id": "one", **QUESTIONS[0]}]
    harbor(server, tmp_path, questions=asked, LANGSMITH_ENDPOINT=smith.url)
    assert not smith.runs
