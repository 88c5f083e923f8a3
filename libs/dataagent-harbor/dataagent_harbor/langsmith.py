"""Sends a run to LangSmith with LangSmith's own client, configured by LANGSMITH_* variables.

It is sent in a thread after the run, so that it is in no question's latency; what LangSmith rejects
is reported and raises nothing. Ids are derived from what they name, so that sending something twice
makes one record.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, cast

from dataagent_harbor.questions import BadQuestionSet, Question
from dataagent_harbor.results import GradedResult

Fields = dict[str, Any]


class Identified(Protocol):
    """A LangSmith data set or project."""

    id: uuid.UUID


class DatasetExample(Protocol):
    """A question of a LangSmith data set."""

    id: uuid.UUID
    inputs: dict[str, Any] | None
    outputs: dict[str, Any] | None


class Queue(Protocol):
    """The client's queue of what is still to be sent."""

    unfinished_tasks: int


class LangSmithClient(Protocol):
    """The part of `langsmith.Client` that is used here, with its types."""

    tracing_queue: Queue | None

    def has_dataset(self, *, dataset_name: str) -> bool:
        """Whether there is a data set of that name."""
        ...

    def read_dataset(self, *, dataset_name: str) -> Identified:
        """The data set of that name."""
        ...

    def create_dataset(self, dataset_name: str, *, description: str) -> Identified:
        """Create a data set."""
        ...

    def list_examples(self, *, dataset_id: uuid.UUID) -> Iterator[DatasetExample]:
        """The examples of a data set."""
        ...

    def create_examples(self, *, dataset_id: uuid.UUID, examples: Sequence[Fields]) -> object:
        """Add examples to a data set."""
        ...

    def update_examples(self, *, dataset_id: uuid.UUID, updates: Sequence[Fields]) -> object:
        """Change examples of a data set."""
        ...

    def create_project(
        self,
        project_name: str,
        *,
        upsert: bool,
        reference_dataset_id: uuid.UUID | None,
        metadata: Fields,
    ) -> Identified:
        """Create a project, or return the one of that name."""
        ...

    def create_run(self, **run: Any) -> None:
        """Queue a trace."""
        ...

    def create_feedback(self, **feedback: Any) -> object:
        """Queue a feedback."""
        ...

    def flush(self, timeout: float) -> None:
        """Wait until the queue is sent."""
        ...

    def close(self, *, timeout: float) -> None:
        """End the client's threads."""
        ...


def open_client(report_error: Callable[[Exception], None]) -> LangSmithClient:
    """A client configured by the environment; `report_error` gets what could not be sent."""
    from langsmith import Client

    # its methods are typed only in part
    return cast("LangSmithClient", Client(tracing_error_callback=report_error))


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
    transcript, question = result.transcript, result.question
    trace_id, start = trace_id_of(result, project), _start(result)
    return {
        "id": trace_id,
        "trace_id": trace_id,
        "dotted_order": f"{start:%Y%m%dT%H%M%S%f}Z{trace_id}",
        "name": question.id,
        "run_type": "chain",
        "project_name": project,
        "inputs": {"question": question.question},
        "outputs": {"answer": transcript.answer, "tools": list(transcript.tools)},
        "error": (
            transcript.detail or transcript.end if transcript.end in ("error", "timeout") else None
        ),
        "start_time": start,
        "end_time": start + timedelta(seconds=transcript.seconds),
        "tags": ["dataagent-harbor", question.category],
        "extra": {"metadata": metadata_of(result)},
    }


def metadata_of(result: GradedResult) -> Record:
    """The metadata of a question's trace and feedback."""
    transcript, question = result.transcript, result.question
    return {
        "question_id": question.id,
        "category": question.category,
        "difficulty": question.difficulty,
        "round": result.round,
        "status": result.status,
        "response_time": transcript.seconds,
        "first_token_time": transcript.first_token_seconds,
        "thread_id": transcript.session_id,
        "dataagent_run_id": transcript.run_id,
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
    transcript = result.transcript
    named = f"{project}\n{result.key}\n{transcript.session_id}\n{transcript.run_id}"
    digest = int.from_bytes(hashlib.sha256(named.encode()).digest()[:10])
    value = int(transcript.asked_at * 1000) << 80 | digest & ((1 << 76) - 1)
    value = value & ~(0x3 << 62) | 0x2 << 62  # the variant of RFC 9562
    return uuid.UUID(int=value | 0x7 << 76)


def _start(result: GradedResult) -> datetime:
    return datetime.fromtimestamp(result.transcript.asked_at, UTC)


_FLUSH_SECONDS = 60.0


def open_experiment(dataset: str | None, set_name: str) -> Experiment | None:
    """The experiment of this run; None if neither the environment nor a data set requests it.

    Raises:
        BadQuestionSet: it is requested, and a key or the package is missing.
    """
    if dataset is None and not _is_tracing():
        return None
    if importlib.util.find_spec("langsmith") is None:
        raise BadQuestionSet(
            "LangSmith is requested, but its package is not installed; "
            "pip install 'dataagent-harbor[langsmith]', or unset LANGSMITH_TRACING"
        )
    if not (os.environ.get("LANGSMITH_API_KEY") or os.environ.get("LANGCHAIN_API_KEY")):
        raise BadQuestionSet("LangSmith is requested; set LANGSMITH_API_KEY")
    return Experiment(dataset, Path(set_name).stem)


def _is_tracing() -> bool:
    names = ("TRACING_V2", "TRACING")
    values = (
        os.environ.get(f"{start}_{name}") for start in ("LANGSMITH", "LANGCHAIN") for name in names
    )
    return any((value or "").lower() == "true" for value in values)


class Experiment:
    """One run of a set as a LangSmith project."""

    def __init__(self, dataset: str | None, set_name: str) -> None:
        self._dataset = dataset
        named = os.environ.get("LANGSMITH_PROJECT") or os.environ.get("LANGCHAIN_PROJECT")
        if dataset is not None:  # an experiment is a project of its own
            moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
            named = f"{named or set_name}-{moment}-{uuid.uuid4().hex[:4]}"
        self.project = named or "dataagent-harbor"
        self._problems: list[str] = []

    async def record(
        self, questions: Sequence[Question], results: Sequence[GradedResult]
    ) -> list[str]:
        """Send everything; return what went wrong, a line each."""
        await asyncio.to_thread(self._record, questions, results)
        return list(dict.fromkeys(self._problems))

    def _record(self, questions: Sequence[Question], results: Sequence[GradedResult]) -> None:
        from langsmith.utils import LangSmithError

        client = open_client(self._note)
        try:
            dataset_id = self._ensure_dataset(client, questions)
            project = client.create_project(
                self.project,
                upsert=True,
                reference_dataset_id=dataset_id,
                metadata={"source": "dataagent-harbor"},
            )
            for result in results:
                self._send(client, result, project.id, dataset_id)
            self._flush(client)
        except (LangSmithError, OSError, ValueError) as error:
            self._note(error)
        finally:
            client.close(timeout=0)

    def _flush(self, client: LangSmithClient) -> None:
        client.flush(_FLUSH_SECONDS)
        if client.tracing_queue is not None and client.tracing_queue.unfinished_tasks:
            self._note(TimeoutError(f"not sent within {_FLUSH_SECONDS:.0f} s"))

    def _note(self, error: Exception) -> None:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        self._problems.append(f"LangSmith did not accept everything: {first[:300]}")

    def _ensure_dataset(
        self, client: LangSmithClient, questions: Sequence[Question]
    ) -> uuid.UUID | None:
        """The data set with these questions, created or updated."""
        if self._dataset is None:
            return None
        if client.has_dataset(dataset_name=self._dataset):
            dataset = client.read_dataset(dataset_name=self._dataset)
        else:
            dataset = client.create_dataset(
                self._dataset, description="Questions of dataagent-harbor"
            )
        stored = {each.id: each for each in client.list_examples(dataset_id=dataset.id)}
        wanted = examples_of(dataset.id, questions)
        new = [each for each in wanted if each["id"] not in stored]
        changed = [
            each for each in wanted if each["id"] in stored and _differs(stored[each["id"]], each)
        ]
        if new:
            client.create_examples(dataset_id=dataset.id, examples=new)
        if changed:
            client.update_examples(dataset_id=dataset.id, updates=changed)
        return dataset.id

    def _send(
        self,
        client: LangSmithClient,
        result: GradedResult,
        project_id: uuid.UUID,
        dataset_id: uuid.UUID | None,
    ) -> None:
        trace = trace_of(result, self.project)
        if dataset_id is not None:
            trace["reference_example_id"] = example_id(dataset_id, result.question)
        client.create_run(**trace)
        for feedback in feedback_of(result, self.project):
            client.create_feedback(session_id=project_id, **feedback)


def _differs(stored: DatasetExample, wanted: dict[str, Any]) -> bool:
    return (stored.inputs, stored.outputs) != (wanted["inputs"], wanted["reference_outputs"])
