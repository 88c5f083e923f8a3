"""Sends a run to LangSmith with its own client, as LANGSMITH_* says. In a thread, after the run.

Nothing is sent while questions are asked: it would be in their latency. What LangSmith refuses is
told as a problem and raises nothing. Shapes are in `records.py`.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dataagent_harbor.langsmith.client import DatasetExample, LangSmithClient, open_client
from dataagent_harbor.langsmith.records import example_id, examples_of, feedback_of, trace_of
from dataagent_harbor.questions import BadQuestionSet, Question
from dataagent_harbor.results import GradedResult

_FLUSH_SECONDS = 60.0


def open_experiment(dataset: str | None, set_name: str) -> Experiment | None:
    """Where this run is recorded; None if neither the environment nor a data set asks for it.

    Raises:
        BadQuestionSet: it is asked for and cannot be: a key or the package is missing.
    """
    if dataset is None and not _is_tracing():
        return None
    if importlib.util.find_spec("langsmith") is None:
        raise BadQuestionSet(
            "LangSmith is asked for, and its package is not installed; "
            "pip install 'dataagent-harbor[langsmith]', or unset LANGSMITH_TRACING"
        )
    if not (os.environ.get("LANGSMITH_API_KEY") or os.environ.get("LANGCHAIN_API_KEY")):
        raise BadQuestionSet("LangSmith is asked for; set LANGSMITH_API_KEY")
    return Experiment(dataset, Path(set_name).stem)


def _is_tracing() -> bool:
    names = ("TRACING_V2", "TRACING")
    values = (
        os.environ.get(f"{start}_{name}") for start in ("LANGSMITH", "LANGCHAIN") for name in names
    )
    return any((value or "").lower() == "true" for value in values)


class Experiment:
    """One run of a set, as a project of LangSmith."""

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
        """Send everything; what went wrong, a line each."""
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
        self._problems.append(f"LangSmith did not take everything: {first[:300]}")

    def _ensure_dataset(
        self, client: LangSmithClient, questions: Sequence[Question]
    ) -> uuid.UUID | None:
        """The data set with these questions in it, made or brought up to date."""
        if self._dataset is None:
            return None
        if client.has_dataset(dataset_name=self._dataset):
            dataset = client.read_dataset(dataset_name=self._dataset)
        else:
            dataset = client.create_dataset(
                self._dataset, description="Questions of dataagent-harbor"
            )
        there = {each.id: each for each in client.list_examples(dataset_id=dataset.id)}
        wanted = examples_of(dataset.id, questions)
        new = [each for each in wanted if each["id"] not in there]
        changed = [
            each for each in wanted if each["id"] in there and _differs(there[each["id"]], each)
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


def _differs(there: DatasetExample, wanted: dict[str, Any]) -> bool:
    return (there.inputs, there.outputs) != (wanted["inputs"], wanted["reference_outputs"])
