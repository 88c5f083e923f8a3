"""A question set and how it is read from a file.

A set is a JSON array, an object with the array under `questions`, or JSONL: one question a line.
Reading is strict, because a question with a misspelt field would be graded as passed. Running and
grading are not here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, cast, get_args

Difficulty = Literal["easy", "medium", "hard"]


class BadQuestionSet(ValueError):
    """The file is not a question set; the message says where and what is wrong."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question with what its answer must contain. `extra` holds fields that are yours."""

    question: str
    id: str
    expected_keywords: tuple[str, ...] = ()
    expected_pattern: str | None = None
    category: str = "general"
    difficulty: Difficulty = "medium"
    extra: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        """Refuse what could not be asked or graded."""
        if not self.question.strip():
            raise BadQuestionSet("'question' is empty")
        if self.difficulty not in get_args(Difficulty):
            allowed = ", ".join(get_args(Difficulty))
            raise BadQuestionSet(f"'difficulty' is {self.difficulty!r}; use one of: {allowed}")
        if self.expected_pattern is not None:
            try:
                re.compile(self.expected_pattern)
            except re.error as error:
                raise BadQuestionSet(
                    f"'expected_pattern' is no regular expression: {error}"
                ) from error


def load_questions(path: Path | str) -> list[Question]:
    """Read a question set. Questions without an `id` get their position, from 1.

    Raises:
        BadQuestionSet: the file is missing, is not JSON, or a question is wrong.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadQuestionSet(f"{path}: cannot be read: {error}") from error
    questions = [_question(place, position, row) for position, (place, row) in _rows(path, text)]
    if not questions:
        raise BadQuestionSet(f"{path}: has no questions")
    _refuse_doubles(path, questions)
    return questions


def _rows(path: Path, text: str) -> Iterator[tuple[int, tuple[str, object]]]:
    """Each raw question with its position and where it stands."""
    if path.suffix == ".jsonl":
        lines = [(n, line) for n, line in enumerate(text.splitlines(), start=1) if line.strip()]
        for position, (number, line) in enumerate(lines, start=1):
            place = f"{path}, line {number}"
            yield position, (place, _parse(place, line))
        return
    data = _parse(str(path), text)
    if isinstance(data, dict):
        data = cast("dict[str, object]", data).get("questions")  # JSON objects have text keys
    if not isinstance(data, list):
        raise BadQuestionSet(f"{path}: expected a list of questions, or an object with 'questions'")
    for position, row in enumerate(cast("list[object]", data), start=1):  # of whatever JSON holds
        yield position, (f"{path}, question {position}", row)


def _parse(place: str, text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BadQuestionSet(f"{place}: not JSON: {error}") from error


def _question(place: str, position: int, row: object) -> Question:
    if not isinstance(row, dict):
        raise BadQuestionSet(f"{place}: expected an object, found {type(row).__name__}")
    values = dict(cast("dict[str, object]", row))  # JSON objects have text keys
    text = {
        name: _text(place, name, values.pop(name))
        for name in ("question", "expected_pattern", "category", "difficulty")
        if values.get(name) is not None
    }
    if "question" not in text:
        raise BadQuestionSet(f"{place}: 'question' is missing")
    keywords = _keywords(place, values.pop("expected_keywords", None))
    number = values.pop("id", None)
    own = {one.name for one in fields(Question)}
    try:
        return Question(
            id=str(position if number is None else number),
            expected_keywords=keywords,
            extra={name: value for name, value in values.items() if name not in own},
            **cast("dict[str, Any]", text),  # each is a field of that name, checked above
        )
    except BadQuestionSet as error:
        raise BadQuestionSet(f"{place}: {error}") from error


def _text(place: str, name: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadQuestionSet(f"{place}: {name!r} must be text, found {type(value).__name__}")
    return value


def _keywords(place: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise BadQuestionSet(f"{place}: 'expected_keywords' must be a list of text")
    return tuple(_text(place, "expected_keywords", one) for one in cast("list[object]", value))


def _refuse_doubles(path: Path, questions: list[Question]) -> None:
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise BadQuestionSet(f"{path}: the id {question.id!r} stands twice")
        seen.add(question.id)
