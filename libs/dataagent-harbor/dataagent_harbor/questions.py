"""Questions with what their answers must contain, and sets of them in JSON, JSONL and CSV files.

A JSON set is an array, or an object with the array under `questions`; a JSONL set has one question
a line; a CSV set has the fields' names in its first line, keywords separated by `|`.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any, Literal, cast, get_args

Difficulty = Literal["easy", "medium", "hard"]


class BadQuestionSet(ValueError):
    """A file is not a question set; the message says where and what is wrong."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question; its answer must meet everything it expects. `extra` holds your own fields.

    `follow_ups` are asked in the same conversation, and each is graded for itself.
    """

    question: str
    id: str
    expected_keywords: tuple[str, ...] = ()
    expected_pattern: str | None = None
    expected_answer: str | float | None = None
    """A figure that the answer must name, give or take `tolerance`, or a text it must contain."""
    tolerance: float = 0.0
    expected_sql: str | None = None
    """The answer's table must hold the rows of this statement, asked of `source`."""
    source: str | None = None
    expected_tool: str | None = None
    must_refuse: bool = False
    category: str = "general"
    difficulty: Difficulty = "medium"
    follow_ups: tuple[Question, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        """Reject what could not be asked or graded."""
        if not self.question.strip():
            raise BadQuestionSet("'question' is empty")
        if self.difficulty not in get_args(Difficulty):
            allowed = ", ".join(get_args(Difficulty))
            raise BadQuestionSet(f"'difficulty' is {self.difficulty!r}; use one of: {allowed}")
        if self.tolerance < 0:
            raise BadQuestionSet(f"'tolerance' is {self.tolerance}; it cannot be below zero")
        if self.expected_pattern is not None:
            try:
                re.compile(self.expected_pattern)
            except re.error as error:
                raise BadQuestionSet(
                    f"'expected_pattern' is not a regular expression: {error}"
                ) from error

    @property
    def in_order(self) -> tuple[Question, ...]:
        """The question and its follow-ups, as they are asked."""
        return (self, *self.follow_ups)


_SHIPPED = "sample"
_NO = {"", "0", "false", "no"}
_YES = {"1", "true", "yes"}


def named_questions(name: str) -> list[Question]:
    """The set of a file, or the shipped one for `sample`.

    Raises:
        BadQuestionSet: as `load_questions`.
    """
    if name != _SHIPPED:
        return load_questions(name)
    with resources.as_file(resources.files("dataagent_harbor") / "sets" / "sample.jsonl") as path:
        return load_questions(path)


def load_questions(path: Path | str) -> list[Question]:
    """Read a question set. Questions without an `id` get their position, from 1.

    Raises:
        BadQuestionSet: the file is missing, cannot be parsed, or a question is wrong.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadQuestionSet(f"{path}: cannot be read: {error}") from error
    rows = enumerate(_rows(path, text), start=1)
    questions = [_question(place, str(position), row) for position, (place, row) in rows]
    if not questions:
        raise BadQuestionSet(f"{path}: has no questions")
    _reject_duplicates(path, questions)
    return questions


def _rows(path: Path, text: str) -> Iterator[tuple[str, object]]:
    """Each raw question with its place in the file."""
    match path.suffix.lower():
        case ".jsonl":
            for number, line in enumerate(text.split("\n"), start=1):  # no other line end: U+2028 …
                if line.strip():
                    place = f"{path}, line {number}"
                    yield place, _parse(place, line)
        case ".csv":
            yield from _csv_rows(path, text)
        case _:
            yield from _json_rows(path, text)


def _csv_rows(path: Path, text: str) -> Iterator[tuple[str, object]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            yield f"{path}, line {reader.line_num}", _from_csv(row)
    except csv.Error as error:
        place = f"{path}, line {reader.reader.line_num}"
        raise BadQuestionSet(f"{place}: not CSV: {error}") from error


def _json_rows(path: Path, text: str) -> Iterator[tuple[str, object]]:
    data = _parse(str(path), text)
    if isinstance(data, dict):
        data = cast("dict[str, object]", data).get("questions")  # JSON objects have text keys
    if not isinstance(data, list):
        raise BadQuestionSet(f"{path}: expected a list of questions, or an object with 'questions'")
    for position, row in enumerate(cast("list[object]", data), start=1):
        yield f"{path}, question {position}", row


def _parse(place: str, text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BadQuestionSet(f"{place}: not JSON: {error}") from error


def _from_csv(row: Mapping[str | None, Any]) -> dict[str, object]:
    """A line of a CSV set as its JSON form; empty cells are left out."""
    if None in row:
        return {"question": 0}  # more cells than names: rejected as a question that is not text
    values: dict[str, object] = {str(name): cell for name, cell in row.items() if cell}
    if isinstance(words := values.get("expected_keywords"), str):
        values["expected_keywords"] = [word.strip() for word in words.split("|") if word.strip()]
    for name in ("tolerance", "expected_answer"):
        if isinstance(cell := values.get(name), str):
            values[name] = _as_number(cell)
    if isinstance(cell := values.get("must_refuse"), str) and cell.lower() in _NO | _YES:
        values["must_refuse"] = cell.lower() in _YES
    return values


def _as_number(cell: str) -> str | float:
    try:
        number = float(cell)
    except ValueError:
        return cell
    return number if math.isfinite(number) else cell  # `Nan` may be a name


# -- one question -------------------------------------------------------------------------------


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise BadQuestionSet(f"must be text, found {type(value).__name__}")
    return value


def _keywords(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise BadQuestionSet("must be a list of text")
    return tuple(_text(one) for one in cast("list[object]", value))


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadQuestionSet(f"must be a number, found {type(value).__name__}")
    return float(value)


def _answer(value: object) -> str | float:
    return value if isinstance(value, str) else _number(value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise BadQuestionSet(f"must be true or false, found {type(value).__name__}")
    return value


_PARSERS: dict[str, Callable[[object], object]] = {
    "question": _text,
    "expected_keywords": _keywords,
    "expected_pattern": _text,
    "expected_answer": _answer,
    "tolerance": _number,
    "expected_sql": _text,
    "source": _text,
    "expected_tool": _text,
    "must_refuse": _flag,
    "category": _text,
    "difficulty": _text,
}


def _question(place: str, position: str, row: object) -> Question:
    if not isinstance(row, dict):
        raise BadQuestionSet(f"{place}: expected an object, found {type(row).__name__}")
    values = dict(cast("dict[str, object]", row))  # JSON objects have text keys
    given = values.pop("id", None)
    name = position if given is None else str(given)
    further: object = values.pop("follow_ups", None)
    if further is None:
        further = list[object]()
    if not isinstance(further, list):
        raise BadQuestionSet(f"{place}: 'follow_ups' must be a list of questions")
    followers = tuple(
        _question(f"{place}, follow-up {number}", f"{name}.{number}", one)
        for number, one in enumerate(cast("list[object]", further), start=1)
    )
    known = {key: _parsed(place, key, values.pop(key)) for key in _PARSERS if _has(values, key)}
    if "question" not in known:
        raise BadQuestionSet(f"{place}: 'question' is missing")
    own = {one.name for one in fields(Question)}
    extra = {key: value for key, value in values.items() if key not in own}
    try:
        return Question(id=name, follow_ups=followers, extra=extra, **cast("dict[str, Any]", known))
    except BadQuestionSet as error:
        raise BadQuestionSet(f"{place}: {error}") from error


def _has(values: Mapping[str, object], name: str) -> bool:
    return values.get(name) is not None


def _parsed(place: str, name: str, value: object) -> object:
    try:
        return _PARSERS[name](value)
    except BadQuestionSet as error:
        raise BadQuestionSet(f"{place}: {name!r} {error}") from error


def _reject_duplicates(path: Path, questions: list[Question]) -> None:
    seen: set[str] = set()
    for question in (each for one in questions for each in one.in_order):
        if question.id in seen:
            raise BadQuestionSet(f"{path}: the id {question.id!r} is used twice")
        seen.add(question.id)
