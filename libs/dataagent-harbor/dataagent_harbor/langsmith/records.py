"""What LangSmith is sent, as plain data. Pure functions: questions and results to records.

Ids are made from what they name, so that sending something twice makes one record, not two.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from dataagent_harbor.questions import Question
from dataagent_harbor.results import GradedResult

Record = dict[str, Any]
_EXPECTED = (
    "expected_keywords",
    "expected_pattern",
    "expected_answer",
    "expected_sql",
    "expected_tool",
    "must_refuse",
)


def example_id(dataset_id: uuid.UUID, question: Question) -> uuid.UUID:
    """The id of a question in a data set."""
    return uuid.uuid5(dataset_id, question.id)


def examples_of(dataset_id: uuid.UUID, questions: Iterable[Question]) -> list[Record]:
    """Each question and follow-up as an example."""
    return [
        {
            "id": example_id(dataset_id, question),
            "inputs": {"question": question.question},
            "reference_outputs": _expected(question),
            "metadata": {
                "question_id": question.id,
                "category": question.category,
                "difficulty": question.difficulty,
                "follows": None if question is one else one.id,
                **question.extra,
            },
        }
        for one in questions
        for question in one.in_order
    ]


def _expected(question: Question) -> Record:
    given: Record = {name: getattr(question, name) for name in _EXPECTED}
    given["expected_keywords"] = list(question.expected_keywords)
    return {name: value for name, value in given.items() if value not in (None, [], False)}


def trace_of(result: GradedResult, project: str) -> Record:
    """A result as a trace; the arguments of the LangSmith client's `create_run`."""
    told, question = result.transcript, result.question
    trace_id, start = trace_id_of(result, project), _start(result)
    return {
        "id": trace_id,
        "trace_id": trace_id,
        "dotted_order": f"{start:%Y%m%dT%H%M%S%f}Z{trace_id}",
        "name": question.id,
        "run_type": "chain",
        "project_name": project,
        "inputs": {"question": question.question},
        "outputs": {"answer": told.answer, "tools": list(told.tools)},
        "error": told.detail or told.end if told.end in ("error", "timeout") else None,
        "start_time": start,
        "end_time": start + timedelta(seconds=told.seconds),
        "tags": ["dataagent-harbor", question.category],
        "extra": {"metadata": metadata_of(result)},
    }


def metadata_of(result: GradedResult) -> Record:
    """What traces and feedback say of a question."""
    told, question = result.transcript, result.question
    return {
        "question_id": question.id,
        "category": question.category,
        "difficulty": question.difficulty,
        "round": result.round,
        "status": result.status,
        "response_time": told.seconds,
        "first_token_time": told.first_token_seconds,
        "thread_id": told.session_id,
        "dataagent_run_id": told.run_id,
    }


def feedback_of(result: GradedResult, project: str) -> Iterator[Record]:
    """The grade and the time; the arguments of the LangSmith client's `create_feedback`."""
    trace_id = trace_id_of(result, project)
    about = metadata_of(result)
    given = {name: about[name] for name in ("question_id", "category", "response_time")}
    shared: Record = {
        "run_id": trace_id,
        "trace_id": trace_id,
        "start_time": _start(result),
        "source_info": given,
    }
    reasons = "; ".join(result.verdict.reasons)
    yield {
        **shared,
        "feedback_id": uuid.uuid5(trace_id, "passed"),
        "key": "passed",
        "score": float(result.status == "passed"),
        "value": result.status,
        "comment": reasons or None,
    }
    yield {
        **shared,
        "feedback_id": uuid.uuid5(trace_id, "response_time"),
        "key": "response_time",
        "score": result.transcript.seconds,
    }


def trace_id_of(result: GradedResult, project: str) -> uuid.UUID:
    """The id of a result's trace: a version 7 UUID of the moment it was asked."""
    told = result.transcript
    named = f"{project}\n{result.key}\n{told.session_id}\n{told.run_id}"
    chance = int.from_bytes(hashlib.sha256(named.encode()).digest()[:10])
    value = int(told.asked_at * 1000) << 80 | chance & ((1 << 76) - 1)
    value = value & ~(0x3 << 62) | 0x2 << 62  # the variant of RFC 9562
    return uuid.UUID(int=value | 0x7 << 76)


def _start(result: GradedResult) -> datetime:
    return datetime.fromtimestamp(result.transcript.asked_at, UTC)
