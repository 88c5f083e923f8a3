"""Question sets are read whole or refused with the place and the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dataagent_harbor import BadQuestionSet, Question, load_questions
from tests.requirements import requirement

FULL = {
    "id": "albums",
    "question": "How many albums are there?",
    "expected_keywords": ["347"],
    "expected_pattern": r"\b347\b",
    "category": "count",
    "difficulty": "easy",
    "owner": "sales",
}


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@requirement("R27.1", "R27.2")
@pytest.mark.parametrize("is_wrapped", [False, True])
def test_a_json_set_is_read_with_every_field(tmp_path: Path, *, is_wrapped: bool) -> None:
    rows = [FULL, {"question": "And artists?"}]
    path = written(tmp_path, "set.json", json.dumps({"questions": rows} if is_wrapped else rows))
    assert load_questions(path) == [
        Question(
            question="How many albums are there?",
            id="albums",
            expected_keywords=("347",),
            expected_pattern=r"\b347\b",
            category="count",
            difficulty="easy",
            extra={"owner": "sales"},
        ),
        Question(question="And artists?", id="2"),
    ]


@requirement("R27.1")
def test_a_jsonl_set_is_read_line_by_line_past_empty_lines(tmp_path: Path) -> None:
    path = written(tmp_path, "set.jsonl", '{"question": "a"}\n\n{"question": "b", "id": 9}\n')
    assert [(one.id, one.question) for one in load_questions(path)] == [("1", "a"), ("9", "b")]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.json", "[", r"a\.json: not JSON"),
        ("a.json", "3", "expected a list of questions"),
        ("a.json", '{"items": []}', "expected a list of questions"),
        ("a.json", "[]", "has no questions"),
        ("a.json", '["what?"]', "question 1: expected an object, found str"),
        ("a.json", '[{"text": "a"}]', "question 1: 'question' is missing"),
        ("a.json", '[{"question": " "}]', "question 1: 'question' is empty"),
        ("a.json", '[{"question": 5}]', "'question' must be text, found int"),
        ("a.json", '[{"question": "a", "expected_keywords": "b"}]', "must be a list of text"),
        ("a.json", '[{"question": "a", "expected_keywords": [1]}]', "must be text, found int"),
        ("a.json", '[{"question": "a", "expected_pattern": "("}]', "not a regular expression"),
        ("a.json", '[{"question": "a", "difficulty": "mild"}]', "use one of: easy, medium, hard"),
        ("a.json", '[{"question": "a", "id": 1}, {"question": "b", "id": "1"}]', "is used twice"),
        ("a.jsonl", '{"question": "a"}\n\n{', "line 3: not JSON"),
        ("a.json", '[{"question": "a", "tolerance": -1}]', "cannot be below zero"),
        ("a.json", '[{"question": "a", "must_refuse": "yes"}]', "must be true or false"),
        ("a.json", '[{"question": "a", "expected_answer": true}]', "must be a number"),
        ("a.json", '[{"question": "a", "follow_ups": [{}]}]', "follow-up 1: 'question' is missing"),
        ("a.csv", "question\na,b\n", "line 2: 'question' must be text"),
        ("a.csv", 'question\n"a"b\n', "line 2: not CSV"),
        ("a.csv", "question,tolerance\na,nan\n", "'tolerance' must be a number"),
        ("a.csv", "question,tolerance\na,much\n", "'tolerance' must be a number"),
    ],
)
def test_a_bad_set_is_refused_with_place_and_reason(
    tmp_path: Path, name: str, text: str, reason: str
) -> None:
    with pytest.raises(BadQuestionSet, match=reason):
        load_questions(written(tmp_path, name, text))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadQuestionSet, match="cannot be read"):
        load_questions(tmp_path / "none.json")


@requirement("R27.2")
def test_a_csv_set_is_read_with_numbers_flags_and_keywords(tmp_path: Path) -> None:
    text = (
        "\ufeffid,question,expected_keywords,expected_answer,tolerance,must_refuse,owner\n"
        'a,"How many,\nin all?",Rock | Jazz,"12.5",0.5,,sales\n'
        "b,Delete it,,,,yes,\n"
    )
    assert load_questions(written(tmp_path, "set.csv", text)) == [
        Question(
            "How many,\nin all?",
            "a",
            expected_keywords=("Rock", "Jazz"),
            expected_answer=12.5,
            tolerance=0.5,
            extra={"owner": "sales"},
        ),
        Question("Delete it", "b", must_refuse=True),
    ]


def test_follow_ups_have_ids_of_their_own(tmp_path: Path) -> None:
    row = {"id": "x", "question": "a", "follow_ups": [{"question": "b"}, {"question": "c"}]}
    (question,) = load_questions(written(tmp_path, "set.json", json.dumps([row])))
    assert [(each.id, each.question) for each in question.in_order] == [
        ("x", "a"),
        ("x.1", "b"),
        ("x.2", "c"),
    ]


def test_names_that_look_like_numbers_are_names(tmp_path: Path) -> None:
    text = "question,expected_answer\nWho sold most?,Nan\n"
    assert load_questions(written(tmp_path, "set.csv", text))[0].expected_answer == "Nan"


def test_a_line_of_jsonl_ends_with_a_newline_and_nothing_else(tmp_path: Path) -> None:
    line = json.dumps({"question": "one\u2028two"}, ensure_ascii=False)
    (found,) = load_questions(written(tmp_path, "set.jsonl", f"{line}\n"))
    assert found.question == "one\u2028two"
