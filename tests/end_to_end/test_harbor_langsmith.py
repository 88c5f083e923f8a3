"""Harbor and LangSmith: data sets, traces and feedback, as a stand-in of its API records them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.conftest import StartServer
from tests.end_to_end.harbor import harbor, read
from tests.requirements import requirement
from tests.standins.langsmith_server import LangSmith, langsmith

QUESTIONS = [
    {"id": "right", "question": "!echo 42", "expected_keywords": ["42"], "category": "figures"},
    {"id": "wrong", "question": "!echo 41", "expected_answer": 42, "category": "figures"},
    {"id": "talk", "question": "!echo a", "follow_ups": [{"question": "!echo b"}]},
]
SECRET = "lsv2-secret-of-the-test"


def written(path: Path, questions: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(each)}\n" for each in questions), encoding="utf-8")
    return path


def settings(smith: LangSmith, **more: str) -> dict[str, str]:
    return {"LANGSMITH_API_KEY": SECRET, "LANGSMITH_ENDPOINT": smith.url, **more}


@pytest.mark.slow
@requirement("R28.1", "R28.2", "R28.4", "R28.5")
async def test_each_question_is_a_trace_with_its_result_as_feedback(
    start_server: StartServer, tmp_path: Path
) -> None:
    server = await start_server()
    questions = written(tmp_path / "set.jsonl", QUESTIONS)
    out, kept = tmp_path / "report.json", tmp_path / "kept.jsonl"
    words = ("run", str(questions), "--output", str(out), "--transcripts", str(kept))
    with langsmith() as smith:
        tracing = settings(smith, LANGSMITH_TRACING_V2="true", LANGSMITH_PROJECT="nightly")
        assert await harbor(server, *words, **tracing) == 1
        assert await harbor(server, *words, **tracing) == 1  # all is kept: sent again, as the same
    rows = {row["id"]: row for row in read(out)["results"]}
    runs = {run["extra"]["metadata"]["question_id"]: run for run in smith.runs.values()}
    assert len(smith.runs) == 4
    assert set(runs) == set(rows) == {"right", "wrong", "talk", "talk.1"}
    for name, run in runs.items():
        about = run["extra"]["metadata"]
        assert run["session_name"] == "nightly"
        assert about["category"] == rows[name]["category"]
        assert about["response_time"] == rows[name]["response_time"]
        assert run["outputs"]["answer"] == rows[name]["answer"]
    assert len(smith.feedback) == 8
    assert grades(smith) == {"right": 1.0, "wrong": 0.0, "talk": 1.0, "talk.1": 1.0}
    project = smith.projects["nightly"]["id"]
    assert {each["session_id"] for each in smith.feedback.values()} == {project}
    assert smith.keys == {SECRET}
    assert SECRET.encode() not in smith.raw


def grades(smith: LangSmith) -> dict[str, float]:
    """The score of each question, after what a feedback says of it was looked at."""
    found: dict[str, float] = {}
    for each in smith.feedback.values():
        about = each["feedback_source"]["metadata"]
        assert set(about) == {"question_id", "category", "response_time"}
        assert smith.runs[each["run_id"]]["extra"]["metadata"].items() >= about.items()
        if each["key"] == "passed":
            found[about["question_id"]] = each["score"]
        else:
            assert each["key"] == "response_time"
            assert each["score"] == pytest.approx(about["response_time"], abs=1e-4)
    return found


@pytest.mark.slow
@requirement("R28.3")
async def test_a_question_set_becomes_a_data_set_and_each_run_its_experiment(
    start_server: StartServer, tmp_path: Path
) -> None:
    server = await start_server()
    path = tmp_path / "set.jsonl"
    with langsmith() as smith:
        words = ("run", str(written(path, QUESTIONS)), "--langsmith-dataset", "shop")
        await harbor(server, *words, **settings(smith))
        first = {key: dict(each) for key, each in smith.examples.items()}
        changed = [{**QUESTIONS[0], "question": "!echo 43"}, *QUESTIONS[1:]]
        written(path, [*changed, {"id": "new", "question": "!echo 9"}])
        await harbor(server, *words, **settings(smith))
    assert list(smith.datasets) == ["shop"]
    assert len(first) == 4
    examples = {each["metadata"]["question_id"]: each for each in smith.examples.values()}
    assert set(examples) == {"right", "wrong", "talk", "talk.1", "new"}
    assert examples["right"]["inputs"] == {"question": "!echo 43"}
    assert examples["right"]["outputs"] == {"expected_keywords": ["42"]}
    assert first[examples["right"]["id"]]["inputs"] == {"question": "!echo 42"}
    assert examples["talk.1"]["metadata"]["follows"] == "talk"
    dataset = smith.datasets["shop"]["id"]
    experiments = [each["reference_dataset_id"] for each in smith.projects.values()]
    assert experiments == [dataset, dataset]
    assert {run["reference_example_id"] for run in smith.runs.values()} == set(smith.examples)


@pytest.mark.slow
@requirement("R28.1")
async def test_nothing_is_sent_without_being_asked_for(
    start_server: StartServer, tmp_path: Path
) -> None:
    server = await start_server()
    questions = written(tmp_path / "set.jsonl", QUESTIONS[:1])
    with langsmith() as smith:
        assert await harbor(server, "run", str(questions), **settings(smith)) == 0
        assert smith.raw == b""
        tracing = {"LANGSMITH_TRACING": "true", "LANGSMITH_ENDPOINT": smith.url}
        assert await harbor(server, "run", str(questions), **tracing) == 2  # without a key
        assert smith.raw == b""


@pytest.mark.slow
async def test_a_langsmith_that_refuses_takes_nothing_from_the_report(
    start_server: StartServer, tmp_path: Path
) -> None:
    server = await start_server()
    questions = written(tmp_path / "set.jsonl", QUESTIONS[:1])
    out = tmp_path / "report.json"
    words = ("run", str(questions), "--output", str(out))
    with langsmith() as smith:
        smith.refuses = True
        assert await harbor(server, *words, **settings(smith, LANGSMITH_TRACING="true")) == 0
    assert read(out)["summary"]["passed"] == 1
