"""The part of LangSmith's own client that is used here, with its types; `open_client` makes one."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, cast

Fields = dict[str, Any]


class Identified(Protocol):
    """A data set or a project of LangSmith."""

    id: uuid.UUID


class DatasetExample(Protocol):
    """A question of a data set as LangSmith has it."""

    id: uuid.UUID
    inputs: dict[str, Any] | None
    outputs: dict[str, Any] | None


class Queue(Protocol):
    """What is to be sent."""

    unfinished_tasks: int


class LangSmithClient(Protocol):
    """`langsmith.Client`, as far as it is used."""

    tracing_queue: Queue | None

    def has_dataset(self, *, dataset_name: str) -> bool:
        """Whether there is a data set of that name."""
        ...

    def read_dataset(self, *, dataset_name: str) -> Identified:
        """The data set of that name."""
        ...

    def create_dataset(self, dataset_name: str, *, description: str) -> Identified:
        """Make a data set."""
        ...

    def list_examples(self, *, dataset_id: uuid.UUID) -> Iterator[DatasetExample]:
        """What is in a data set."""
        ...

    def create_examples(self, *, dataset_id: uuid.UUID, examples: Sequence[Fields]) -> object:
        """Put examples into a data set."""
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
        """Make a project, or take the one of that name."""
        ...

    def create_run(self, **run: Any) -> None:
        """Queue a trace."""
        ...

    def create_feedback(self, **feedback: Any) -> object:
        """Queue a feedback."""
        ...

    def flush(self, timeout: float) -> None:
        """Wait until what is queued is sent."""
        ...

    def close(self, *, timeout: float) -> None:
        """End its threads."""
        ...


def open_client(report_error: Callable[[Exception], None]) -> LangSmithClient:
    """A client as the environment says; `report_error` gets what could not be sent."""
    from langsmith import Client

    # typed in part there
    return cast("LangSmithClient", Client(tracing_error_callback=report_error))
