"""A graded question, and the file that keeps them: one line each, written as they come.

The file is what a run is taken up from after it was stopped, and holds every transcript.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any, cast

from dataagent_harbor.questions import Question
from dataagent_harbor.scoring import Check, Status, Verdict
from dataagent_harbor.transcripts import Transcript


@dataclass(frozen=True, slots=True)
class GradedResult:
    """One question of one round. `key` names it in the file."""

    question: Question
    round: int
    verdict: Verdict
    transcript: Transcript

    @property
    def key(self) -> str:
        """The question's id and, after the first round, which round it was."""
        return key_of(self.question, self.round)

    @property
    def status(self) -> Status:
        """How it was answered."""
        return self.verdict.status

    def to_dict(self) -> dict[str, Any]:
        """JSON form, with the whole transcript."""
        return {
            "key": self.key,
            "id": self.question.id,
            "question": self.question.question,
            "round": self.round,
            "status": self.status,
            "matched_keywords": list(self.verdict.matched_keywords),
            "checks": [
                {"name": each.name, "is_met": each.is_met, "detail": each.detail}
                for each in self.verdict.checks
            ],
            "transcript": self.transcript.to_dict(),
        }


def key_of(question: Question, round_number: int) -> str:
    """What names a question of a round."""
    return question.id if round_number == 1 else f"{question.id}#{round_number}"


class ResultFile:
    """Results on the disk. Use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: FileIO

    def __enter__(self) -> ResultFile:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("ab", buffering=0)  # what is left to write fails no closing
        if not _has_whole_lines(self._path):
            self._write(b"\n")  # what is added stands on lines of its own
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, result: GradedResult) -> None:
        """Write a result; it is on its way to the disk when this returns.

        Raises:
            OSError: it cannot be written; it names the file. What was written before is there.
        """
        self._write(json.dumps(result.to_dict(), ensure_ascii=False).encode() + b"\n")

    def _write(self, line: bytes) -> None:
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._path)) from error


def _has_whole_lines(path: Path) -> bool:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        return file.read() in (b"", b"\n")


def load_results(path: Path, questions: list[Question], *, rounds: int) -> list[GradedResult]:
    """Results of an earlier, unfinished run, each question of a round once.

    Left out, and so asked again: errors, what timed out while the server was away, questions that
    were changed since, and a line that was cut off in the middle.
    """
    by_id = {each.id: each for one in questions for each in one.in_order}
    found: dict[str, GradedResult] = {}
    for line in _lines(path):
        question = by_id.get(str(line.get("id")))
        is_same = question is not None and line.get("question") == question.question
        if question is not None and is_same and line["round"] <= rounds:
            found[line["key"]] = _result(question, line)
    return [each for each in found.values() if not _is_unfinished(each)]


def _is_unfinished(result: GradedResult) -> bool:
    """Whether it says nothing of the answer: an error, or a time-out while the server was away."""
    is_away = result.status == "timeout" and result.transcript.is_affected
    return result.status == "error" or is_away


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    for line in path.read_bytes().split(b"\n"):  # the only line end that JSON does not write
        try:
            yield cast("dict[str, Any]", json.loads(line))  # as `to_dict` wrote it
        except ValueError:  # cut off, perhaps in the middle of a character
            continue


def _result(question: Question, found: dict[str, Any]) -> GradedResult:
    told = dict(found["transcript"])
    for name in ("tools", "failed_tools", "table_ids", "events"):
        told[name] = tuple(told[name])
    checks = tuple(Check(**each) for each in found["checks"])
    verdict = Verdict(found["status"], checks, tuple(found["matched_keywords"]))
    return GradedResult(question, found["round"], verdict, Transcript(**told))
