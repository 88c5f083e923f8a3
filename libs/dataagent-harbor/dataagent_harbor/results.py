"""A graded question, and the file of them: a line each with the whole transcript.

A run that was stopped continues from this file.
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
    """The key of a question in a round."""
    return question.id if round_number == 1 else f"{question.id}#{round_number}"


class ResultFile:
    """Appends results to a file as they arrive. Use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: FileIO

    def __enter__(self) -> ResultFile:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("ab", buffering=0)  # unbuffered: closing cannot fail
        if not _has_whole_lines(self._path):
            self._write(b"\n")  # after a line that was cut off
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, result: GradedResult) -> None:
        """Write a result to the operating system.

        Raises:
            OSError: it cannot be written; the error names the file, which has the earlier results.
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

    Left out, and so asked again: errors, time-outs while the server was unavailable, questions that
    have changed since, and a line that was cut off.
    """
    by_id = {each.id: each for one in questions for each in one.in_order}
    results: dict[str, GradedResult] = {}
    for line in _lines(path):
        question = by_id.get(str(line.get("id")))
        is_same = question is not None and line.get("question") == question.question
        if question is not None and is_same and line["round"] <= rounds:
            results[line["key"]] = _result(question, line)
    return [each for each in results.values() if not _is_unfinished(each)]


def _is_unfinished(result: GradedResult) -> bool:
    """Whether there was no answer to grade: an error, or a time-out of an unavailable server."""
    is_affected = result.status == "timeout" and result.transcript.is_affected
    return result.status == "error" or is_affected


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    for line in path.read_bytes().split(b"\n"):  # text in JSON may have other line ends
        try:
            yield cast("dict[str, Any]", json.loads(line))  # as `to_dict` wrote it
        except ValueError:  # cut off, perhaps in the middle of a character
            continue


def _result(question: Question, line: dict[str, Any]) -> GradedResult:
    transcript = dict(line["transcript"])
    for name in ("tools", "failed_tools", "table_ids", "events"):
        transcript[name] = tuple(transcript[name])
    checks = tuple(Check(**each) for each in line["checks"])
    verdict = Verdict(line["status"], checks, tuple(line["matched_keywords"]))
    return GradedResult(question, line["round"], verdict, Transcript(**transcript))
